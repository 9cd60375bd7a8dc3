package lang

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// acceptEphemeral reports ephemeral values in arguments of a managed resource or a data source
// that would be kept.
func (f *Frame) acceptEphemeral(d *decl, k addr.Key, v mark.Value, bag *diag.Bag) bool {
	ok := true
	for _, m := range v.Marks {
		if m.Tag != mark.Ephemeral {
			continue
		}
		b := f.w.p.checked.bodies[d]
		if b.schema.IsWriteOnly(m.Path) {
			continue
		}
		ok = false
		f.refuseEphemeral(d, k, b.schema, m, bag)
	}
	return ok
}

func (f *Frame) refuseEphemeral(d *decl, k addr.Key, b *schema.Block, m mark.At, bag *diag.Bag) {
	name := mark.PathString(m.Path)
	detail := `"` + name + `" cannot accept an ephemeral value because it is not a write-only attribute, meaning it will be written to the state.`
	if m.Why != nil {
		detail += "\n\nThe value comes from " + explain(m.Why) + "."
	}
	detail += wayOut(d, b, m.Path)
	out := diag.Errorf("Invalid use of an ephemeral value", "%s", detail).At(f.where(d, m.Path)).In(m.Path)
	out.Address = d.res.In(f.n.cfg.Path).String() // once for all instances
	bag.Add(out)
}

// wayOut names the write-only sibling of an attribute, if there is one.
func wayOut(d *decl, b *schema.Block, path cty.Path) string {
	if d.res.Mode == addr.Data {
		return "\n\nData sources keep all their arguments. An \"ephemeral\" block of the same provider may offer what is needed here without keeping anything."
	}
	if len(path) == 0 {
		return ""
	}
	first, ok := path[0].(cty.GetAttrStep)
	if !ok {
		return ""
	}
	for _, name := range []string{first.Name + "_wo", first.Name + "_write_only"} {
		if a := b.Attr(name); a != nil && a.WriteOnly {
			return "\n\nUse the write-only argument \"" + name + "\" instead: it takes ephemeral values and is not kept."
		}
	}
	return ""
}

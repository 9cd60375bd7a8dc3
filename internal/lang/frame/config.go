package frame

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Config evaluates a resource's body into a value of its schema's type. Of a managed resource or
// a data source it refuses ephemeral values everywhere but in write-only arguments.
func (f *Frame) Config(d program.Decl, k addr.Key, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	ld := f.local(d)
	v, leaves, outcome := f.body(ld, k, face, bag)
	if outcome == OK && ld.Res.Mode != addr.Ephemeral && !acceptEphemeral(f, ld, v, leaves, bag) {
		outcome = Broken
	}
	return v, outcome
}

// Settings evaluates the body of a provider configuration.
func (f *Frame) Settings(d program.Decl, k addr.Key, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	if f.w.p.NodeOf(d) == nil { // implied
		return mark.Plain(f.w.p.Schema(d).Empty()), OK
	}
	v, _, outcome := f.body(f.local(d), k, face, bag)
	return v, outcome
}

// body evaluates a body; beside it is said where something ephemeral is in the sets in it.
func (f *Frame) body(d *program.Def, k addr.Key, face Face, bag *diag.Bag) (mark.Value, []expr.SetLeaf, Outcome) {
	b := f.w.p.Body(d)
	if b == nil {
		return mark.Plain(cty.DynamicVal), nil, Broken // its schema is missing, which Bind reported
	}
	s := f.scope(face, bag).of(d, k)
	defer s.release()
	v := b.Eval(&s.Env, s.Ctx)
	if o := s.outcome(); o != OK {
		return mark.Plain(cty.DynamicVal), nil, o
	}
	if d.Kind == program.Resource && d.Res.Mode != addr.Ephemeral {
		v = f.w.names.Forget(v, b.Schema.Type())
	}
	return s.split(v), s.SetLeaves, OK
}

// acceptEphemeral reports ephemeral values in arguments of a managed resource or a data source
// that would be kept.
func acceptEphemeral(f *Frame, d *program.Def, v mark.Value, leaves []expr.SetLeaf, bag *diag.Bag) bool {
	ok := true
	for _, m := range v.Marks {
		if m.Tag != mark.Ephemeral {
			continue
		}
		path, at := m.Path, sourceRange(d, m.Path)
		if i := slices.IndexFunc(leaves, func(l expr.SetLeaf) bool { return len(path) > 0 && l.Set == expr.StepName(path[len(path)-1]) }); i >= 0 {
			path, at = append(path.Copy(), leaves[i].Path...), leaves[i].At
			leaves = slices.Delete(slices.Clone(leaves), i, i+1)
		}
		if b := f.w.p.Body(d).Schema; !b.IsWriteOnly(m.Path) {
			ok = false
			refuseEphemeral(f, d, b, m, path, at, bag)
		}
	}
	return ok
}

func refuseEphemeral(f *Frame, d *program.Def, b *schema.Block, m mark.At, path cty.Path, at diag.Range, bag *diag.Bag) {
	name := mark.PathString(path)
	detail := `"` + name + `" cannot accept an ephemeral value because it is not a write-only attribute, meaning it will be written to the state.`
	if m.Why != nil {
		detail += "\n\nThe value comes from " + expr.Way(m.Why) + "."
	}
	detail += wayOut(d, b, path)
	out := diag.Errorf("Invalid use of an ephemeral value", "%s", detail).At(at).In(m.Path)
	out.Address = d.Res.In(f.n.Config.Path).String() // once for all instances
	bag.Add(out)
}

// wayOut names what takes ephemeral values instead: the write-only sibling of an attribute, or else
// what there is.
func wayOut(d *program.Def, b *schema.Block, path cty.Path) string {
	for i := len(path) - 1; i >= 0; i-- {
		step, ok := path[i].(cty.GetAttrStep)
		if !ok {
			continue
		}
		for _, name := range []string{step.Name + "_wo", step.Name + "_write_only"} {
			sibling := append(path[:i].Copy(), cty.GetAttrStep{Name: name})
			if a := b.Attribute(sibling); a != nil && a.Name == name && a.WriteOnly {
				return "\n\nUse the write-only argument \"" + mark.PathString(sibling) + "\" instead: it takes ephemeral values and is not kept."
			}
		}
	}
	if d.Res.Mode == addr.Data {
		return "\n\nData sources keep all their arguments. An \"ephemeral\" block of the same provider may offer what is needed here without keeping anything."
	}
	if !b.HasWriteOnly() {
		return fmt.Sprintf("\n\nResources of type %q have no write-only arguments, and so take no ephemeral values. Use a value here that may be kept, or see whether another version of the provider has such an argument.", d.Res.Type)
	}
	var names []string
	for _, a := range b.Attrs {
		if a.WriteOnly {
			names = append(names, fmt.Sprintf("%q", a.Name))
		}
	}
	if len(names) == 0 { // they are deeper inside
		return ""
	}
	return fmt.Sprintf("\n\nWhat takes ephemeral values here: %s.", strings.Join(names, ", "))
}

// Where is the place in the configuration where an attribute of a body is set: of the path's
// steps the last that is written out, the block itself if none is.
func (f *Frame) Where(d program.Decl, path cty.Path) diag.Range {
	if f.w.p.NodeOf(d) == nil {
		return diag.Range{}
	}
	return sourceRange(f.local(d), path)
}

// WhereIn is Where for a body that stands on its own, such as that of a provisioner.
func (f *Frame) WhereIn(b hcl.Body, sch *schema.Block, otherwise diag.Range, path cty.Path) diag.Range {
	return f.n.Where(b, sch, otherwise, path)
}

func sourceRange(d *program.Def, path cty.Path) diag.Range {
	if d.Body == nil {
		return d.At
	}
	return d.Body.Where(d.At, path)
}

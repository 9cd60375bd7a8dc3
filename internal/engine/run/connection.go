package run

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provision"
	"github.com/zclconf/go-cty/cty"
)

// Connection evaluates the connection blocks of a provisioner and combines them to one value. Arguments of later blocks
// override arguments of earlier blocks. Without blocks, the value is the zero value. If the evaluation fails,
// Connection reports the errors to bag and returns false.
func Connection(blocks []*config.Connection, f *frame.Frame, in frame.Scope, face frame.Face, bag *diag.Bag) (mark.Value, bool) {
	var out mark.Value
	for i, c := range blocks {
		v, outcome := f.Body(c.Body, provision.ConnectionSchema(), in, face, bag)
		if outcome != frame.OK {
			return v, false
		}
		if i == 0 || out.Raw.IsNull() || !v.Raw.IsKnown() {
			out = v
			continue
		}
		out = override(out, v)
	}
	return out, true
}

// override returns a with the attributes that are not null in b, and with the marks of these attributes in b.
func override(a, b mark.Value) mark.Value {
	attrs := a.Raw.AsValueMap()
	set := map[string]bool{}
	for name, v := range b.Raw.AsValueMap() {
		if !v.IsNull() {
			attrs[name], set[name] = v, true
		}
	}
	out := mark.Value{Raw: cty.ObjectVal(attrs)}
	for i, side := range [][]mark.At{a.Marks, b.Marks} {
		out.Marks = mark.Union(out.Marks, slices.DeleteFunc(slices.Clone(side), func(m mark.At) bool {
			if len(m.Path) == 0 {
				return false
			}
			step, ok := m.Path[0].(cty.GetAttrStep)
			return ok && set[step.Name] != (i == 1)
		}))
	}
	return out
}

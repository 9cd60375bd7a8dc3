package expr

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// keepMarks gives the result of a call the marks of arguments that the function lost.
func keepMarks(v cty.Value, diags hcl.Diagnostics, args ...cty.Value) cty.Value {
	switch {
	case diags.HasErrors():
		return Raise(v, args...)
	case v.IsKnown():
		return v
	}
	out := Raise(v, args...)
	if !mark.Is(v, mark.Sensitive) {
		out = mark.Without(out, mark.Sensitive)
	}
	return out
}

// Raise puts every mark in vs, at any depth, onto v itself.
func Raise(v cty.Value, vs ...cty.Value) cty.Value {
	for _, from := range vs {
		if from == cty.NilVal || !from.ContainsMarked() {
			continue
		}
		_, remark := mark.BareDeep(from)
		v = remark(v)
	}
	return v
}

// sameMarks gives v the marks that other values themselves have.
func sameMarks(v cty.Value, from ...cty.Value) cty.Value {
	for _, w := range from {
		v = mark.Same(v, w)
	}
	return v
}

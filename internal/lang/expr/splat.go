package expr

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Splat is source[*].each.
type Splat struct{ *hclsyntax.SplatExpr }

func (e *Splat) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if v, ok := sample(e.Source, ctx); ok {
		out, diags := e.over(cty.TupleVal([]cty.Value{v}), nil).Value(ctx)
		return Raise(cty.DynamicVal, out), diags
	}
	v, diags := e.Source.Value(ctx)
	out, diags := e.over(v, diags).Value(ctx)
	if diags.HasErrors() || !out.IsKnown() {
		out = sameMarks(out, v)
		out = sameMarks(out, elementsOf(v)...)
	}
	return out, diags
}

// over is the same splat over a value that is there already.
func (e *Splat) over(v cty.Value, diags hcl.Diagnostics) *hclsyntax.SplatExpr {
	return &hclsyntax.SplatExpr{Source: &evaluated{e.Source, v, diags}, Each: e.Each, Item: e.Item, SrcRange: e.SrcRange, MarkerRange: e.MarkerRange}
}

// elementsOf lists the elements of a known list, set or tuple.
func elementsOf(v cty.Value) []cty.Value {
	v, _ = mark.Bare(v)
	if ty := v.Type(); v.IsNull() || !v.IsKnown() || !ty.IsListType() && !ty.IsSetType() && !ty.IsTupleType() {
		return nil
	}
	return v.AsValueSlice()
}

// sample stands for any instance of something repeated of which the instances are not known: its
// elements are ephemeral, for example, while nothing is said about how many there are. ok is false
// if source is something else.
func sample(source hclsyntax.Expression, ctx *hcl.EvalContext) (cty.Value, bool) {
	e, ok := source.(*Ref)
	if !ok || !e.Repeated || e.HasKey || e.Wrong || len(e.Rest) > 0 {
		return cty.NilVal, false
	}
	s := envOf(ctx)
	if s == nil {
		return cty.NilVal, false
	}
	return s.Scope.Sample(e)
}

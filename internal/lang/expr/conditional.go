package expr

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Conditional is condition ? one : other.
type Conditional struct{ *hclsyntax.ConditionalExpr }

func (e *Conditional) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	yes, yesDiags := e.TrueResult.Value(ctx)
	no, noDiags := e.FalseResult.Value(ctx)
	ty, ok := unifyArms(yes, no)
	switch {
	case ok:
	case selectsAbsent(e.TrueResult, ctx) || selectsAbsent(e.FalseResult, ctx):
		ty = cty.DynamicPseudoType
	default:
		return Raise(cty.DynamicVal, yes, no), e.mismatch(yes, no, ctx)
	}
	cond, diags := e.Condition.Value(ctx)
	if cond.IsNull() {
		return sameMarks(cty.UnknownVal(ty), cond, yes, no), append(diags, errorIn(e.Condition, ctx, e.Condition.Range(), e.SrcRange, "Null condition", "The condition value is null. Conditions must either be true or false."))
	}
	cond, remark := mark.Unmark(cond)
	if !cond.IsKnown() {
		return remark(Raise(e.either(yes, no, ty), yes, no)), diags
	}
	b, err := convert.To(cond, cty.Bool)
	if err != nil {
		return remark(sameMarks(cty.UnknownVal(ty), yes, no)), append(diags, errorIn(e.Condition, ctx, e.Condition.Range(), e.SrcRange, "Incorrect condition type", "The condition expression must be of type bool."))
	}
	value, other, arm, which, more := no, yes, e.FalseResult, "false", noDiags
	if b.True() {
		value, other, arm, which, more = yes, no, e.TrueResult, "true", yesDiags
	}
	diags = append(diags, more...)
	out, err := convert.To(value, ty)
	if err != nil {
		diags = append(diags, errorIn(arm, ctx, arm.Range(), e.SrcRange, "Inconsistent conditional result types", fmt.Sprintf("The %s result value has the wrong type: %s.", which, err)))
		out = Raise(cty.UnknownVal(ty), value)
	}
	return remark(mark.Same(out, other)), diags
}

// unifyArms returns the type of the result of a conditional. The literal null gets the type of the other arm. If the
// type of an arm is unknown, the result has no fixed type. unifyArms returns false if the two arms have no common type.
func unifyArms(yes, no cty.Value) (cty.Type, bool) {
	yt, nt := yes.Type(), no.Type()
	switch {
	case isNullLiteral(yes):
		return nt, true
	case isNullLiteral(no):
		return yt, true
	case yt == cty.DynamicPseudoType || nt == cty.DynamicPseudoType:
		return cty.DynamicPseudoType, true
	case yt.Equals(nt):
		return yt, true
	}
	ty := convert.Unify([]cty.Type{yt, nt})
	return ty, ty != cty.NilType
}

// selectsAbsent reports whether, during validation, an arm of a conditional selects an instance that may not exist. The
// type of such an arm is ignored: a condition often decides which of two repeated resources has an instance, and the
// arm about the other resource is then not evaluated.
func selectsAbsent(arm hclsyntax.Expression, ctx *hcl.EvalContext) bool {
	s := envOf(ctx)
	if s == nil || !s.Validate {
		return false
	}
	found := false
	_ = hclsyntax.VisitAll(arm, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *Ref:
			found = found || n.HasKey
		case *Index:
			found = found || n.Target != nil
		case *OutputOf:
			found = true
		}
		return nil
	})
	return found
}

func isNullLiteral(v cty.Value) bool { return v.Type() == cty.DynamicPseudoType && v.IsNull() }

// mismatch returns the HCL library's error about two arms with different types. If the types contain attribute names
// that were made from ephemeral text, or if the error names an attribute of a sensitive arm, the error has no details.
func (e *Conditional) mismatch(yes, no cty.Value, ctx *hcl.EvalContext) hcl.Diagnostics {
	stub := *e.ConditionalExpr
	stub.Condition = &hclsyntax.LiteralValueExpr{Val: cty.True, SrcRange: e.Condition.Range()}
	stub.TrueResult = &hclsyntax.LiteralValueExpr{Val: cty.UnknownVal(yes.Type()), SrcRange: e.TrueResult.Range()}
	stub.FalseResult = &hclsyntax.LiteralValueExpr{Val: cty.UnknownVal(no.Type()), SrcRange: e.FalseResult.Range()}
	_, diags := stub.Value(nil)
	s := envOf(ctx)
	ephemeral := s != nil && (s.Names.in(yes.Type()) || s.Names.in(no.Type()))
	sensitive := mark.Anywhere(yes, mark.Sensitive) || mark.Anywhere(no, mark.Sensitive)
	for _, d := range diags {
		d.Expression, d.EvalContext = e.ConditionalExpr, ctx
		if ephemeral || sensitive && strings.Contains(d.Detail, "attribute") {
			d.Detail = "The true and false result expressions must have consistent types. The difference is not shown, because it could reveal an ephemeral or sensitive value."
		}
	}
	return diags
}

// either returns the value of a conditional whose condition is unknown: null if both arms are null, or else an unknown
// value of type ty. The refinements of the unknown value, such as a range of numbers, permit both arms. If the types of
// the arms differ, the value has no refinements.
func (e *Conditional) either(yes, no cty.Value, ty cty.Type) cty.Value {
	yes, _ = mark.UnmarkDeep(yes)
	no, _ = mark.UnmarkDeep(no)
	if yes.IsNull() && no.IsNull() {
		return cty.NullVal(ty)
	}
	if yt, err := convert.To(yes, ty); err == nil {
		yes = yt
	}
	if nt, err := convert.To(no, ty); err == nil {
		no = nt
	}
	if yes.Type() == cty.DynamicPseudoType || no.Type() == cty.DynamicPseudoType || !yes.Type().Equals(no.Type()) {
		return cty.UnknownVal(ty)
	}
	lit := func(v cty.Value) hclsyntax.Expression { return &hclsyntax.LiteralValueExpr{Val: v} }
	stub := hclsyntax.ConditionalExpr{Condition: lit(cty.UnknownVal(cty.Bool)), TrueResult: lit(yes), FalseResult: lit(no)}
	v, _ := stub.Value(nil)
	return v
}

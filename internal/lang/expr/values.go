package expr

import (
	"iter"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// common reports whether a known number is positive and between 1/2 and 2⁶⁴, as most numbers are. The result of one
// operation on two such numbers has few digits.
func common(v cty.Value) bool {
	f := ctyvalue.Number(v)
	e := f.MantExp(nil)
	return f.Sign() > 0 && e >= 0 && e <= 64
}

// Constant returns the value of a literal, also if it is inside parentheses and similar wrappers. It returns false for
// all other expressions.
func Constant(e hclsyntax.Expression) (cty.Value, bool) {
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		return e.Val, true
	case *hclsyntax.ParenthesesExpr:
		return Constant(e.Expression)
	case *hclsyntax.TemplateWrapExpr:
		return Constant(e.Wrapped)
	case *hclsyntax.ObjectConsKeyExpr:
		return Constant(e.Wrapped)
	}
	return cty.NilVal, false
}

// Entries iterates over the keys and elements of a list, set, map, tuple or object, in the order of the cty library.
// The key of an element of a set is the element itself. v must be known, not null and not itself marked. For a set,
// Entries does not use the iterator of the library, which takes too long to sort a large set.
func Entries(v cty.Value) iter.Seq2[cty.Value, cty.Value] {
	return func(yield func(k, v cty.Value) bool) {
		if v.Type().IsSetType() {
			for _, e := range ctyvalue.Elements(v) {
				if !yield(e, e) {
					return
				}
			}
			return
		}
		for it := v.ElementIterator(); it.Next(); {
			if !yield(it.Element()) {
				return
			}
		}
	}
}

func iterable(t cty.Type) bool {
	return t.IsCollectionType() || t.IsTupleType() || t.IsObjectType()
}

// evaluated replaces an expression that was evaluated before. Its Value returns the result of that evaluation.
type evaluated struct {
	hclsyntax.Expression
	val   cty.Value
	diags hcl.Diagnostics
}

func (e *evaluated) Value(*hcl.EvalContext) (cty.Value, hcl.Diagnostics) { return e.val, e.diags }

// keepMarks returns v, the result of a call, with the marks of the arguments that the function has lost. If the call
// failed, these are all marks of the arguments. If v is unknown, these are all ephemeral marks and, if v is itself
// sensitive, also all sensitive marks. Otherwise keepMarks returns v unchanged.
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

// Raise adds every mark in the values vs, at any depth, to v itself.
func Raise(v cty.Value, vs ...cty.Value) cty.Value {
	for _, from := range vs {
		if from == cty.NilVal || !from.ContainsMarked() {
			continue
		}
		_, remark := mark.UnmarkDeep(from)
		v = remark(v)
	}
	return v
}

// sameMarks adds the top-level marks of other values to v.
func sameMarks(v cty.Value, from ...cty.Value) cty.Value {
	for _, w := range from {
		v = mark.Same(v, w)
	}
	return v
}

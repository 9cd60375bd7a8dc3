package expr

import (
	"iter"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// common reports whether a known number lies between 1/2 and 2⁶⁴, as most do: neither it nor what one operation makes
// of two such numbers has many digits.
func common(v cty.Value) bool {
	f := ctyvalue.Number(v)
	e := f.MantExp(nil)
	return f.Sign() > 0 && e >= 0 && e <= 64
}

// Constant is the value of a compiled expression that needs no scope.
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

// Entries are the keys and values of a known collection, without marks, in the library's order. Its own
// iterators sort the elements of a set with work that grows faster than the set.
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

// evaluated is an expression whose value is there already.
type evaluated struct {
	hclsyntax.Expression
	val   cty.Value
	diags hcl.Diagnostics
}

func (e *evaluated) Value(*hcl.EvalContext) (cty.Value, hcl.Diagnostics) { return e.val, e.diags }

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

package expr

import (
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/zclconf/go-cty/cty"
)

// Fold evaluates e at once if all its parts are literals, and returns the value as a literal. If a part is not a
// literal, or the evaluation reports a diagnostic, Fold returns e.
func Fold(e hclsyntax.Expression, parts ...hclsyntax.Expression) hclsyntax.Expression {
	for _, p := range parts {
		if _, ok := Constant(p); !ok {
			return e
		}
	}
	v, diags := e.Value(nil)
	if len(diags) > 0 {
		return e
	}
	return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: e.Range()}
}

// InsideExpr returns the range of the part of the expression e to which a path leads, inside object and tuple
// constructors. If the constructors contain only the beginning of the path, InsideExpr returns the range at the end of
// that beginning. The parameter at is the range of e.
func InsideExpr(e hclsyntax.Expression, at hcl.Range, path cty.Path) hcl.Range {
	if len(path) == 0 {
		return at
	}
	switch e := e.(type) {
	case *Object:
		return InsideExpr(e.ObjectConsExpr, at, path)
	case *hclsyntax.ObjectConsExpr:
		name := StepName(path[0])
		for _, item := range e.Items {
			if k, ok := itemName(item.KeyExpr); ok && k == name {
				return InsideExpr(item.ValueExpr, item.ValueExpr.Range(), path[1:])
			}
		}
	case *hclsyntax.TupleConsExpr:
		if n, ok := stepNumber(path[0]); ok && n >= 0 && n < len(e.Exprs) {
			return InsideExpr(e.Exprs[n], e.Exprs[n].Range(), path[1:])
		}
	case *hclsyntax.ParenthesesExpr:
		return InsideExpr(e.Expression, e.SrcRange, path)
	}
	return at
}

// stepNumber returns the number that a step of a path selects, or false if the step selects by a name or another key.
// An attribute whose name is a number also counts, because some callers have paths that consist of names.
func stepNumber(s cty.PathStep) (int, bool) {
	switch s := s.(type) {
	case cty.GetAttrStep:
		n, err := strconv.Atoi(s.Name)
		return n, err == nil
	case cty.IndexStep:
		if k, ok := addr.KeyOf(s.Key); ok {
			return k.Int()
		}
	}
	return 0, false
}

// StepName returns the name that a step of a path selects: an attribute name or a string key. It returns "" if the step
// selects by another key.
func StepName(s cty.PathStep) string {
	switch s := s.(type) {
	case cty.GetAttrStep:
		return s.Name
	case cty.IndexStep:
		if k, ok := addr.KeyOf(s.Key); ok {
			name, _ := k.Str()
			return name
		}
	}
	return ""
}

func itemName(e hclsyntax.Expression) (string, bool) {
	if k, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok && !k.ForceNonLiteral {
		if name := hcl.ExprAsKeyword(k.Wrapped); name != "" {
			return name, true
		}
	}
	return LiteralKey(e)
}

// LiteralKey returns the text of a constant object key. It returns false if the key is not a constant string.
func LiteralKey(e hclsyntax.Expression) (string, bool) {
	v, diags := e.Value(nil)
	if diags.HasErrors() || v.Type() != cty.String || !v.IsKnown() || v.IsNull() {
		return "", false
	}
	return v.AsString(), true
}

// Path returns the path of the constant steps at the beginning of a relative traversal.
func Path(t hcl.Traversal) cty.Path {
	var out cty.Path
	for _, step := range t {
		switch step := step.(type) {
		case hcl.TraverseRoot: // the traversals of ignore_changes may begin with a name instead of an attribute step
			out = out.GetAttr(step.Name)
		case hcl.TraverseAttr:
			out = out.GetAttr(step.Name)
		case hcl.TraverseIndex:
			out = out.Index(step.Key)
		default:
			return out
		}
	}
	return out
}

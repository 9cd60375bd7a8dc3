package expr

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

// MostNames is the largest number of attributes or keys among which messages search for a similar name.
const MostNames = 1000

// suggest returns " Did you mean …?" for the error that an attribute or a key is missing, if the object or map has a
// similar name. Otherwise, and for a marked object or map, it returns "".
func (s *Env) suggest(d *hcl.Diagnostic) string {
	switch d.Summary {
	case "Unsupported attribute", "Invalid index", "Missing map element":
	default:
		return ""
	}
	if s.explaining || d.EvalContext == nil {
		return ""
	}
	s.explaining = true
	failed, broken := s.Failed, s.Broken
	defer func() { s.Failed, s.Broken, s.explaining = failed, broken, false }()
	e, _ := d.Expression.(hclsyntax.Expression)
	if e == nil {
		return ""
	}
	v, given := s.missing(e, d.EvalContext)
	if given == "" {
		return ""
	}
	return diag.DidYouMean(given, NamesIn(v))
}

// missing returns the value that lacks a name, and the name, for an expression whose evaluation failed. If they cannot
// be determined, the name is "".
func (s *Env) missing(e hclsyntax.Expression, ctx *hcl.EvalContext) (cty.Value, string) {
	switch e := unwrapNode(e).(type) {
	case *Ref:
		if v, diags := e.base(s); !diags.HasErrors() {
			return follow(v, e.Rest)
		}
	case *hclsyntax.ScopeTraversalExpr:
		if v, diags := e.Traversal[:1].TraverseAbs(ctx); !diags.HasErrors() {
			return follow(v, e.Traversal[1:])
		}
	case *hclsyntax.RelativeTraversalExpr:
		if v, diags := e.Source.Value(ctx); !diags.HasErrors() {
			return follow(v, e.Traversal)
		}
	case *hclsyntax.IndexExpr:
		v, diags := e.Collection.Value(ctx)
		key, more := e.Key.Value(ctx)
		if !diags.HasErrors() && !more.HasErrors() && !key.IsMarked() {
			return v, keyText(key)
		}
	}
	return cty.DynamicVal, ""
}

// follow follows a traversal up to the step that fails. It returns the value before this step, and the name in this
// step. If all steps succeed, or the failing step is neither an attribute nor an index, it returns an unknown value and
// "".
func follow(v cty.Value, steps hcl.Traversal) (cty.Value, string) {
	for _, step := range steps {
		next, diags := step.TraversalStep(v)
		if !diags.HasErrors() {
			v = next
			continue
		}
		switch step := step.(type) {
		case hcl.TraverseAttr:
			return v, step.Name
		case hcl.TraverseIndex:
			return v, keyText(step.Key)
		}
		break
	}
	return cty.DynamicVal, ""
}

// keyText returns the text of a string key, or "" for any other key.
func keyText(key cty.Value) string {
	if key.Type() != cty.String || !key.IsKnown() || key.IsNull() {
		return ""
	}
	return key.AsString()
}

// NamesIn returns the names of the attributes of an object or the keys of a map, in any order. It returns nil for a
// marked value, for a map that is null or unknown, for all other values, and for more than MostNames names.
func NamesIn(v cty.Value) []string {
	ty := v.Type()
	switch {
	case v.IsMarked():
	case ty.IsObjectType() && len(ty.AttributeTypes()) <= MostNames:
		return slices.Collect(maps.Keys(ty.AttributeTypes()))
	case ty.IsMapType() && v.IsKnown() && !v.IsNull() && v.LengthInt() <= MostNames:
		var out []string
		for it := v.ElementIterator(); it.Next(); {
			k, _ := it.Element()
			out = append(out, k.AsString())
		}
		return out
	}
	return nil
}

// Visit calls f for a compiled expression and all nodes inside it. In place of a wrapper of this package it passes the
// wrapped node, which hclsyntax.VisitAll does not visit.
func Visit(e hclsyntax.Node, f func(hclsyntax.Node)) {
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		f(unwrapNode(n))
		return nil
	})
}

// unwrapNode returns the node inside the wrappers of this package.
func unwrapNode(n hclsyntax.Node) hclsyntax.Node {
	for {
		switch w := n.(type) {
		case *Argument:
			n = w.Expression
		case *remembered:
			n = w.Expression
		case *evaluated:
			n = w.Expression
		case *Deferred:
			n = w.Expression
		case *LoopVar:
			n = w.ScopeTraversalExpr
		default:
			return n
		}
	}
}

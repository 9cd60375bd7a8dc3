package expr

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
)

// LoopVar is the name of a loop variable or of an iterator, with the steps after it. Loops evaluate many such names, so
// LoopVar selects attributes directly if that is possible. In all other cases, including errors, the HCL library
// evaluates the name.
type LoopVar struct {
	*hclsyntax.ScopeTraversalExpr
	name  string
	attrs []string // the names of the selected attributes
	plain bool     // all steps select attributes
}

// NewLoopVar compiles a reference to a loop variable or an iterator.
func NewLoopVar(e *hclsyntax.ScopeTraversalExpr) *LoopVar {
	out := &LoopVar{ScopeTraversalExpr: e, name: e.Traversal.RootName(), plain: true}
	for _, step := range e.Traversal[1:] {
		attr, ok := step.(hcl.TraverseAttr)
		if !ok {
			out.plain = false
			break
		}
		out.attrs = append(out.attrs, cty.NormalizeString(attr.Name))
	}
	return out
}

// Value finds the innermost variable with the name, and selects the steps from it.
func (e *LoopVar) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if e.plain {
		for c := ctx; c != nil; c = c.Parent() {
			if v, ok := c.Variables[e.name]; ok {
				if v, ok = attributesOf(v, e.attrs); ok {
					return v, nil
				}
				break
			}
		}
	}
	v, diags := e.ScopeTraversalExpr.Value(ctx)
	if diags.HasErrors() {
		base, _ := e.Traversal[:1].TraverseAbs(ctx)
		v, _ = traverse(base, e.Traversal[1:]) // the library drops the marks of the value at the step that fails
	}
	return v, diags
}

// attributesOf selects one attribute after the other. It returns false if ctyvalue.Attribute cannot select an
// attribute.
func attributesOf(v cty.Value, names []string) (cty.Value, bool) {
	for _, name := range names {
		var ok bool
		if v, ok = ctyvalue.Attribute(v, name); !ok {
			return v, false
		}
	}
	return v, true
}

package expr

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/syntax"
	"github.com/zclconf/go-cty/cty"
)

// traverse selects steps from a value. If a step fails, the result gets the marks of the value at that step, because
// the failure reveals something about that value.
func traverse(v cty.Value, steps hcl.Traversal) (cty.Value, hcl.Diagnostics) {
	for _, step := range steps {
		next, diags := step.TraversalStep(v)
		if diags.HasErrors() {
			return sameMarks(cty.DynamicVal, v), diags
		}
		v = next
	}
	return v, nil
}

// Relative is source.steps, where source is an expression and not a name.
type Relative struct {
	*hclsyntax.RelativeTraversalExpr
}

func (e *Relative) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := e.Source.Value(ctx)
	if diags.HasErrors() {
		return Raise(cty.DynamicVal, v), diags
	}
	v, more := traverse(v, e.Traversal)
	withContext(more, e, ctx)
	if ix, ok := e.Source.(*Index); ok && ix.Target != nil {
		more = ix.Target.ofAny(more, ctx)
	}
	return v, append(diags, more...)
}

// Value evaluates the target of the reference, and selects e.Rest from it. Without an Env, no names exist, and it
// returns an error.
func (e *Ref) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	s := envOf(ctx)
	if s == nil {
		return cty.DynamicVal, ErrorAt("Variables not allowed", "Variables may not be used here.", e.SrcRange)
	}
	v, diags := e.base(s)
	if len(diags) == 0 && len(e.Rest) > 0 && !e.Wrong {
		v, diags = traverse(v, e.Rest)
	}
	for _, d := range diags {
		d.Expression, d.EvalContext = e, ctx
	}
	return v, diags
}

// ofAny turns errors about a resource into warnings, if validation does not know whether the resource has an instance.
// So a module that refers to an attribute of another provider version is valid if the resource has no instance.
func (e *Ref) ofAny(diags hcl.Diagnostics, ctx *hcl.EvalContext) hcl.Diagnostics {
	if len(diags) == 0 || e.Root != RootResource {
		return diags
	}
	s := envOf(ctx)
	if s == nil || !s.Validate {
		return diags
	}
	if _, unknown := s.Scope.Sample(e); !unknown {
		return diags
	}
	return onceKnown(diags, "an instance of "+syntax.ReferenceText(e.Traversal))
}

// onceKnown turns errors into warnings, and adds to each that it becomes an error when something exists. The argument
// what names this thing.
func onceKnown(diags hcl.Diagnostics, what string) hcl.Diagnostics {
	for i, d := range diags {
		if d.Severity == hcl.DiagError {
			duplicate := *d
			duplicate.Severity = hcl.DiagWarning
			duplicate.Detail += " This becomes an error when there is " + what + "."
			diags[i] = &duplicate
		}
	}
	return diags
}

// After returns the number of steps in the source after the name of the target.
func (e *Ref) After() int {
	if e.Root == RootCall && e.Output != "" {
		return len(e.Rest) + 1
	}
	return len(e.Rest)
}

// KeyRange returns the range of the instance key, or of the whole reference if it has no key.
func (e *Ref) KeyRange() hcl.Range {
	for _, step := range e.Traversal {
		if _, key := step.(hcl.TraverseIndex); key {
			return step.SourceRange()
		}
	}
	return e.SrcRange
}

// base returns the value of the target, from which e.Rest selects.
func (e *Ref) base(s *Env) (cty.Value, hcl.Diagnostics) {
	if e.Wrong {
		return cty.DynamicVal, nil
	}
	return s.Scope.Value(e)
}

// Index is collection[key]. If the collection is a repeated declaration, only one instance is evaluated. For other
// collections, the result has the marks of the key, which the HCL library drops for objects and maps.
type Index struct {
	*hclsyntax.IndexExpr
	Target *Ref // the reference, if the collection is a repeated declaration; nil for other collections
}

func (e *Index) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if e.Target == nil {
		coll, diags := e.Collection.Value(ctx)
		key, more := e.Key.Value(ctx)
		diags = append(diags, more...)
		v, more := hcl.Index(coll, key, &e.BracketRange)
		withContext(more, e.IndexExpr, ctx)
		switch {
		case more.HasErrors():
			v = mark.Same(v, coll)
		case !key.IsKnown(): // an unknown key may select any element, so the result gets the marks of all elements
			v = keepMarks(v, nil, coll)
		}
		return mark.Same(v, key), append(diags, more...)
	}
	s := envOf(ctx)
	key, diags := e.Key.Value(ctx)
	if diags.HasErrors() {
		return sameMarks(cty.DynamicVal, key), diags
	}
	v, more := s.at(e.Target, key, e.BracketRange)
	withContext(more, e.IndexExpr, ctx)
	return v, append(diags, more...)
}

// OutputOf is module.call[key].output.rest.
type OutputOf struct {
	*hclsyntax.RelativeTraversalExpr
	Target *Ref // the reference to the module call, with the output
	Key    hclsyntax.Expression
	KeyAt  hcl.Range // the range of the key
}

func (e *OutputOf) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	s := envOf(ctx)
	key, diags := e.Key.Value(ctx)
	if diags.HasErrors() {
		return sameMarks(cty.DynamicVal, key), diags
	}
	v, more := s.at(e.Target, key, e.KeyAt)
	withContext(more, e.RelativeTraversalExpr, ctx)
	diags = append(diags, more...)
	if diags.HasErrors() || len(e.Target.Rest) == 0 {
		return v, diags
	}
	v, more = traverse(v, e.Target.Rest)
	withContext(more, e.RelativeTraversalExpr, ctx)
	return v, append(diags, more...)
}

// at evaluates the instance of target that key selects. The result has the marks of key. If target.Wrong is true, the
// result is unknown. The parameter at is the range of the key.
func (s *Env) at(target *Ref, key cty.Value, at hcl.Range) (cty.Value, hcl.Diagnostics) {
	if target.Wrong {
		return cty.DynamicVal, nil
	}
	v, diags := s.Scope.Instance(target, key, at)
	return mark.Same(v, key), diags
}

// UnknownAt returns an expression with an unknown value, to replace an expression about which an error was reported.
func UnknownAt(r hcl.Range) hclsyntax.Expression {
	return &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: r}
}

// Attribute splits a traversal after its first step, if this step is a name: .name or ["name"]. It returns the name and
// the other steps. It returns false if t begins with anything else.
func Attribute(t hcl.Traversal) (string, hcl.Traversal, bool) {
	if len(t) == 0 {
		return "", nil, false
	}
	switch s := t[0].(type) {
	case hcl.TraverseAttr:
		return s.Name, t[1:], true
	case hcl.TraverseIndex:
		if s.Key.Type() == cty.String && s.Key.IsKnown() && !s.Key.IsNull() {
			return s.Key.AsString(), t[1:], true
		}
	}
	return "", nil, false
}

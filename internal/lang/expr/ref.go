package expr

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// traverse selects from a value. Where that fails, the result has the marks of what could not be
// selected from: that it fails says something about that.
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

// Relative is source.steps.
type Relative struct {
	*hclsyntax.RelativeTraversalExpr
}

func (e *Relative) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := e.Source.Value(ctx)
	if diags.HasErrors() {
		return sameMarks(cty.DynamicVal, v), diags
	}
	v, more := traverse(v, e.Traversal)
	withContext(more, e, ctx)
	if ix, ok := e.Source.(*Index); ok && ix.Target != nil {
		more = ix.Target.ofAny(more, ctx)
	}
	return v, append(diags, more...)
}

// Value of a reference evaluates what it names, then selects from it.
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

// ofAny is what is wrong with any instance of a resource, where nothing says that there is one: a warning. A module
// that was written for another version of a provider can be used without what is not as it expects.
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
	return onceThereIs(diags, "an instance of "+config.ReferenceText(e.Traversal))
}

// onceThereIs makes errors warnings, of what matters only where something is there.
func onceThereIs(diags hcl.Diagnostics, what string) hcl.Diagnostics {
	for i, d := range diags {
		if d.Severity == hcl.DiagError {
			twin := *d
			twin.Severity = hcl.DiagWarning
			twin.Detail += " This is an error as soon as there is " + what + "."
			diags[i] = &twin
		}
	}
	return diags
}

// After is how many steps of the reference select from what it names.
func (e *Ref) After() int {
	if e.Root == RootCall && e.Output != "" {
		return len(e.Rest) + 1
	}
	return len(e.Rest)
}

// KeyRange is where the key of an instance is written.
func (e *Ref) KeyRange() hcl.Range {
	for _, step := range e.Traversal {
		if _, key := step.(hcl.TraverseIndex); key {
			return step.SourceRange()
		}
	}
	return e.SrcRange
}

// base is the value that the reference selects from.
func (e *Ref) base(s *Env) (cty.Value, hcl.Diagnostics) {
	if e.Wrong {
		return cty.DynamicVal, nil
	}
	return s.Scope.Value(e)
}

// Index is collection[key]: of a declaration that repeats it evaluates one instance, of anything
// else it keeps the marks of the key, which the library drops for objects and maps.
type Index struct {
	*hclsyntax.IndexExpr
	Target *Ref
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
		case !key.IsKnown(): // it may be any of the elements
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
	Target *Ref
	Key    hclsyntax.Expression
	KeyAt  hcl.Range
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

// at evaluates the instance that a key selects; the result carries the key's marks.
func (s *Env) at(target *Ref, key cty.Value, at hcl.Range) (cty.Value, hcl.Diagnostics) {
	if target.Wrong {
		return cty.DynamicVal, nil
	}
	v, diags := s.Scope.Instance(target, key, at)
	return mark.Same(v, key), diags
}

// UnknownAt stands for an expression that is wrong in a way already reported.
func UnknownAt(r hcl.Range) hclsyntax.Expression {
	return &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: r}
}

// Attribute splits t after a first name, written .name or ["name"].
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

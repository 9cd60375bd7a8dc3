package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// ref is a compiled reference: what it names in its unit, and what is selected from that.
type ref struct {
	*hclsyntax.ScopeTraversalExpr
	root     root
	local    int32    // index of the declaration in the unit
	key      addr.Key // the instance, if hasKey
	hasKey   bool
	output   string        // of a module call; "" for all of it
	field    string        // of path, terraform, count, each
	rest     hcl.Traversal // what is selected from the value
	repeated bool          // it has count or for_each
	wrong    bool          // it selects what the schema does not have, as Check has reported
}

// root is what the first names of a reference stand for.
type root uint8

const (
	rootVariable root = iota
	rootLocal
	rootCall
	rootResource
	rootPath
	rootTerraform
	rootCount
	rootEach
	rootSelf
)

// Value of a reference evaluates what it names, then selects from it.
func (e *ref) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	s := envOf(ctx)
	if s == nil {
		return cty.DynamicVal, errorAt("Variables not allowed", "Variables may not be used here.", e.SrcRange)
	}
	v, diags := e.base(s)
	if len(diags) == 0 && len(e.rest) > 0 && !e.wrong {
		v, diags = traverse(v, e.rest)
	}
	for _, d := range diags {
		d.Expression, d.EvalContext = e, ctx
	}
	return v, diags
}

// base is the value that the reference selects from.
func (e *ref) base(s *env) (cty.Value, hcl.Diagnostics) {
	if e.wrong {
		return cty.DynamicVal, nil
	}
	return s.Scope.Value(e)
}

// indexed is collection[key]: of a declaration that repeats it evaluates one instance, of anything
// else it keeps the marks of the key, which the library drops for objects and maps.
type indexed struct {
	*hclsyntax.IndexExpr
	target *ref
}

func (e *indexed) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if e.target == nil {
		coll, diags := e.Collection.Value(ctx)
		key, more := e.Key.Value(ctx)
		diags = append(diags, more...)
		v, more := hcl.Index(coll, key, &e.BracketRange)
		withContext(more, e.IndexExpr, ctx)
		switch {
		case more.HasErrors():
			v = mark.Same(v, coll)
		case !key.IsKnown(): // it may be any of the elements
			v = lost(v, nil, coll)
		}
		return mark.Same(v, key), append(diags, more...)
	}
	s := envOf(ctx)
	key, diags := e.Key.Value(ctx)
	if diags.HasErrors() {
		return sameMarks(cty.DynamicVal, key), diags
	}
	v, more := s.at(e.target, key, e.BracketRange)
	withContext(more, e.IndexExpr, ctx)
	return v, append(diags, more...)
}

// selected is module.call[key].output.rest.
type selected struct {
	*hclsyntax.RelativeTraversalExpr
	target *ref
	key    hclsyntax.Expression
	keyAt  hcl.Range
}

func (e *selected) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	s := envOf(ctx)
	key, diags := e.key.Value(ctx)
	if diags.HasErrors() {
		return sameMarks(cty.DynamicVal, key), diags
	}
	v, more := s.at(e.target, key, e.keyAt)
	withContext(more, e.RelativeTraversalExpr, ctx)
	diags = append(diags, more...)
	if diags.HasErrors() || len(e.target.rest) == 0 {
		return v, diags
	}
	v, more = traverse(v, e.target.rest)
	withContext(more, e.RelativeTraversalExpr, ctx)
	return v, append(diags, more...)
}

func withContext(ds hcl.Diagnostics, e hcl.Expression, ctx *hcl.EvalContext) {
	for _, d := range ds {
		if d.Expression == nil {
			d.Expression, d.EvalContext = e, ctx
		}
	}
}

// at evaluates the instance that a key selects; the result carries the key's marks.
func (s *env) at(target *ref, key cty.Value, at hcl.Range) (cty.Value, hcl.Diagnostics) {
	if target.wrong {
		return cty.DynamicVal, nil
	}
	v, diags := s.Scope.Instance(target, key, at)
	return mark.Same(v, key), diags
}

// unknownAt stands for an expression that is wrong in a way already reported.
func unknownAt(r hcl.Range) hclsyntax.Expression {
	return &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: r}
}

// attribute splits t after a first name, written .name or ["name"].
func attribute(t hcl.Traversal) (string, hcl.Traversal, bool) {
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

func errorAt(title, detail string, at hcl.Range) hcl.Diagnostics {
	return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: title, Detail: detail, Subject: &at}}
}

// provided is a call of a provider's function: provider::LOCAL::NAME or provider::LOCAL::ALIAS::NAME.
type provided struct {
	*hclsyntax.FunctionCallExpr
	provider addr.Provider
	local    string
	alias    string
	name     string
	// configured is set by Check if only a configured provider has the function, wrong if nobody has.
	configured, wrong bool
}

// Value calls a provider's function.
func (e *provided) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if e.wrong {
		return cty.DynamicVal, nil // as Check has reported
	}
	return envOf(ctx).Scope.Call(e, ctx)
}

// callWith calls a function that only this expression knows.
func callWith(e *hclsyntax.FunctionCallExpr, f function.Function, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	child := ctx.NewChild()
	child.Functions = map[string]function.Function{e.Name: f}
	return (&called{e, true}).Value(child)
}

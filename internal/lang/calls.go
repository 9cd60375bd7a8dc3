package lang

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Calls of functions keep marks that functions lose: when a call fails, the result has the marks of
// everything that went in; when it is not known yet, what went in and is ephemeral makes it so, since nothing
// ephemeral may get anywhere unseen. Otherwise, and whether what is not known yet will be sensitive, is the
// function's own business (package funcs).

// called is a call of a function.
type called struct {
	*hclsyntax.FunctionCallExpr
	marks bool // the result may have marks that no argument had
}

// marking are the functions that can make such results; templates may call sensitive.
var marking = map[string]bool{"sensitive": true, "templatefile": true, "templatestring": true}

// newCall compiles a call whose arguments are compiled.
func newCall(e *hclsyntax.FunctionCallExpr) hclsyntax.Expression {
	switch name := strings.TrimPrefix(e.Name, "core::"); name {
	case "try", "can":
		return &attempt{e}
	case "ephemeralasnull", "nonsensitive", "issensitive": // they take marks off on purpose, and lose no other
		return e
	default:
		for i, a := range e.Args {
			e.Args[i] = &argumentOf{a, toil(name)}
		}
		return &called{e, marking[name]}
	}
}

func (e *called) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	s := envOf(ctx)
	if s == nil {
		return e.FunctionCallExpr.Value(ctx)
	}
	s.Marked = s.Marked || e.marks
	first := len(s.seen)
	v, diags := e.run(ctx)
	if len(s.seen) > first {
		v = lost(v, diags, s.seen[first:]...)
		s.heard(v, s.seen[first:])
		clear(s.seen[first:])
		s.seen = s.seen[:first]
	}
	return v, diags
}

// heard remembers the names that a function gave what it made of something ephemeral.
func (s *env) heard(v cty.Value, args []cty.Value) {
	if !structural(v.Type()) || !mark.Is(v, mark.Ephemeral) {
		return
	}
	of := make([]cty.Type, len(args))
	for i, a := range args {
		of[i] = a.Type()
	}
	s.Names.learn(v.Type(), of...)
}

// run calls the function. Arguments to be expanded that are not known make no call.
func (e *called) run(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if !e.ExpandFinal {
		return e.FunctionCallExpr.Value(ctx)
	}
	n := len(e.Args) - 1
	list, diags := e.Args[n].Value(ctx)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	ty := list.Type()
	if !list.IsNull() && !list.IsKnown() && (ty == cty.DynamicPseudoType || ty.IsTupleType() || ty.IsListType() || ty.IsSetType()) {
		for _, a := range e.Args[:n] {
			_, more := a.Value(ctx)
			diags = append(diags, more...)
		}
		return cty.DynamicVal, diags
	}
	call := *e.FunctionCallExpr
	call.Args = append(append(make([]hclsyntax.Expression, 0, n+1), e.Args[:n]...), &evaluated{e.Args[n], list, nil})
	return call.Value(ctx)
}

// argumentOf remembers what it was, as long as its call runs, and counts what the call does with it.
type argumentOf struct {
	hclsyntax.Expression
	toil int
}

func (e *argumentOf) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := e.Expression.Value(ctx)
	s := envOf(ctx)
	if s == nil {
		return v, diags
	}
	if s.Marked {
		s.seen = append(s.seen, v)
	}
	if s.Meter != nil && !s.Meter.Work(e.toil, v, e.Range()) {
		return sameMarks(cty.DynamicVal, v), diags
	}
	return v, diags
}

// UnwrapExpression lets functions that want a reference see one.
func (e *argumentOf) UnwrapExpression() hcl.Expression { return e.Expression }

// attempt is a call of try or can. Each of its expressions is evaluated at most once, however often
// the function looks at it: otherwise n attempts inside one another would take two to the n.
type attempt struct{ *hclsyntax.FunctionCallExpr }

func (e *attempt) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	tried := make([]*remembered, len(e.Args))
	call := *e.FunctionCallExpr
	call.Args = make([]hclsyntax.Expression, len(e.Args))
	for i, a := range e.Args {
		tried[i] = &remembered{Expression: a}
		call.Args[i] = tried[i]
	}
	v, diags := call.Value(ctx)
	for _, t := range tried {
		v = lost(v, diags, t.val)
	}
	return v, diags
}

// lost gives the result of a call the marks of arguments that the function lost.
func lost(v cty.Value, diags hcl.Diagnostics, args ...cty.Value) cty.Value {
	switch {
	case diags.HasErrors():
		return raise(v, args...)
	case v.IsKnown():
		return v
	}
	out := raise(v, args...)
	if !mark.Is(v, mark.Sensitive) {
		out = mark.Without(out, mark.Sensitive)
	}
	return out
}

// remembered is an expression that is evaluated once.
type remembered struct {
	hclsyntax.Expression
	done  bool
	val   cty.Value
	diags hcl.Diagnostics
}

func (e *remembered) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if !e.done {
		e.done = true
		e.val, e.diags = e.Expression.Value(ctx)
	}
	return e.val, e.diags
}

// UnwrapExpression shows the expression as it stands.
func (e *remembered) UnwrapExpression() hcl.Expression { return e.Expression }

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

// relative is source.steps.
type relative struct {
	*hclsyntax.RelativeTraversalExpr
}

func (e *relative) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := e.Source.Value(ctx)
	if diags.HasErrors() {
		return sameMarks(cty.DynamicVal, v), diags
	}
	v, more := traverse(v, e.Traversal)
	withContext(more, e, ctx)
	return v, append(diags, more...)
}

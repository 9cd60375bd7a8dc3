package expr

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Calls of functions keep marks that functions lose: when a call fails, the result has the marks of
// everything that went in; when it is not known yet, what went in and is ephemeral makes it so, since nothing
// ephemeral may get anywhere unseen. Otherwise, and whether what is not known yet will be sensitive, is the
// function's own business (package funcs).

// Call is a call of a function.
type Call struct {
	*hclsyntax.FunctionCallExpr
	Marks bool // the result may have marks that no argument had
}

// marking are the functions that can make such results; templates may call sensitive.
var marking = map[string]bool{"sensitive": true, "templatefile": true, "templatestring": true}

// NewCall compiles a call whose arguments are compiled.
func NewCall(e *hclsyntax.FunctionCallExpr) hclsyntax.Expression {
	switch name := strings.TrimPrefix(e.Name, "core::"); name {
	case "try", "can":
		return &Attempt{e}
	case "ephemeralasnull", "nonsensitive", "issensitive": // they take marks off on purpose, and lose no other
		return e
	default:
		for i, a := range e.Args {
			e.Args[i] = &Argument{a, costPerElement(name)}
		}
		return &Call{e, marking[name]}
	}
}

func (e *Call) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	s := envOf(ctx)
	if s == nil {
		return e.FunctionCallExpr.Value(ctx)
	}
	s.Marked = s.Marked || e.Marks
	first := len(s.seen)
	v, diags := e.run(ctx)
	if len(s.seen) > first {
		v = keepMarks(v, diags, s.seen[first:]...)
		if e.Name != "keys" && e.Name != "core::keys" { // they are names
			v = mark.MadeOf(mark.Compact(v), s.seen[first:])
		}
		s.noteNames(v, s.seen[first:])
		clear(s.seen[first:])
		s.seen = s.seen[:first]
	}
	return v, diags
}

// noteNames remembers the names that a function gave what it made of something ephemeral.
func (s *Env) noteNames(v cty.Value, args []cty.Value) {
	if !structural(v.Type()) || !mark.Is(v, mark.Ephemeral) {
		return
	}
	of := make([]cty.Type, len(args))
	for i, a := range args {
		of[i] = a.Type()
	}
	s.Names.Learn(v.Type(), of...)
}

// run calls the function. Arguments to be expanded that are not known make no call.
func (e *Call) run(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
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

// Argument remembers what it was, as long as its call runs, and counts what the call does with it.
type Argument struct {
	hclsyntax.Expression
	cost int
}

func (e *Argument) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := e.Expression.Value(ctx)
	s := envOf(ctx)
	if s == nil {
		return v, diags
	}
	if s.Marked {
		v = mark.Piece(v)
		s.seen = append(s.seen, v)
	}
	if s.Meter != nil && e.cost != costNone && !s.Meter.Work(e.cost, v, e.Range()) {
		return sameMarks(cty.DynamicVal, v), diags
	}
	return v, diags
}

// UnwrapExpression lets functions that want a reference see one.
func (e *Argument) UnwrapExpression() hcl.Expression { return e.Expression }

// Attempt is a call of try or can. Each of its expressions is evaluated at most once, however often
// the function looks at it: otherwise n attempts inside one another would take two to the n.
type Attempt struct{ *hclsyntax.FunctionCallExpr }

func (e *Attempt) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	tried := make([]*remembered, len(e.Args))
	call := *e.FunctionCallExpr
	call.Args = make([]hclsyntax.Expression, len(e.Args))
	for i, a := range e.Args {
		tried[i] = &remembered{Expression: a}
		call.Args[i] = tried[i]
	}
	v, diags := call.Value(ctx)
	for _, t := range tried {
		v = keepMarks(v, diags, t.val)
	}
	return v, diags
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

// Value calls a provider's function.
func (e *ProviderCall) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if e.Wrong {
		return cty.DynamicVal, nil // as Bind has reported
	}
	return envOf(ctx).Scope.Call(e, ctx)
}

// CallWith calls a function that only this expression knows.
func CallWith(e *hclsyntax.FunctionCallExpr, f function.Function, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	child := ctx.NewChild()
	child.Functions = map[string]function.Function{e.Name: f}
	return (&Call{e, true}).Value(child)
}

// FreeArgument is an argument of a function that costs nothing to speak of.
func FreeArgument(e hclsyntax.Expression) hclsyntax.Expression { return &Argument{e, costNone} }

// What a function does with each element, or every 16 bytes of text, that it is given.
const (
	costNone  = 0  // it goes straight to what it wants
	costLook  = 1  // it looks at it
	costMake  = 8  // it makes something of it, or compares it with others
	costBuild = 32 // it sorts it into others, writes it down, or runs a regular expression over it
)

// costs are those of functions that do not make something of all that they are given.
var costs = map[string]int{
	"lookup": costNone, "element": costNone, "one": costNone, "coalesce": costNone, "slice": costNone, "length": costNone,
	"tostring": costNone, "tonumber": costNone, "tobool": costNone, "sensitive": costNone,
	"contains": costLook, "index": costLook, "sum": costLook, "min": costLook, "max": costLook, "alltrue": costLook, "anytrue": costLook,
	"keys": costBuild, "merge": costBuild, "jsonencode": costBuild, "yamlencode": costBuild, "regex": costBuild, "regexall": costBuild, "replace": costBuild,
	"strcontains": costLook, "startswith": costLook, "endswith": costLook,
}

// costPerElement is that of a function.
func costPerElement(name string) int {
	if t, ok := costs[strings.TrimPrefix(name, "core::")]; ok {
		return t
	}
	return costMake
}

package expr

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// The HCL library and some functions lose marks (sensitive or ephemeral) of arguments. A Call adds lost marks to the
// result. If the call fails, the result gets the marks of all arguments. If the result is unknown, it gets the
// ephemeral marks of all arguments, because no ephemeral value may lose its mark. If an unknown result is itself
// sensitive, it also gets the sensitive marks of all arguments. In all other cases the function decides (package
// funcs).

// Call is a call of a function.
type Call struct {
	*hclsyntax.FunctionCallExpr
	Marks bool // the result may have marks that no argument has, because the function adds marks
}

// marking has the functions that can add marks to their result. A template may call sensitive.
var marking = map[string]bool{"sensitive": true, "templatefile": true, "templatestring": true}

// NewCall returns the node for a function call whose arguments are compiled. For try and can it is an Attempt. For
// functions whose purpose is to remove marks, it is the call unchanged. Otherwise it is a Call.
func NewCall(e *hclsyntax.FunctionCallExpr) hclsyntax.Expression {
	switch name := strings.TrimPrefix(e.Name, "core::"); name {
	case "try", "can":
		return &Attempt{e}
	case "ephemeralasnull", "nonsensitive", "issensitive": // these functions remove marks intentionally, and lose none
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
	if s.Again != nil && (e.Name == "uuid" || e.Name == "core::uuid") {
		return s.Again(e.Range(), func() (cty.Value, hcl.Diagnostics) { return e.run(ctx) })
	}
	s.Marked = s.Marked || e.Marks
	first := len(s.seen)
	v, diags := e.run(ctx)
	if len(s.seen) > first {
		v = keepMarks(v, diags, s.seen[first:]...)
		if e.Name != "keys" && e.Name != "core::keys" { // the elements of the result of keys are names, not parts of the argument
			v = mark.MadeOf(mark.Compact(v), s.seen[first:])
		}
		s.noteNames(v, s.seen[first:])
		clear(s.seen[first:])
		s.seen = s.seen[:first]
	}
	return v, diags
}

// noteNames records the attribute names in the type of an ephemeral result that occur in no type of an argument. Such a
// name was made from ephemeral text.
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

// run calls the function. If the argument that "..." expands is unknown, run returns an unknown value and does not call
// the function.
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

// Argument wraps an argument of a Call. It records the value of the argument for the Call, and counts the work that the
// function does on this value.
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

// UnwrapExpression returns the wrapped expression. Functions such as HCL's that need a reference as an argument call
// it.
func (e *Argument) UnwrapExpression() hcl.Expression { return e.Expression }

// Attempt is a call of try or can. It evaluates each argument at most once, although the function may evaluate an
// argument several times. Without this, n nested calls of try would take two to the power of n evaluations.
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

// remembered wraps an expression, evaluates it only once, and keeps the result.
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

// UnwrapExpression returns the wrapped expression.
func (e *remembered) UnwrapExpression() hcl.Expression { return e.Expression }

// Value calls a provider function through the Scope. If the function does not exist, the result is unknown.
func (e *ProviderCall) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if e.Wrong {
		return cty.DynamicVal, nil // Bind, which found that the function does not exist, has reported the error
	}
	return envOf(ctx).Scope.Call(e, ctx)
}

// CallWith evaluates the call e with the function f, which need not be in the table of functions.
func CallWith(e *hclsyntax.FunctionCallExpr, f function.Function, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	child := ctx.NewChild()
	child.Functions = map[string]function.Function{e.Name: f}
	return (&Call{e, true}).Value(child)
}

// FreeArgument wraps an argument of a function whose work on this argument is not counted.
func FreeArgument(e hclsyntax.Expression) hclsyntax.Expression { return &Argument{e, costNone} }

// The cost of a function for each element of its arguments, or for every 16 bytes of text.
const (
	costNone  = 0  // the work does not depend on the number of elements: the function selects a part, counts elements or passes its argument on
	costLook  = 1  // the function reads each element
	costMake  = 8  // the function converts or compares each element
	costBuild = 32 // the function sorts or encodes each element, or matches it with a regular expression
)

// costs has the functions whose cost is not costMake.
var costs = map[string]int{
	"lookup": costNone, "element": costNone, "one": costNone, "coalesce": costNone, "slice": costNone, "length": costNone,
	"tostring": costNone, "tonumber": costNone, "tobool": costNone, "sensitive": costNone,
	"contains": costLook, "index": costLook, "sum": costLook, "min": costLook, "max": costLook, "alltrue": costLook, "anytrue": costLook,
	"keys": costBuild, "merge": costBuild, "jsonencode": costBuild, "yamlencode": costBuild, "regex": costBuild, "regexall": costBuild, "replace": costBuild,
	"strcontains": costLook, "startswith": costLook, "endswith": costLook,
}

// costPerElement returns the cost of a function for each element of its arguments: the cost in the map costs, or
// costMake if the function is not there.
func costPerElement(name string) int {
	if t, ok := costs[strings.TrimPrefix(name, "core::")]; ok {
		return t
	}
	return costMake
}

package syntax

import (
	"errors"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// HCL evaluates a constant or a template completely, even if nested loops multiply the work. So Budget wraps the
// expressions that can multiply work, after parsing. Each turn of a loop takes a step from the budget, and each part of
// a text takes its number of bytes. When the budget is used up, a panic of Spent ends the evaluation, because HCL's
// evaluator cannot be stopped in another way.

// stepShare divides limits.Limits.Elements: the result is the limit for the turns of all loops together.
const stepShare = 4

// mostErrors is the number of failures after which the evaluation ends. Each failure of a loop body produces
// diagnostics.
const mostErrors = 20

// ErrSpent is wrapped by every error of a Spent about an exceeded budget. Errors about a number with too many digits,
// and errors of the function inner of a Budget, do not wrap it.
var ErrSpent = errors.New("the template needs too much work")

// Spent is the value of the panic that ends an evaluation.
type Spent struct{ Err error }

// Budget limits the work of evaluating one expression, or one template and all templates that it calls.
type Budget struct {
	limits limits.Limits
	steps  int                         // number of steps that are left
	bytes  int64                       // number of bytes of text that are left
	errors int                         // number of failures so far
	inner  func(*hcl.Diagnostic) error // gets the first diagnostic of a part that fails; nil: not called
}

// NewBudget returns a budget of a quarter of l.Elements for the turns of loops, and of l.Bytes for texts. If a part of
// the expression fails, the evaluation passes its first diagnostic to inner, which may be nil. If inner returns an
// error, this error ends the evaluation.
func NewBudget(l limits.Limits, inner func(*hcl.Diagnostic) error) *Budget {
	return &Budget{limits: l, steps: l.Elements / stepShare, bytes: l.Bytes, inner: inner}
}

// Value evaluates an expression with a new budget. If the budget is exceeded, or a number has too many digits to be
// written, err is not nil, v is cty.NilVal and diags is empty. The evaluation of an expression in JSON syntax has no
// budget, because HCL parses it when it is evaluated.
func Value(e hcl.Expression, ctx *hcl.EvalContext, l limits.Limits) (v cty.Value, diags hcl.Diagnostics, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case Spent:
			err = r.Err
		default:
			panic(r)
		}
	}()
	if native, ok := e.(hclsyntax.Expression); ok {
		NewBudget(l, nil).Bind(native)
	}
	v, diags = e.Value(ctx)
	return v, diags, nil
}

// Step takes n iterations of loops from the budget. It panics with Spent if fewer are left.
func (b *Budget) Step(n int) {
	if b.steps -= n; b.steps < 0 {
		panic(Spent{fmt.Errorf("%w: its loops have more than %d iterations", ErrSpent, b.limits.Elements/stepShare)})
	}
}

func (b *Budget) made(v cty.Value, diags hcl.Diagnostics) {
	if diags.HasErrors() {
		if b.inner != nil {
			if err := b.inner(diags[0]); err != nil {
				panic(Spent{err})
			}
		}
		if b.errors++; b.errors > mostErrors {
			panic(Spent{fmt.Errorf("%w: it fails more than %d times, with %q", ErrSpent, mostErrors, diags[0].Summary)})
		}
		return
	}
	if v, _ = mark.Unmark(v); v.IsNull() || !v.IsKnown() {
		return
	}
	if v.Type() == cty.Number && convert.Writable(v) != nil {
		panic(Spent{convert.ErrManyDigits})
	}
	if v.Type() != cty.String {
		return
	}
	if b.bytes -= int64(len(v.AsString())); b.bytes < 0 {
		panic(Spent{fmt.Errorf("%w: it produces more than %d bytes", ErrSpent, b.limits.Bytes)})
	}
}

// Bind wraps the parts of an expression that count against the budget. It finds all nodes before it wraps any, because
// HCL's visitor does not visit the inside of a wrapper.
func (b *Budget) Bind(e hclsyntax.Expression) {
	var loops []*hclsyntax.ForExpr
	var texts []*hclsyntax.TemplateExpr
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.ForExpr:
			loops = append(loops, n)
		case *hclsyntax.TemplateExpr:
			texts = append(texts, n)
		}
		return nil
	})
	for _, n := range loops {
		n.ValExpr = b.bound(n.ValExpr, 1)
		if n.CondExpr != nil {
			n.CondExpr = b.bound(n.CondExpr, 1)
		}
	}
	for _, n := range texts {
		for i, p := range n.Parts {
			if _, literal := p.(*hclsyntax.LiteralValueExpr); !literal {
				n.Parts[i] = b.bound(p, 0)
			}
		}
	}
}

// bound returns a wrapper of e that takes cost steps from b at each evaluation. If e is wrapped for another budget,
// bound replaces that wrapper.
func (b *Budget) bound(e hclsyntax.Expression, cost int) *metered {
	if was, ok := e.(*metered); ok {
		e = was.Expression
	}
	return &metered{e, b, cost}
}

// metered is an expression whose evaluation takes cost steps from budget.
type metered struct {
	hclsyntax.Expression
	budget *Budget
	cost   int
}

// Value takes the cost from the budget, and evaluates the expression. If the budget is used up, it panics with Spent.
func (m *metered) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	m.budget.Step(m.cost)
	v, diags := m.Expression.Value(ctx)
	m.budget.made(v, diags)
	return v, diags
}

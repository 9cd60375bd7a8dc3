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

// HCL evaluates a constant or a template to its end, however many times a loop inside a loop comes around. So the places
// where work can multiply are wrapped after parsing: the body of each loop takes a step, what is put into a text takes its
// bytes, and when the budget is used up the evaluation is left by a panic of Spent. HCL's evaluator knows no other way out.

// stepShare is the part of Elements that loops may come around.
const stepShare = 4

// mostErrors is how many failures of loop bodies are evaluated: each leaves diagnostics behind.
const mostErrors = 20

// ErrSpent is what every error of a Spent wraps.
var ErrSpent = errors.New("the template does too much")

// Spent is the panic that ends an evaluation beyond its budget.
type Spent struct{ Err error }

// Budget is that of an expression, or of a template and all templates that it calls.
type Budget struct {
	limits limits.Limits
	steps  int
	bytes  int64
	errors int
	inner  func(*hcl.Diagnostic) error
}

// NewBudget makes a budget of a quarter of l.Elements for the turns of loops, and of l.Bytes. inner, if not nil, finds
// the error that a diagnostic was made of if that is to end everything.
func NewBudget(l limits.Limits, inner func(*hcl.Diagnostic) error) *Budget {
	return &Budget{limits: l, steps: l.Elements / stepShare, bytes: l.Bytes, inner: inner}
}

// Value evaluates an expression within a budget of its own. err says that it was exceeded.
// Expressions in JSON syntax are parsed when they are evaluated, and not bounded.
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

// Step takes n turns off the budget. It panics with Spent if there are not so many left.
func (b *Budget) Step(n int) {
	if b.steps -= n; b.steps < 0 {
		panic(Spent{fmt.Errorf("%w: its loops come around more often than the limit of %d", ErrSpent, b.limits.Elements/stepShare)})
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
	if v, _ = mark.Bare(v); v.IsNull() || !v.IsKnown() {
		return
	}
	if v.Type() == cty.Number && convert.Writable(v) != nil {
		panic(Spent{convert.ErrManyDigits})
	}
	if v.Type() != cty.String {
		return
	}
	if b.bytes -= int64(len(v.AsString())); b.bytes < 0 {
		panic(Spent{fmt.Errorf("%w: more text than the limit of %d bytes", ErrSpent, b.limits.Bytes)})
	}
}

// Bind wraps what is inside an expression. The nodes are found first: a wrapper hides what it wraps
// from the search.
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

// bound wraps an expression, or one that was wrapped for another budget.
func (b *Budget) bound(e hclsyntax.Expression, cost int) *metered {
	if was, ok := e.(*metered); ok {
		e = was.Expression
	}
	return &metered{e, b, cost}
}

// metered is an expression that draws on a budget.
type metered struct {
	hclsyntax.Expression
	budget *Budget
	cost   int
}

// Value evaluates the expression.
func (m *metered) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	m.budget.Step(m.cost)
	v, diags := m.Expression.Value(ctx)
	m.budget.made(v, diags)
	return v, diags
}

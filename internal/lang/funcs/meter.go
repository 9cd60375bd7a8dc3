package funcs

import (
	"errors"
	"fmt"
	"github.com/lethe-iac/lethe/internal/convert"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// HCL evaluates a template to its end, however many times a loop inside a loop comes around. So the
// places where work can multiply are wrapped after parsing: the body of each loop takes a step, what
// goes into the text takes its bytes, and when a budget is used up the evaluation is left by a panic that
// the call of the template function catches. Evaluation knows no other way out.

// callCost is how many steps a template costs that is called from another.
const callCost = 100

// stepShare is the part of MaxElements that the loops of a template may come around.
const stepShare = 2

// mostErrors is how many failures of loop bodies are evaluated: each leaves diagnostics behind.
const mostErrors = 20

var errOutOfFuel = errors.New("the template does too much")

// spent is the panic.
type spent struct{ err error }

// fuel is the budget of a template and of all templates that it calls.
type fuel struct {
	limits Limits
	steps  int
	bytes  int64
	errors int
}

func newFuel(l Limits) *fuel {
	return &fuel{limits: l, steps: l.MaxElements / stepShare, bytes: l.MaxBytes}
}

func (f *fuel) step(n int) {
	if f.steps -= n; f.steps < 0 {
		panic(spent{fmt.Errorf("%w: its loops come around more often than the limit of %d", errOutOfFuel, f.limits.MaxElements/stepShare)})
	}
}

func (f *fuel) made(v cty.Value, diags hcl.Diagnostics) {
	if diags.HasErrors() {
		if err := innerError(diags[0]); err != nil {
			panic(spent{err})
		}
		if f.errors++; f.errors > mostErrors {
			panic(spent{fmt.Errorf("%w: it fails more than %d times, with %q", errOutOfFuel, mostErrors, diags[0].Summary)})
		}
		return
	}
	if v, _ = mark.Bare(v); v.IsNull() || !v.IsKnown() {
		return
	}
	if v.Type() == cty.Number && convert.Writable(v) != nil {
		panic(spent{convert.ErrManyDigits})
	}
	if v.Type() != cty.String {
		return
	}
	if f.bytes -= int64(len(v.AsString())); f.bytes < 0 {
		panic(spent{fmt.Errorf("%w: more text than the limit of %d bytes", errOutOfFuel, f.limits.MaxBytes)})
	}
}

// meter wraps what is inside an expression. The nodes are found first: a wrapper hides what it wraps
// from the search.
func (f *fuel) meter(e hclsyntax.Expression) {
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
		n.ValExpr = &metered{n.ValExpr, f, 1}
		if n.CondExpr != nil {
			n.CondExpr = &metered{n.CondExpr, f, 1}
		}
	}
	for _, n := range texts {
		for i, p := range n.Parts {
			if _, literal := p.(*hclsyntax.LiteralValueExpr); !literal {
				n.Parts[i] = &metered{p, f, 0}
			}
		}
	}
}

// metered is an expression that draws on fuel.
type metered struct {
	hclsyntax.Expression
	fuel *fuel
	cost int
}

// Value evaluates the expression.
func (m *metered) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	m.fuel.step(m.cost)
	v, diags := m.Expression.Value(ctx)
	m.fuel.made(v, diags)
	return v, diags
}

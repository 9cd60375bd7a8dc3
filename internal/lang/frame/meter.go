package frame

import (
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// meter limits one evaluation. It counts the work against the budget of the walk. If a limit is exceeded, it reports
// one error. It implements the interface for Env.Meter in package expr.
type meter struct {
	env      *expr.Env // the limited evaluation, whose bag gets the errors
	budget   *budget
	spent    int       // cost of elements made by loops and read by functions in loops
	watched  int       // cost since the last check of memory and time
	began    time.Time // time of the first check; zero before it
	exceeded bool      // a limit was exceeded, and an error reported
}

// Element counts one more element that a loop has made, and reports whether the evaluation is within its limit
// (expr.Meter).
func (m *meter) Element(at diag.Range) bool {
	return m.spend(makeCost, at, tooManyMade)
}

const tooManyMade = "The loops of this expression would produce more than %d elements. A sensitive or ephemeral element counts as eight. Reduce them, or raise the limit with LETHE_LIMITS=elements=NUMBER."

// Work counts the elements that a function reads in a loop, at a cost for each element, and reports whether the
// evaluation is within its limit (expr.Meter). It limits loops that make small elements with much work for each
// element. Outside of loops Work counts nothing, because other limits bound the arguments of a call.
func (m *meter) Work(cost int, v cty.Value, at diag.Range) bool {
	return m.spent == 0 || m.spend(cost*extent(v), at, "Functions in the loops of this expression search a large value again and again. The work exceeds the limit of %d elements. Move parts that do not depend on the loop into a local value, and look up elements in a map.")
}

// Keep counts the value that a loop keeps from one iteration, and reports whether the evaluation is within its limits
// (expr.Meter). made is the number of elements that this loop has kept so far; Keep increases it.
func (m *meter) Keep(made *int, v cty.Value, at diag.Range) bool {
	n := extent(v)
	if !v.Type().IsPrimitiveType() {
		*made += n
	}
	switch most := m.budget.l.Elements; {
	case m.watchCost(n) && !m.watch(at):
	case v.IsMarked() && !m.spend(markCost, at, tooManyMade):
	case *made <= most:
		return true
	default:
		m.exceed(diag.Errorf("Value too large", "The result of this loop has more than %d elements. Reduce it, or raise the limit with LETHE_LIMITS=elements=NUMBER.", most).At(at))
	}
	return false
}

// TextLimit returns the greatest length of a string in bytes (expr.Meter).
func (m *meter) TextLimit() int { return int(m.budget.l.Bytes) }

// Exceeded reports whether a limit was exceeded (expr.Meter).
func (m *meter) Exceeded() bool { return m.exceeded }

// spend subtracts a cost from the budget of the evaluation. If the budget is exhausted, spend adds an error and returns
// false. text is the text of this error.
func (m *meter) spend(cost int, at diag.Range, text string) bool {
	most := m.budget.l.Elements
	m.spent += cost
	if m.watchCost(cost) && !m.watch(at) {
		return false
	}
	if m.spent/makeCost <= most {
		return true
	}
	m.exceed(diag.Errorf("Too many elements", text, most).At(at))
	return false
}

// watchCost adds a cost and reports whether the next check of memory and time is due.
func (m *meter) watchCost(cost int) bool {
	if m.watched += cost; m.watched < watchCost {
		return false
	}
	m.watched = 0
	return true
}

// watch reports whether memory and time are within their limits. If not, it adds an error.
func (m *meter) watch(at diag.Range) bool {
	if m.began.IsZero() {
		m.began = time.Now()
	}
	b := m.budget
	why := b.l.Exceeded(perLived*b.lived+perInstance*b.made.Load(), m.began)
	if why == "" {
		return true
	}
	m.exceed(diag.Errorf("Evaluation takes too much", "The evaluation exceeded a limit: %s. If the machine has more resources, raise the limit with LETHE_LIMITS.", why).At(at))
	return false
}

// exceed adds the error for an exceeded limit, once in an evaluation. After it, all calls of spend return false, so
// that all loops end.
func (m *meter) exceed(d diag.Diagnostic) {
	if !m.exceeded {
		m.exceeded = true
		m.env.Error(d)
	}
	m.spent = max(m.spent, (m.budget.l.Elements+1)*makeCost)
}

// extent returns the approximate number of elements in a value. For a list or tuple, it assumes that all elements are
// as large as the first. A string counts as one element for each textPart bytes. Other primitive values, null and
// unknown values count as 0.
func extent(v cty.Value) int {
	v, _ = mark.Unmark(v)
	ty := v.Type()
	switch {
	case !v.IsKnown() || v.IsNull():
		return 0
	case ty == cty.String:
		return len(v.AsString()) / textPart
	case ty.IsPrimitiveType() || ty.IsCapsuleType() || ty == cty.DynamicPseudoType:
		return 0
	}
	n := v.LengthInt()
	if n > 0 && (ty.IsListType() || ty.IsTupleType()) {
		if first, _ := mark.Unmark(v.Index(cty.NumberIntVal(0))); !first.Type().IsPrimitiveType() && first.IsKnown() && !first.IsNull() && first.CanIterateElements() {
			n *= 1 + first.LengthInt()
		}
	}
	return n
}

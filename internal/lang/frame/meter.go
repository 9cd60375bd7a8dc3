package frame

import (
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// meter limits the work of one evaluation, and counts the work against the budget of the walk. If a limit is exceeded,
// it reports one error. It is the Meter of an expr.Env.
type meter struct {
	env      *expr.Env // the evaluation, whose bag gets the errors
	budget   *budget
	spent    int       // the cost so far of elements that loops made and that functions in loops read
	watched  int       // the cost since the last check of memory and time
	began    time.Time // the time of the first check; zero before that check
	exceeded bool      // a limit was exceeded, and the error was reported
}

// Element counts one more element that a loop makes, and reports whether the evaluation is within its limits.
func (m *meter) Element(at diag.Range) bool {
	return m.spend(makeCost, at, tooManyMade)
}

const tooManyMade = "The loops of this expression would produce more than %d elements. A sensitive or ephemeral element counts as eight. Reduce them, or raise the limit with LETHE_LIMITS=elements=NUMBER."

// Work counts the elements that a function reads in a loop, with cost for each element, and reports whether the
// evaluation is within its limits. It limits loops that make few elements with much work for each. Before the first
// element of a loop, it counts nothing, because other limits bound the arguments of a call.
func (m *meter) Work(cost int, v cty.Value, at diag.Range) bool {
	return m.spent == 0 || m.spend(cost*extent(v), at, "Functions in the loops of this expression search a large value again and again. The work exceeds the limit of %d elements. Move parts that do not depend on the loop into a local value, and look up elements in a map.")
}

// Keep counts the value that a loop keeps from one iteration, and reports whether the evaluation is within its limits.
// made is the number of elements that this loop has kept so far; Keep increases it.
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

// TextLimit returns the maximum length of a string in bytes.
func (m *meter) TextLimit() int { return int(m.budget.l.Bytes) }

// Exceeded reports whether a limit was exceeded in this evaluation.
func (m *meter) Exceeded() bool { return m.exceeded }

// spend adds a cost to the work of the evaluation. If the work exceeds the limit, spend adds an error with the given
// text and returns false.
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

// watchCost adds a cost, and reports whether the next check of memory and time is due.
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

// exceed adds the error about an exceeded limit, once in an evaluation. From then on, all calls of spend return false,
// so that all loops end.
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

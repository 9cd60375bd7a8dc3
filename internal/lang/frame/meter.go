package frame

import (
	"math"
	"time"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Element counts one more element that a loop makes (expr.Meter).
func (s *scope) Element(at diag.Range) bool {
	return s.spend(makeCost, at, tooManyMade)
}

const tooManyMade = "The loops of this expression would make more than %d elements, which is more than can be evaluated safely. One that is sensitive or ephemeral counts as eight."

// Work counts what a function goes through in a loop, at a cost for each element (expr.Meter). Each element of a loop can be little and the work for it much.
// Outside of loops what a call is given has bounds of its own.
func (s *scope) Work(cost int, v cty.Value, at diag.Range) bool {
	return s.spent == 0 || s.spend(cost*extent(v), at, "The functions in the loops of this expression would go through more elements than can be evaluated safely, as many as it takes to make %d: the same large value is searched again and again. Move what does not depend on the loop into a local value, and look things up in a map.")
}

// Keep counts what a loop keeps of one turn (expr.Meter); made is the sum for this loop so far.
func (s *scope) Keep(made *int, v cty.Value, at diag.Range) bool {
	n := extent(v)
	if !v.Type().IsPrimitiveType() {
		*made += n
	}
	switch most := s.f.w.budget.l.Elements; {
	case s.watchCost(n) && !s.watch(at):
	case v.IsMarked() && !s.spend(markCost, at, tooManyMade):
	case *made <= most:
		return true
	default:
		s.exceed(diag.Errorf("Value too large", "What this loop makes has more than %d elements in all, which is more than can be handled safely.", most).At(at))
	}
	return false
}

// TextLimit is how many bytes one string may have (expr.Meter).
func (s *scope) TextLimit() int { return int(s.f.w.budget.l.Bytes) }

// Exceeded is whether a limit is passed (expr.Meter).
func (s *scope) Exceeded() bool { return s.exceeded }

// spend takes a cost off the budget of the evaluation. text says what is wrong if there is not so much left.
func (s *scope) spend(cost int, at diag.Range, text string) bool {
	most := s.f.w.budget.l.Elements
	s.spent += cost
	if s.watchCost(cost) && !s.watch(at) {
		return false
	}
	if s.spent/makeCost <= most {
		return true
	}
	s.exceed(diag.Errorf("Too many elements", text, most).At(at))
	return false
}

// watchCost reports whether enough was done for a look at memory and time.
func (s *scope) watchCost(cost int) bool {
	if s.watched += cost; s.watched < watchCost {
		return false
	}
	s.watched = 0
	return true
}

// watch reports whether memory and time are within their limits.
func (s *scope) watch(at diag.Range) bool {
	if s.began.IsZero() {
		s.began = time.Now()
	}
	b := s.f.w.budget
	why := b.l.Exceeded(perLived*b.lived+perInstance*b.made.Load(), s.began)
	if why == "" {
		return true
	}
	s.exceed(diag.Errorf("Evaluation takes too much", "While this was evaluated a limit was passed: %s. If the machine has more to give, raise the limit; LETHE_LIMITS does that.", why).At(at))
	return false
}

// exceed reports that a limit is passed, once in an evaluation, and ends all loops.
func (s *scope) exceed(d diag.Diagnostic) {
	if !s.exceeded {
		s.exceeded = true
		s.Error(d)
	}
	s.spent = max(s.spent, (s.f.w.budget.l.Elements+1)*makeCost)
}

// extent is how much there is to go through in a value, near enough: of what is in its elements the first
// one tells.
func extent(v cty.Value) int {
	v, _ = mark.Bare(v)
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
		if first, _ := mark.Bare(v.Index(cty.NumberIntVal(0))); !first.Type().IsPrimitiveType() && first.IsKnown() && !first.IsNull() && first.CanIterateElements() {
			n *= 1 + first.LengthInt()
		}
	}
	return n
}

// deeper reports whether one more declaration may be evaluated for another.
func (s *scope) deeper(d *program.Def) bool {
	if s.depth <= mostDepth {
		return true
	}
	s.Error(diag.Errorf("Evaluation too deep", "More than %d declarations need one another in a row here, which is more than can be evaluated safely.", mostDepth).At(d.At))
	return false
}

// checkValueSize reports whether a value is small enough to be handed on. Values share their parts, so
// that a few declarations that repeat one another can stand for more elements than there are atoms;
// a walk through such a value never ends.
func (s *scope) checkValueSize(d *program.Def, v cty.Value) bool {
	most := s.f.w.budget.l.Elements
	c := ctyvalue.Contents{MostElements: most, MostBytes: math.MaxInt64}
	if !mark.Look(&c, v) {
		s.Error(diag.Errorf("Value too large", "The value of %s has more than %d elements in all, which is more than can be handled safely. Does it contain itself several times over?", nameOf(s.f, d), most).At(d.At))
		return false
	}
	return c.Elements < bigValue && c.Bytes < bigValue*textPart || s.watch(d.At)
}

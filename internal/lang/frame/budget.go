package frame

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// budget bounds what one walk evaluates. A loop pays for the elements that it makes and the functions in it for those
// that they go through, in one currency: making an element costs as much as going through 55, so that 10,000 look-ups in
// 10,000 elements are within the limit of 2,000,000. What costs more than it counts is left to the watch over memory and
// time (limits.Exceeded), which looks every few thousand elements, and at every large value.
type budget struct {
	l     limits.Limits
	lived int64        // bytes on the heap when the walk began: what was read and compiled
	made  atomic.Int64 // instances, by their weight
}

const (
	makeCost  = 55
	textPart  = 16      // bytes of text that count as an element
	watchCost = 1 << 16 // what may be spent between two looks at memory and time
	bigValue  = 1024    // elements of a value behind which the watch looks

	mostDepth    = 10_000 // declarations that need one another in a row
	moduleWeight = 10     // instances of a resource that an instance of a module takes as much memory as

	// A walk makes objects and steps of what was read, and of instances. That is not what expressions make.
	perLived    = 3        // bytes that a walk may have for each one that lived before
	perInstance = 16 << 10 // bytes that it may have for each instance
)

func newBudget(l limits.Limits) *budget { return &budget{l: l.Filled(), lived: limits.Live()} }

func (b *budget) instances() int64 { return int64(b.l.Instances) }

// all reports whether the instances that a declaration has are not too many together with those that
// others have in this walk. There may be two of each: of what is, and of what will be.
func (b *budget) all(d *program.Def, n int) bool {
	if d.Kind == program.Call {
		n *= moduleWeight
	}
	return b.made.Add(int64(n)) <= 2*b.instances()
}

// Element counts one more element that a loop makes (expr.Meter).
func (s *scope) Element(at diag.Range) bool {
	return s.spend(makeCost, at, "The loops of this expression would make more than %d elements, which is more than can be evaluated safely.")
}

// Work counts what a function goes through in a loop, at a cost for each element (expr.Meter). Each element of a loop can be little and the work for it much.
// Outside of loops what a call is given has bounds of its own.
func (s *scope) Work(cost int, v cty.Value, at diag.Range) bool {
	return s.spent == 0 || s.spend(cost*extent(v), at, "In the loops of this expression functions would go through more elements than making %d of them takes, which is more than can be evaluated safely: the same large value is looked through again and again. Do what does not depend on the loop outside of it, in a local value, and make a map of what is looked for.")
}

// Keep counts what a loop keeps of one turn (expr.Meter); made is the sum for this loop so far.
func (s *scope) Keep(made *int, v cty.Value, at diag.Range) bool {
	n := extent(v)
	if !v.Type().IsPrimitiveType() {
		*made += n
	}
	switch most := s.f.w.budget.l.Elements; {
	case s.watchCost(n) && !s.watch(at):
	case *made <= most:
		return true
	default:
		s.exceed(diag.Errorf("Value too large", "What this loop makes has more than %d elements in all, which is more than can be handled safely.", most).At(at))
	}
	return false
}

// TextLimit is how many bytes one string may have (expr.Meter).
func (s *scope) TextLimit() int { return int(s.f.w.budget.l.Bytes) }

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
func (b *budget) deeper(s *scope, d *program.Def) bool {
	if s.depth <= mostDepth {
		return true
	}
	s.Error(diag.Errorf("Evaluation too deep", "More than %d declarations need one another in a row here, which is more than can be evaluated safely.", mostDepth).At(d.At))
	return false
}

// checkValueSize reports whether a value is small enough to be handed on. Values share their parts, so
// that a few declarations that repeat one another can stand for more elements than there are atoms;
// a walk through such a value never ends.
func (b *budget) checkValueSize(s *scope, d *program.Def, v cty.Value) bool {
	c := ctyvalue.Contents{MostElements: b.l.Elements, MostBytes: math.MaxInt64}
	if !mark.Look(&c, v) {
		s.Error(diag.Errorf("Value too large", "The value of %s has more than %d elements in all, which is more than can be handled safely. Does it contain itself several times over?", nameOf(s.f, d), b.l.Elements).At(d.At))
		return false
	}
	return c.Elements < bigValue && c.Bytes < bigValue*textPart || s.watch(d.At)
}

package frame

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Limits are how much a configuration may ask for. They exist so that a mistake or an attack is an
// error instead of a machine without memory. A zero field has its default.
type Limits struct {
	Instances int // of one block in one module instance; default 1,000,000
	Depth     int // declarations being evaluated for one another; default 10,000
	Elements  int // made by loops in one evaluation; default 2,000,000
	Work      int // elements that functions in these loops go through, by their toil; default 110,000,000
	Weight    int // values in one value, counted as if nothing were shared; default 5,000,000
	Kept      int // values, and each 128 bytes of a text, in all large values of one walk; default 10,000,000
	Text      int // bytes in one string; default 64 MiB
}

const (
	defaultInstances = 1_000_000
	defaultDepth     = 10_000
	defaultElements  = 2_000_000
	defaultWork      = 110_000_000 // 10,000 lookups in 10,000 elements, and some more
	defaultWeight    = 5_000_000
	defaultKept      = 10_000_000
	defaultText      = 64 << 20
)

type budget struct {
	l    Limits
	made atomic.Int64 // instances, by their weight
	kept keeping
}

func newBudget(l Limits) *budget {
	set := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&l.Instances, defaultInstances)
	set(&l.Depth, defaultDepth)
	set(&l.Elements, defaultElements)
	set(&l.Work, defaultWork)
	set(&l.Weight, defaultWeight)
	set(&l.Kept, defaultKept)
	set(&l.Text, defaultText)
	return &budget{l: l}
}

func (b *budget) instances() int64 { return int64(b.l.Instances) }

// moduleWeight is how many instances of a resource an instance of a module takes as much memory as.
const moduleWeight = 10

// all reports whether the instances that a declaration has are not too many together with those that
// others have in this walk. There may be two of each: of what is, and of what will be.
func (b *budget) all(d *program.Def, n int) bool {
	if d.Kind == program.Call {
		n *= moduleWeight
	}
	return b.made.Add(int64(n)) <= 2*b.instances()
}

// addCost counts what an element takes beyond what any does.
func (b *budget) addCost(s *scope, v cty.Value) {
	if v.IsMarked() {
		s.elements += expr.MarkedWeight - 1
		v, _ = v.Unmark()
	}
	s.elements += len(expr.LongText(v)) / expr.TextPart
}

// element reports whether one more element may be made in this evaluation.
func (b *budget) element(s *scope, at diag.Range) bool {
	s.elements++
	if s.elements <= b.l.Elements {
		return true
	}
	if !s.exceeded {
		s.exceeded = true
		s.Error(diag.Errorf("Too many elements", "The loops of this expression would make more than %d elements, which is more than can be evaluated safely.", b.l.Elements).At(at))
	}
	return false
}

// works reports whether a function may go through one more value in the loops of this evaluation. Each
// element of a loop can be little and the work for it much, so that the number of elements bounds nothing.
// Outside of loops what a call is given has bounds of its own.
func (b *budget) works(s *scope, toil int, v cty.Value, at diag.Range) bool {
	if s.elements == 0 || toil == 0 {
		return true
	}
	if s.work += toil * extent(v); s.work <= b.l.Work {
		return true
	}
	if !s.exceeded {
		s.exceeded = true
		s.Error(diag.Errorf("Too many elements", "In the loops of this expression functions would go through more than %d elements in all, which is more than can be evaluated safely: the same large value is looked through again and again. Do what does not depend on the loop outside of it, in a local value, and make a map of what is looked for.", b.l.Work).At(at))
	}
	s.elements = max(s.elements, b.l.Elements) // loops end
	return false
}

// checkLoopSize reports whether a loop may keep one more element of this size, beside what it has made so far.
func (b *budget) checkLoopSize(s *scope, made *int, v cty.Value, at diag.Range) bool {
	n := extent(v)
	if n >= keptPart && v.Type().IsObjectType() { // two maps, of values and of types, that are not shared
		n *= 2
	}
	if *made += n; *made <= b.l.Weight {
		return true
	}
	if !s.exceeded {
		s.exceeded = true
		s.Error(diag.Errorf("Value too large", "What this loop makes has more than %d elements in all, which is more than can be handled safely.", b.l.Weight).At(at))
	}
	s.elements = max(s.elements, b.l.Elements)
	return false
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
		return len(v.AsString()) / expr.WorkPart
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
	if s.depth <= b.l.Depth {
		return true
	}
	s.Error(diag.Errorf("Evaluation too deep", "More than %d declarations need one another in a row here, which is more than can be evaluated safely.", b.l.Depth).At(d.At))
	return false
}

// checkValueSize reports whether a value is small enough to be handed on. Values share their parts, so
// that a few declarations that repeat one another can stand for more elements than there are atoms;
// whatever walks through such a value never ends.
func (b *budget) checkValueSize(s *scope, d *program.Def, v cty.Value) bool {
	left, all := b.l.Weight, b.l.Weight
	if size(v.Type(), &all) || weigh(v, &left) {
		return b.checkWalkSize(s, d, v, 2*b.l.Weight-left-all)
	}
	s.Error(diag.Errorf("Value too large", "The value of %s has more than %d elements in all, which is more than can be handled safely. Does it contain itself several times over?", nameOf(s.f, d), b.l.Weight).At(d.At))
	return false
}

// keeping is what the large values of a walk hold that were computed so far. What is in several of them, as when one
// hands on what it got, is there once.
type keeping struct {
	mu    sync.Mutex
	seen  map[uintptr]int // what large collections and texts were found where, with how many elements
	total int
}

// Values and collections with fewer elements do not count, so that there is nothing to be remembered of most.
const (
	keptValue = 1024
	keptPart  = 64
)

// checkWalkSize reports whether one more value, of about so many elements, may be kept for the rest of the walk. Each of
// thousands can be little more than the one before.
func (b *budget) checkWalkSize(s *scope, d *program.Def, v cty.Value, about int) bool {
	if about < keptValue && len(expr.LongText(v)) < keptValue*expr.TextPart {
		return true
	}
	b.kept.mu.Lock()
	b.kept.add(v)
	within := b.kept.total <= b.l.Kept
	b.kept.mu.Unlock()
	if !within {
		s.Error(diag.Errorf("Values too large", "With the value of %s all values that were computed have more than %d elements, which is more than can be kept safely. Do many declarations make large values, each of another?", nameOf(s.f, d), b.l.Kept).At(d.At))
	}
	return within
}

// add counts what is in v and was in nothing before.
func (k *keeping) add(v cty.Value) {
	v, _ = mark.Bare(v)
	ty := v.Type()
	if !v.IsKnown() || v.IsNull() || ty.IsCapsuleType() || ty.IsPrimitiveType() && ty != cty.String {
		return
	}
	n := len(expr.LongText(v)) / expr.TextPart
	if ty != cty.String {
		n = v.LengthInt()
	}
	if n >= keptPart {
		if at, ok := ctyvalue.Place(v); ok && k.seen[at] == n {
			return
		} else if ok {
			if k.seen == nil {
				k.seen = map[uintptr]int{}
			}
			k.seen[at] = n
		}
	}
	k.total += n
	switch {
	case ty == cty.String:
	case ty.IsSetType():
		if !ty.ElementType().IsPrimitiveType() {
			k.total += n * (1 + extentOfType(ty.ElementType()))
		}
	default:
		for e := range ctyvalue.Unordered(v) {
			if !e.Type().IsPrimitiveType() || expr.LongText(e) != "" {
				k.add(e)
			}
		}
	}
}

// extentOfType is how many elements values of a type have that all have.
func extentOfType(ty cty.Type) int {
	switch {
	case ty.IsObjectType():
		return len(ty.AttributeTypes())
	case ty.IsTupleType():
		return ty.Length()
	}
	return 0
}

// size adds up how many values there are in one of a type, if that is the same for all of them; what is null or not
// known counts as if it were there. false: it is not the same, or more than are left.
func size(ty cty.Type, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	switch {
	case ty.IsObjectType():
		for _, t := range ty.AttributeTypes() {
			if !size(t, left) {
				return false
			}
		}
		return true
	case ty.IsTupleType():
		for _, t := range ty.TupleElementTypes() {
			if !size(t, left) {
				return false
			}
		}
		return true
	}
	return ty.IsPrimitiveType() || ty.IsCapsuleType()
}

// flat reports whether all elements of values of the type are primitive.
func flat(ty cty.Type) bool {
	switch {
	case ty.IsCollectionType():
		return ty.ElementType().IsPrimitiveType()
	case ty.IsTupleType():
		return !slices.ContainsFunc(ty.TupleElementTypes(), func(t cty.Type) bool { return !t.IsPrimitiveType() })
	}
	for _, t := range ty.AttributeTypes() {
		if !t.IsPrimitiveType() {
			return false
		}
	}
	return true
}

// weigh walks through a value until nothing is left.
func weigh(v cty.Value, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	v, _ = mark.Bare(v)
	ty := v.Type()
	switch {
	case ty.IsPrimitiveType() || ty.IsCapsuleType() || !v.IsKnown() || v.IsNull():
		return true
	case flat(ty):
		*left -= v.LengthInt()
		return *left >= 0
	}
	if ty.IsObjectType() { // without the iterator, which sorts the names
		for name := range ty.AttributeTypes() {
			if !weigh(v.GetAttr(name), left) {
				return false
			}
		}
		return true
	}
	for it := v.ElementIterator(); it.Next(); {
		if _, e := it.Element(); !weigh(e, left) {
			return false
		}
	}
	return true
}

// Element counts one more element that a loop makes (expr.Meter).
func (s *scope) Element(at diag.Range) bool { return s.f.w.budget.element(s, at) }

// Work counts what a function goes through (expr.Meter).
func (s *scope) Work(cost int, v cty.Value, at diag.Range) bool {
	return s.f.w.budget.works(s, cost, v, at)
}

// Keep counts what a loop keeps (expr.Meter).
func (s *scope) Keep(made *int, v cty.Value, at diag.Range) bool {
	s.f.w.budget.addCost(s, v)
	return v.Type().IsPrimitiveType() || s.f.w.budget.checkLoopSize(s, made, v, at)
}

// TextLimit is how many bytes one string may have (expr.Meter).
func (s *scope) TextLimit() int { return s.f.w.budget.l.Text }

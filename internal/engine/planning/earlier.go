package planning

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// Add adds the decisions of a round (one plan and its apply, in a command that needs several) whose plan was applied.
// An object that the plan took from the state without a refresh counts as undecided.
func (e *Earlier) Add(r *Result) {
	p := r.Plan
	if e.decided == nil {
		e.decided, e.read, e.replaced, e.planTime = map[addr.Object]bool{}, map[addr.Object]bool{}, map[addr.Object]plan.Reason{}, p.Timestamp
	}
	left := map[addr.Object]bool{}
	for _, c := range p.Deferred {
		left[c.Object] = true
		if c.ReplacedLater() && e.replaced[c.Object] != plan.ReplaceByTriggers {
			e.replaced[c.Object] = c.Why
		}
		if c.Entry != nil && !r.doubts[c.Object] {
			e.read[c.Object] = true
		}
	}
	for _, c := range p.Changes {
		if c.Action == plan.NoOp && r.doubts[c.Object] {
			continue
		}
		if !c.Object.IsDeposed() && !left[c.Object] {
			e.decided[c.Object] = true
		}
	}
	for o := range p.Refreshed.Objects() {
		if o.Mode == addr.Data && !left[o] && !r.doubts[o] {
			e.decided[o] = true
		}
	}
}

// has reports whether an earlier round decided about an object. A nil Earlier is empty.
func (e *Earlier) has(o addr.Object) bool { return e != nil && e.decided[o] }

// triggers reports whether a change of an earlier round requires the replacement of an object whose change was
// deferred.
func (e *Earlier) triggers(o addr.Object) bool {
	return e != nil && e.replaced[o] == plan.ReplaceByTriggers
}

// untainted returns a state in which the objects in e.replaced are not tainted. An earlier round tainted them only for
// the case that this command ends early and another command continues. The objects themselves are complete.
func (e *Earlier) untainted(s *state.Snapshot) *state.Snapshot {
	if e == nil || len(e.replaced) == 0 {
		return s
	}
	edit := s.Edit()
	for o := range e.replaced {
		if x := s.Get(o); x != nil {
			complete := *x
			complete.Tainted, complete.Complete = false, false
			edit.Put(o, &complete)
		}
	}
	return edit.Done()
}

// refreshed reports whether an earlier round refreshed an object.
func (e *Earlier) refreshed(o addr.Object) bool { return e != nil && e.read[o] }

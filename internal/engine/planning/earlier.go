package planning

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/plan"
)

// Add adds a plan that was applied. It leaves out objects that the plan knew only from the state.
func (e *Earlier) Add(r *Result) {
	p := r.Plan
	if e.decided == nil {
		e.decided, e.read, e.planTime = map[addr.Object]bool{}, map[addr.Object]bool{}, p.Timestamp
	}
	left := map[addr.Object]bool{}
	for _, c := range p.Deferred {
		left[c.Object] = true
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
		if o.Mode == addr.Data && !left[o] {
			e.decided[o] = true
		}
	}
}

// has reports whether an earlier round decided about an object.
func (e *Earlier) has(o addr.Object) bool { return e != nil && e.decided[o] }

// refreshed reports whether an earlier round refreshed an object.
func (e *Earlier) refreshed(o addr.Object) bool { return e != nil && e.read[o] }

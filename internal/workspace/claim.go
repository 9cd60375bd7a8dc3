package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/parts"
	"github.com/lethe-iac/lethe/internal/store"
)

// Claim lists the parts of a shared state that a plan changes or depends on.
type Claim struct {
	Base      *state.Snapshot // the state from which the plan was made
	Refreshed *state.Snapshot // Base after the refresh of the plan; nil if the plan did not refresh
	Parts     store.Parts
	// Of returns the parts that a run has locked if it leaves an object in the state of the given entry.
	Of func(addr.Object, *state.Entry) store.Parts
}

// Shared reports whether other commands may work on other parts of the state at the same time.
func (s *State) Shared() bool { return s.lock.shared() }

// outOfDate returns the error for a plan that cannot be applied because the state has changed. The parameter why
// introduces the list of conflicts. The parameter then is a sentence about the next step, or "".
func outOfDate(why string, conflicts []string, then string) diag.Diagnostic {
	if most := 10; len(conflicts) > most {
		conflicts = append(conflicts[:most:most], fmt.Sprintf("and %d more", len(conflicts)-most))
	}
	return diag.Errorf("Plan is out of date", "%s:\n  %s\n\n%sNothing was done. Make a new plan.", why, strings.Join(conflicts, "\n  "), then)
}

// outdated returns the reason why the plan does not fit the present state. It returns nil if no other run has changed
// the parts of the state that the plan uses.
func (c Claim) outdated(ctx context.Context, st store.Store, name string, now *state.Snapshot) *diag.Diagnostic {
	if now == c.Base || now.Digest() == c.Base.Digest() && now.Lineage == c.Base.Lineage {
		return nil
	}
	var conflicts []string
	if c.Base.Lineage != now.Lineage {
		conflicts = append(conflicts, fmt.Sprintf("its lineage, which changed from %q to %q", c.Base.Lineage, now.Lineage))
	}
	same := c.known(now)
	for _, d := range state.Differences(c.Base, now) {
		if d.Object.Mode == addr.Data || same(d.Object) { // no conflict: the plan read the data source itself, or its refresh found the present object
			continue
		}
		e := d.After
		if e == nil {
			e = d.Before
		}
		if _, meet := c.Parts.Intersects(c.Of(d.Object, e)); meet {
			conflicts = append(conflicts, d.Object.String())
		}
	}
	for _, name := range state.OutputDifferences(c.Base, now) {
		if parts.ChangesOutput(c.Parts, name) {
			conflicts = append(conflicts, "output."+name)
		}
	}
	if parts.IsWholeState(c.Parts) && len(conflicts) == 0 {
		conflicts = append(conflicts, "the state as a whole")
	}
	if len(conflicts) == 0 {
		return nil
	}
	d := outOfDate("After the state was read for this plan, other runs changed objects that the plan changes or depends on", conflicts, writers(ctx, st, name, c.Base.Serial))
	return &d
}

// known returns a function that reports whether the present state has an object as the refresh of the plan found it.
// The plan then still fits that object, although another run has changed it in the state.
func (c Claim) known(now *state.Snapshot) func(addr.Object) bool {
	if c.Refreshed == nil || c.Refreshed == c.Base {
		return func(addr.Object) bool { return false }
	}
	other := map[addr.Object]bool{}
	for _, d := range state.Differences(c.Refreshed, now) {
		other[d.Object] = true
	}
	return func(o addr.Object) bool { return !other[o] }
}

// writers returns a sentence about the runs that wrote versions of the state with later serials than the given serial.
// It returns "" if the store does not know them.
func writers(ctx context.Context, st store.Store, name string, after uint64) string {
	h := st.Capabilities().History
	if h == nil {
		return ""
	}
	past, err := h.History(ctx, name)
	if err != nil {
		return ""
	}
	var names []string
	for _, p := range past {
		if who := p.Who + " (" + store.ShortOperation(p.Operation) + ")"; p.Serial > after && p.Who != "" && !slices.Contains(names, who) {
			names = append(names, who)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "The state was written by " + strings.Join(names, ", ") + ". "
}

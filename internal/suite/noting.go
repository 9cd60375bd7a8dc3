package suite

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// A state in memory has a journal from the first change of something real on, or from the first lease: should the program
// be killed, the next test says what exists.

// apply applies a plan to the state.
func (k *kept) apply(ctx context.Context, h how, p *plan.Plan, bag *diag.Bag) (*engine.Applied, bool) {
	req := engine.ApplyRequest{Program: h.program, Options: h.options, Plan: p, Journal: &noting{k, h.engine.Doubles}}
	if k.place != nil {
		var ok bool
		if req.Journal, ok = k.place.Record(); !ok {
			return &engine.Applied{Snapshot: k.snapshot}, false
		}
		defer k.place.End()
	}
	done, ok := h.engine.Apply(ctx, req, bag)
	if k.place != nil && !k.place.SaveApplied(done.Snapshot) {
		ok = false
	}
	k.set(done.Snapshot)
	return done, ok
}

// noting is the journal of an apply to a state in memory. What doubles make up has no place in it.
type noting struct {
	*kept
	doubles run.Doubles
}

// real reports whether an object that a provider makes is left behind.
func (n *noting) real(i addr.Instance, p addr.ProviderInstance) bool {
	return p.Provider != addr.Builtin("terraform") && (n.doubles == nil || n.doubles.Provider(p) == nil && n.doubles.Object(i, nil) == nil)
}

// Intent implements journal.Journal.
func (n *noting) Intent(i journal.Intent) (journal.Op, error) {
	if !n.real(i.Object.Instance, i.Provider) {
		return 0, nil
	}
	if j := n.noted(true); j != nil {
		return j.Intent(i)
	}
	return 0, nil
}

// Later implements journal.Journal. What an apply changes is known at each moment, should the program have to end at once.
func (n *noting) Later(over func(error), op journal.Op, changed ...journal.Change) {
	n.mu.Lock()
	n.changed = append(n.changed, changed...)
	n.mu.Unlock()
	changed = slices.DeleteFunc(slices.Clone(changed), func(c journal.Change) bool { return c.Entry != nil && !n.real(c.Object.Instance, c.Entry.Provider) })
	if j := n.noted(false); j != nil && (op != 0 || len(changed) > 0) {
		j.Later(over, op, changed...)
	} else {
		over(nil)
	}
}

// Urge says that something waits for what was given.
func (n *noting) Urge() {
	if j := n.noted(false); j != nil {
		j.Urge()
	}
}

// Opening implements journal.Leases.
func (k *kept) Opening(o addr.Object, p addr.Provider) (journal.Op, error) {
	if j := k.noted(true); j != nil {
		return j.Opening(o, p)
	}
	return 0, nil
}

// Over implements journal.Leases.
func (k *kept) Over(op journal.Op) {
	if j := k.noted(false); j != nil && op != 0 {
		j.Over(op)
	}
}

// noted is the journal of the state; nil if there is none, and need not be or cannot be begun.
func (k *kept) noted(needed bool) Noted {
	k.mu.Lock()
	defer k.mu.Unlock()
	if needed && k.journal == nil && k.begin != nil {
		k.journal, k.begin = k.begin(), nil
	}
	return k.journal
}

// forget ends the journal, which is removed where what it has is destroyed or in a file.
func (k *kept) forget(remove bool) {
	k.mu.Lock()
	j := k.journal
	k.journal, k.begin = nil, nil
	k.mu.Unlock()
	if j != nil {
		j.End(remove)
	}
}

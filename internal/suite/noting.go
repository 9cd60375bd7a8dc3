package suite

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// A state in memory needs a journal, because the program may be killed. The journal begins at the first change of a
// real object, or at the first lease. The next call of the test command then reports which objects exist.

// apply applies a plan to the state. It returns false if a step or the writing of the state failed.
func (k *kept) apply(ctx context.Context, h how, p *plan.Plan, bag *diag.Bag) (*engine.Applied, bool) {
	req := engine.ApplyRequest{Program: h.program, Options: h.options, Plan: p, Journal: &noting{k, h.engine.Providers.Substitutes}}
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

// noting is the journal of an apply to a state in memory. The journal on the disk does not contain objects of mocks and
// overrides.
type noting struct {
	*kept
	substitutes provider.Substitutes // nil if all providers are real
}

// real reports whether an object exists in a remote system, so that it would remain if the program is killed.
func (n *noting) real(i addr.Instance, p addr.ProviderInstance) bool {
	return p.Provider != addr.Builtin("terraform") && (n.substitutes == nil || n.substitutes.Configuration(p) == nil && n.substitutes.Object(i, nil) == nil)
}

// Intent records that a call is about to be made.
func (n *noting) Intent(i journal.Intent) (journal.Op, error) {
	if !n.real(i.Object.Instance, i.Provider) {
		return 0, nil
	}
	if j := n.noted(true); j != nil {
		return j.Intent(i)
	}
	return 0, nil
}

// Later records the changes of a call, and calls finish when the record is durable or has failed. It records all
// changes in memory, so that abandon can write the state at any time. The journal gets only the changes of real
// objects, not of mocked objects.
func (n *noting) Later(finish func(error), op journal.Op, changed ...journal.Change) {
	n.mu.Lock()
	n.changed = append(n.changed, changed...)
	n.mu.Unlock()
	changed = slices.DeleteFunc(slices.Clone(changed), func(c journal.Change) bool { return c.Entry != nil && !n.real(c.Object.Instance, c.Entry.Provider) })
	if j := n.noted(false); j != nil && (op != 0 || len(changed) > 0) {
		j.Later(finish, op, changed...)
	} else {
		finish(nil)
	}
}

// Urge tells the journal that a caller waits for the last record.
func (n *noting) Urge() {
	if j := n.noted(false); j != nil {
		j.Urge()
	}
}

// Opening records that a lease is about to be opened. After an error, the caller must not open it.
func (k *kept) Opening(o addr.Object, p addr.Provider) (journal.Op, error) {
	if j := k.noted(true); j != nil {
		return j.Opening(o, p)
	}
	return 0, nil
}

// Closed records that a lease was closed, or that no lease was opened.
func (k *kept) Closed(op journal.Op) {
	if j := k.noted(false); j != nil && op != 0 {
		j.Closed(op)
	}
}

// noted returns the journal of the state, or nil if it is not open. If needed is true, noted opens the journal first,
// if it can.
func (k *kept) noted(needed bool) Noted {
	k.mu.Lock()
	defer k.mu.Unlock()
	if needed && k.journal == nil && k.begin != nil {
		k.journal, k.begin = k.begin(), nil
	}
	return k.journal
}

// forget closes the journal. If remove is true, forget also deletes the journal, because the objects are destroyed or
// their state is in a file.
func (k *kept) forget(remove bool) {
	k.mu.Lock()
	j := k.journal
	k.journal, k.begin = nil, nil
	k.mu.Unlock()
	if j != nil {
		j.End(remove)
	}
}

package engine

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/provider"
)

// halt asks the processes of a walk to give up what they are doing, those that hold leases
// excepted: these still have to close them, and are stopped after that. Built-in ones go on
// closing when they are told to stop.
func (r *shared) halt() {
	r.mu.Lock()
	var all []provider.Provider
	for _, s := range r.sessions {
		if s.provider != nil && !slices.Contains(all, s.provider) {
			all = append(all, s.provider)
		}
	}
	r.mu.Unlock()
	for _, p := range all {
		if !r.ledger.Through(p) || p.Addr().IsBuiltin() {
			go func() { _ = p.Stop(context.Background()) }()
		}
	}
}

// underWay says whether a call is being made whose outcome is not known before it is over.
func (r *shared) underWay(o addr.Object, is bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if is {
		r.calls[o] = true
	} else {
		delete(r.calls, o)
	}
}

// Walked reports whether a walk has begun.
func (e *Engine) Walked() bool { return e.now.Load() != nil }

// Unfinished is what is under way at this moment: changes and openings whose outcome is not known,
// and leases that are open. It waits for nothing: a process that must end at once names what it leaves behind.
func (e *Engine) Unfinished() (changes []addr.Object, leases []lease.Left) {
	r := e.now.Load()
	if r == nil {
		return nil, nil
	}
	r.mu.Lock()
	for o := range r.calls {
		changes = append(changes, o)
	}
	r.mu.Unlock()
	slices.SortFunc(changes, addr.Object.Compare)
	return changes, r.ledger.Open()
}

package run

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/provider"
)

// stopProviders asks the processes of a walk to give up what they are doing, as Terraform and OpenTofu
// do. It is about the calls that are under way, and closing a lease must not be one of them.
func (r *Run) stopProviders() {
	for _, p := range r.Sessions.processes() {
		go r.ledger.Between(p, func() {
			ctx, cancel := context.WithTimeout(context.Background(), stopTime)
			defer cancel()
			_ = p.Stop(ctx)
		})
	}
}

// Context ends when nothing new is to be started, and what runs is to be given up.
func (r *Run) Context() context.Context { return r.ctx }

// stopTime is how long a provider may take to say that it will stop.
const stopTime = time.Second

// End closes what is still open at the end of a walk.
func (r *Run) End() {
	r.Leases.End()
	r.over()
}

// processes are the provider processes that are configured.
func (ss *Sessions) processes() []provider.Provider {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	var all []provider.Provider
	for _, s := range ss.open {
		if s.Provider != nil && !slices.Contains(all, s.Provider) {
			all = append(all, s.Provider)
		}
	}
	return all
}

// Calls are the objects with a call whose outcome is not known before it is over: changes and openings.
type Calls struct {
	mu    sync.Mutex
	calls map[addr.Object]bool
}

// Set says whether such a call is being made for an object.
func (f *Calls) Set(o addr.Object, is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[addr.Object]bool{}
	}
	if is {
		f.calls[o] = true
	} else {
		delete(f.calls, o)
	}
}

// list gives the objects, sorted.
func (f *Calls) list() []addr.Object {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.SortedFunc(maps.Keys(f.calls), addr.Object.Compare)
}

// Unfinished is what is under way at this moment: changes and openings whose outcome is not known,
// and leases that are open. It waits for nothing.
func (h *Handover) Unfinished() (changes []addr.Object, leases []lease.Left) {
	r := h.now.Load()
	if r == nil {
		return nil, nil
	}
	return r.InFlight.list(), r.ledger.Open()
}

// Walked reports whether a walk has begun.
func (h *Handover) Walked() bool { return h.now.Load() != nil }

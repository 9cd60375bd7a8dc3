package run

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
)

// Env is what a run takes place in.
type Env struct {
	Settings *Settings
	Handover *Handover
}

// Handover is what the runs of one command leave to each other (providers that are configured, functions that failed),
// and what says which of their calls are under way. The zero value is for the first run.
type Handover struct {
	idle   idleSessions
	faulty sync.Map                 // by functionName
	now    atomic.Pointer[underWay] // in the latest walk
}

// underWay is what a walk has to do with at some moment: calls, and leases that are open.
type underWay struct {
	calls  *Calls
	ledger *lease.Ledger
}

// Unfinished is what is under way at this moment: changes and openings whose outcome is not known,
// and leases that are open. It waits for nothing.
func (h *Handover) Unfinished() (changes []addr.Object, leases []lease.Left) {
	now := h.now.Load()
	if now == nil {
		return nil, nil
	}
	return now.calls.list(), now.ledger.Open()
}

// Walked reports whether a walk has begun.
func (h *Handover) Walked() bool { return h.now.Load() != nil }

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

// idleSession is a configured process without a session: the last walk is done with it, and the next one
// takes it if it wants the same settings. Processes that were configured with ephemeral values are
// never kept: the values are fresh in each walk.
type idleSession struct {
	instance addr.ProviderInstance
	settings cty.Value
	process  provider.Provider
	since    time.Time
}

// keepTime is how long a process is kept while the user thinks about a plan: what it logged in with
// may end.
const keepTime = 5 * time.Minute

// idleSessions are the processes that the last walk left.
type idleSessions struct {
	sync.Mutex
	list []idleSession
}

// leave adds processes, or puts them in place of those that were kept, which it gives back.
func (k *idleSessions) leave(list []idleSession, more bool) []provider.Provider {
	k.Lock()
	defer k.Unlock()
	if more {
		k.list = append(k.list, list...)
		return nil
	}
	var out []provider.Provider
	for _, x := range k.list {
		out = append(out, x.process)
	}
	k.list = list
	return out
}

// claim takes the process that was configured with the settings, nil if there is none or it was
// kept too long.
func (k *idleSessions) claim(i addr.ProviderInstance, settings cty.Value, now time.Time) provider.Provider {
	k.Lock()
	defer k.Unlock()
	for n, x := range k.list {
		if x.instance == i && now.Sub(x.since) < keepTime && x.settings.RawEquals(settings) {
			k.list = append(k.list[:n], k.list[n+1:]...)
			return x.process
		}
	}
	return nil
}

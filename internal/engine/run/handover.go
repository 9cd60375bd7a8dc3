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

// Env has the settings of a command, and the data that each of its runs leaves for the next.
type Env struct {
	Settings *Settings
	Handover *Handover
}

// Handover has the data that one run of a command (a plan, or its apply) leaves for the next run: configured providers,
// and provider functions that failed. It also has the calls in progress of the latest run. The zero value is for the
// first run.
type Handover struct {
	idle   idleSessions
	faulty sync.Map                   // key: functionName; value: the diagnostic of the failed call
	now    atomic.Pointer[inProgress] // the provider calls and leases (open ephemeral resources) of the latest walk (plan or apply); nil before the first walk
}

// inProgress has the calls in progress and the open leases of a walk, and the leases of earlier rounds (applies of the
// same command).
type inProgress struct {
	calls  *Calls
	ledger *lease.Ledger
	rounds *Rounds
}

// begin makes w the latest walk. If validating is true and there is another walk, begin does nothing, because a plan
// validates parts of its configuration in a separate walk.
func (h *Handover) begin(w *inProgress, validating bool) {
	if validating {
		h.now.CompareAndSwap(nil, w)
	} else {
		h.now.Store(w)
	}
}

// Unfinished returns the objects for which a call is in progress that may change them or open an ephemeral resource,
// and the ephemeral resources that are open. It does not wait for calls.
func (h *Handover) Unfinished() (changes []addr.Object, leases []lease.Left) {
	now := h.now.Load()
	if now == nil {
		return nil, nil
	}
	return now.calls.list(), slices.Concat(now.ledger.Open(), now.rounds.others(now.ledger))
}

// Walked reports whether a walk has begun.
func (h *Handover) Walked() bool { return h.now.Load() != nil }

// Calls has the objects for which a call is in progress that changes them or opens an ephemeral resource. The effect of
// such a call is unknown until the call ends.
type Calls struct {
	mu    sync.Mutex
	calls map[addr.Object]bool
}

// Set records whether a call for an object is in progress: the caller passes true when the call starts, and false when
// it ends.
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

// list returns the objects with calls in progress, sorted.
func (f *Calls) list() []addr.Object {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.SortedFunc(maps.Keys(f.calls), addr.Object.Compare)
}

// idleSession is a configured process that remains from the last walk. The next walk uses it if it needs the same
// settings. Processes with ephemeral settings are not kept, because each walk has new values.
type idleSession struct {
	instance addr.ProviderInstance
	settings cty.Value
	process  provider.Provider
	since    time.Time
}

// keepTime is how long a process is kept while the user reads a plan. It is limited, because the login of the process
// may expire.
const keepTime = 5 * time.Minute

// idleSessions are the processes that remain from the last walk.
type idleSessions struct {
	sync.Mutex
	list []idleSession
}

// leave adds list to the kept processes and returns nil, if more is true. Otherwise it replaces the kept processes by
// list and returns the previous processes, which the caller must end.
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

// claim removes the kept process of a provider instance with the given settings from the list, and returns it. It
// returns nil if there is no such process, or if the process has been kept longer than keepTime.
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

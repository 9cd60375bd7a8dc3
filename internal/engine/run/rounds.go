package run

import (
	"slices"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/leases"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
)

// Rounds has the leases that stay open between the rounds of a command (plans, each with its apply, see ADR 52), and
// the provider processes that opened them. The zero value is empty. A nil Rounds keeps no lease open.
type Rounds struct {
	leases leases.Kept

	mu       sync.Mutex
	ledger   *lease.Ledger // shared by the walks that apply rounds; nil before the first walk
	sessions []keptSession
}

// keptSession is a configured process with open leases.
type keptSession struct {
	instance addr.ProviderInstance
	settings mark.Value
	process  provider.Provider
	end      func() // see Session
}

// ledgerOf returns the ledger of a walk. If applying is true, the walk applies a round: all such walks share a ledger
// while a lease is kept. Other walks get a new ledger.
func (k *Rounds) ledgerOf(applying bool, o lease.Options) *lease.Ledger {
	if k == nil || !applying {
		return lease.NewLedger(o)
	}
	o.Kept = k.leases.Has
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ledger == nil || !k.leases.Any() {
		k.ledger = lease.NewLedger(o)
	} else {
		k.ledger.Continue()
	}
	return k.ledger
}

// others returns the open leases of k's ledger, or nil if this is the given ledger.
func (k *Rounds) others(than *lease.Ledger) []lease.Left {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ledger == nil || k.ledger == than {
		return nil
	}
	return k.ledger.Open()
}

// keep keeps the process of a session if the process has opened a kept lease. It returns false if the caller may end
// the process.
func (k *Rounds) keep(s keptSession) bool {
	if k == nil {
		return false
	}
	stays := k.leases.Through(s.process)
	k.mu.Lock()
	defer k.mu.Unlock()
	at := slices.IndexFunc(k.sessions, func(x keptSession) bool { return x.process == s.process })
	switch {
	case stays && at < 0:
		k.sessions = append(k.sessions, s)
	case !stays && at >= 0:
		k.sessions = slices.Delete(k.sessions, at, at+1)
	}
	return stays
}

// claim returns the kept process of a provider instance with the given settings, or false if none is kept.
func (k *Rounds) claim(i addr.ProviderInstance, settings mark.Value) (keptSession, bool) {
	if k == nil {
		return keptSession{}, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, x := range k.sessions {
		if x.instance == i && x.settings.Raw.RawEquals(settings.Raw) {
			return x, true
		}
	}
	return keptSession{}, false
}

// settingsOf returns the settings of a kept process, or false if the process is not kept.
func (k *Rounds) settingsOf(p provider.Provider) (mark.Value, bool) {
	if k == nil {
		return mark.Value{}, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, x := range k.sessions {
		if x.process == p {
			return x.settings, true
		}
	}
	return mark.Value{}, false
}

// kept returns the store of kept leases, which may be empty. It returns nil if k is nil: then walks keep no leases.
func (k *Rounds) kept() *leases.Kept {
	if k == nil {
		return nil
	}
	return &k.leases
}

// End closes the leases that were kept for further rounds, and ends the processes that opened them. It is called after
// the last round, also if a round failed or was not approved. send receives the numbers of opened and closed leases.
func (k *Rounds) End(pool *provider.Pool, send func(event.Event), bag *diag.Bag) {
	if k == nil {
		return
	}
	if k.leases.Any() {
		k.ledger.Continue()
		k.leases.Clear()
		leases.Close(k.ledger, bag, send)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, x := range k.sessions {
		if x.end == nil { // the ledger ends the other processes
			pool.Release(x.process)
		}
	}
	k.sessions = nil
}

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

// Rounds has the leases (open ephemeral resources) that stay open between the rounds of a command, and the provider
// processes that opened them. A round is one plan and its apply (ADR 52). The zero value is empty. A nil Rounds keeps
// no lease open.
type Rounds struct {
	leases leases.Kept

	mu       sync.Mutex
	ledger   *lease.Ledger // shared by the applies of all rounds; nil before the first apply
	sessions []keptSession
}

// keptSession is a configured process with open leases.
type keptSession struct {
	instance addr.ProviderInstance
	settings mark.Value
	process  provider.Provider
	end      func() // ends the process; nil: the pool of providers ends it
}

// ledgerOf returns the ledger (the list of leases) of a walk. applying is true if the walk is the apply of a
// round. All such walks share a ledger while a lease is kept. Other walks get a new ledger.
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

// others returns the open leases in the shared ledger of k. It returns nil if k has no shared ledger, or if its ledger
// is the argument.
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

// keep keeps the process of the session s, and returns true, if the process has opened a kept lease. Otherwise it
// returns false, and the caller may end the process.
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

// claim returns the kept process of a provider instance with the given settings, or false if there is no such process.
// The process stays kept.
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

// kept returns the leases (opened ephemeral resources) that stay open between rounds, or nil if k is nil.
func (k *Rounds) kept() *leases.Kept {
	if k == nil {
		return nil
	}
	return &k.leases
}

// End closes the leases that were kept for further rounds, and ends the processes that opened them. The caller calls it
// after the last round, also if a round failed or the user did not approve it. send receives the event with the numbers
// of opened and closed leases.
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
		if x.end == nil { // the ledger of leases ends processes with an end function
			pool.Release(x.process)
		}
	}
	k.sessions = nil
}

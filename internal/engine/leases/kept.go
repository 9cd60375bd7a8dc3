package leases

import (
	"maps"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
)

// Kept has the leases that stay open between the rounds of a command (ADR 52). The walks that apply rounds share a
// ledger, which renews the leases. The zero value is empty. The methods may be called concurrently.
type Kept struct {
	mu   sync.Mutex
	open map[addr.Instance]*keptLease // keys are hidden, see leaseKey
}

// keptLease is a lease with its value on the after face: with the planned values of its configuration.
type keptLease struct {
	of    program.Decl
	lease *lease.Lease
	value mark.Value
}

func (k *Kept) get(inst addr.Instance) *keptLease {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	inst.Key = inst.Key.Hide()
	return k.open[inst]
}

func (k *Kept) add(inst addr.Instance, x *keptLease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open == nil {
		k.open = map[addr.Instance]*keptLease{}
	}
	k.open[inst] = x
}

// remove removes an instance from the kept leases, if held is its kept lease. The caller then closes held.
func (k *Kept) remove(inst addr.Instance, held *lease.Lease) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if x := k.open[inst]; x != nil && x.lease == held {
		delete(k.open, inst)
	}
}

// retain removes the leases for which needed returns false, and does not close them.
func (k *Kept) retain(needed func(program.Decl, addr.Key) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.open, func(inst addr.Instance, x *keptLease) bool { return !needed(x.of, inst.Key) })
}

// Has reports whether the lease x is kept.
func (k *Kept) Has(x *lease.Lease) bool {
	return k.any(func(kept *keptLease) bool { return kept.lease == x })
}

// Through reports whether the process p has opened a kept lease. Such a process must keep running, because only it can
// close the lease.
func (k *Kept) Through(p provider.Provider) bool {
	return k.any(func(kept *keptLease) bool { return kept.lease.Provider() == p })
}

// Any reports whether a lease is kept.
func (k *Kept) Any() bool { return k.any(func(*keptLease) bool { return true }) }

// Clear empties the list of kept leases. It does not close them.
func (k *Kept) Clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open = nil
}

func (k *Kept) any(is func(*keptLease) bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, x := range k.open {
		if is(x) {
			return true
		}
	}
	return false
}

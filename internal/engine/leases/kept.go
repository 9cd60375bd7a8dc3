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

// Kept has the leases (open ephemeral resources) that stay open between the rounds of a command. A round is one plan
// and its apply (ADR 52). All applies of a command share a ledger (a lease.Ledger, the list of leases), which
// renews these leases. The zero value is empty. The methods may be called concurrently.
type Kept struct {
	mu   sync.Mutex
	open map[addr.Instance]*keptLease // the texts of instance keys are hidden (addr.Key.Hide)
}

// keptLease is a lease with its value. The lease was opened with the planned values of its configuration (the after
// face), not with the prior values.
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

// remove removes the instance inst from the kept leases, if held is its kept lease. The caller then closes held. A nil
// Kept has no leases.
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

// retain removes the leases for which needed returns false from the kept leases. It does not close them.
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

// Any reports whether at least one lease is kept.
func (k *Kept) Any() bool { return k.any(func(*keptLease) bool { return true }) }

// Clear removes all leases from the kept leases. It does not close them.
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

package leases

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/walk"
)

// CloseInstance closes one instance of an ephemeral resource, if it is open, and empties its slot.
func (l *Leases) CloseInstance(e *program.Declaration, inst addr.Instance, face frame.Face) {
	l.close(e, keyOf(inst, l.o.Receivers.Face(e.ID, face)))
}

// Close closes the instances of an ephemeral resource in one module instance, or in all, and
// empties their slots.
func (l *Leases) Close(e *program.Declaration, in *addr.ModuleInstance, face frame.Face) {
	face = l.o.Receivers.Face(e.ID, face)
	l.mu.Lock()
	var mine []leaseKey
	for _, k := range l.of[e.ID] {
		if k.face == face && (in == nil || k.instance.Module == *in) {
			mine = append(mine, k)
		}
	}
	l.mu.Unlock()
	walk.Each(len(mine), func(i int) { l.close(e, mine[i]) })
}

func (l *Leases) close(e *program.Declaration, k leaseKey) {
	l.mu.Lock()
	o := l.openings[k]
	l.mu.Unlock()
	if o == nil {
		return // nothing asked for it
	}
	o.Lock()
	defer o.Unlock()
	held := o.lease.Swap(nil)
	if held == nil {
		return
	}
	l.o.Ledger.Close(held)
	if f := l.frame.At(k.instance.Module, k.face); f != nil {
		f.Drop(e.ID, k.instance.Key, k.face)
	}
}

// End closes what is still open at the end of the walk, and reports what could not be closed.
func (l *Leases) End() {
	for _, left := range l.o.Ledger.CloseAll() {
		l.o.All.Add(diag.Errorf("Ephemeral resource left open", "%s could not be closed by %s: %s.", left.Object, left.Provider.ForDisplay(), left.Reason))
	}
	if s := l.o.Ledger.Summary(); s.Opened > 0 {
		l.o.Tell(s)
	}
}

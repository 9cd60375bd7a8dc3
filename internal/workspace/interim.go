package workspace

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// retryInterim is the pause after a write that failed.
const retryInterim = 5 * time.Second

// interims writes interim states: the state that the run began with, with all changes that the journal has so far. A run
// on a machine that is lost with its disk so loses the changes of the last seconds only.
//
// It has a snapshot of its own, which one goroutine makes from the changes that the walk hands to the journal. The walk
// never waits for it. ADR 43 has the reasons.
type interims struct {
	*journal.Writer
	Interim
	env  *Env
	name string
	st   store.Store

	mu      sync.Mutex
	changed []journal.Change // since the last snapshot

	work chan struct{} // has an element when something has changed
	end  chan struct{} // closed when no more is to be written
	over chan struct{} // closed when the goroutine has ended

	// The goroutine's own, and the caller's after stop.
	latest  *state.Snapshot // with all changes
	written *state.Snapshot // as the store has it
	version store.Version   // of written
	wrote   bool            // at least one interim state
	gaveUp  bool            // another run has changed the state
	warned  bool
	failing bool     // the last write failed
	doubt   *attempt // the last write failed: the store may have the state all the same
}

// attempt is a state whose writing failed.
type attempt struct {
	snapshot *state.Snapshot
	digest   state.Digest
	before   uint32
}

// Later implements journal.Journal.
func (i *interims) Later(over func(error), op journal.Op, changed ...journal.Change) {
	i.mu.Lock()
	i.Writer.Later(over, op, changed...)
	i.changed = append(i.changed, changed...)
	i.mu.Unlock()
	select {
	case i.work <- struct{}{}:
	default:
	}
}

// run writes until it is stopped.
func (i *interims) run() {
	defer close(i.over)
	timer := time.NewTimer(i.Every)
	defer timer.Stop()
	at, due, ending := i.At, false, false
	for {
		select {
		case <-i.end:
			return
		case <-at:
			at, ending = nil, true
		case <-timer.C:
			due = true
		case <-i.work:
		}
		if !due && !ending || !i.write() {
			continue // with the next change
		}
		due = false
		if i.failing {
			timer.Reset(retryInterim)
		} else {
			timer.Reset(i.Every)
		}
	}
}

// write writes the state, and reports whether there was anything to write.
func (i *interims) write() bool {
	i.mu.Lock()
	changed, before := i.changed, i.Next()
	i.changed = nil
	i.mu.Unlock()
	e := i.latest.Edit()
	for _, c := range changed {
		e.Put(c.Object, c.Entry)
	}
	i.latest = e.Done()
	i.resolve()
	next, differs := state.Next(i.written, i.latest, i.env.Version)
	if !differs || i.gaveUp || i.written.Len() == 0 && next.Len() == 0 {
		return false
	}
	data, err := next.Bytes()
	if err != nil {
		return false // reported at the end
	}
	a := attempt{next, state.DigestOf(data), before}
	_ = i.Writer.Interim(a.digest, before) // a journal that takes no more, which is reported, is no reason not to write
	begun := i.env.Now()
	version, err := i.st.Put(context.Background(), i.name, data, i.version)
	i.env.log(begun, err, "write of an interim state of workspace %q, serial %d, %d bytes", i.name, next.Serial, len(data))
	if err != nil {
		i.failed(err, a)
		return true
	}
	i.confirmed(a, version)
	return true
}

// confirmed notes that the store has a state.
func (i *interims) confirmed(a attempt, v store.Version) {
	i.failing = false
	i.written, i.version, i.wrote = a.snapshot, v, true
	i.InterimWritten(a.digest, a.before, a.snapshot.Get)
}

// failed reports that an interim state could not be written. The run goes on: the state is written at the end.
func (i *interims) failed(err error, a attempt) {
	i.failing = true
	var stale *store.StaleError
	if i.gaveUp = errors.As(err, &stale); !i.gaveUp {
		i.doubt = &a
	}
	if !i.warned {
		i.warned = true
		i.env.Bag.Add(diag.Warningf("Interim state not written", "While the run was in progress, the state with what had been done so far could not be written: %s. Until the state is written at the end, what was done is only in the journal on this machine.", store.Sentence(err)))
	}
}

// resolve finds out whether a state whose writing failed is there all the same: its request may have been carried out.
func (i *interims) resolve() {
	a := i.doubt
	if a == nil {
		return
	}
	data, v, err := i.st.Get(context.Background(), i.name)
	if err != nil {
		return
	}
	i.doubt = nil
	if v != "" && state.DigestOf(data) == a.digest {
		i.confirmed(*a, v)
	}
}

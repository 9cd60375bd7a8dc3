package workspace

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
)

// retryInterim is the pause after a failed write of an interim state.
const retryInterim = 5 * time.Second

// interims writes interim states during an apply: the state at the beginning of the run with all changes that the
// journal has so far. If the machine is lost with its disk, only the changes of the last seconds are lost.
//
// One goroutine applies the changes that the apply sends to the journal to a separate snapshot. The apply never waits
// for this goroutine. ADR 43 has the reasons.
type interims struct {
	*journal.Writer
	Interim
	env  *Env
	name string
	st   store.Store

	mu      sync.Mutex
	changed []journal.Change // the changes since the last snapshot

	work  chan struct{} // has an element if an object has changed
	end   chan struct{} // closed to stop the goroutine
	ended chan struct{} // closed when the goroutine has ended

	// Only the goroutine uses the following fields, and after stopInterims the caller of stopInterims.
	latest  *state.Snapshot // the state with all changes that the goroutine has seen
	written *state.Snapshot // the state that the store has
	version store.Version   // the version of the state in the field written
	digest  state.Digest    // the digest of the text of the state in the field written
	wrote   bool            // the store has an interim state of this run
	gaveUp  bool            // another run has changed the state, so no more interim states are written
	warned  bool
	failing bool     // the last write of an interim state failed
	doubt   *attempt // the last write if it failed; the store may have that state nevertheless
}

// attempt is an interim state whose write the store has not confirmed.
type attempt struct {
	snapshot *state.Snapshot
	digest   state.Digest
	before   uint32 // the number of the first journal record whose change is not in the snapshot
}

// Later records the changes of a call, and calls done when the record is durable or has failed.
func (i *interims) Later(done func(error), op journal.Op, changed ...journal.Change) {
	i.mu.Lock()
	i.Writer.Later(done, op, changed...)
	i.changed = append(i.changed, changed...)
	i.mu.Unlock()
	select {
	case i.work <- struct{}{}:
	default:
	}
}

// run is the goroutine: it writes interim states until it is stopped.
func (i *interims) run() {
	defer close(i.ended)
	timer := time.NewTimer(i.Every)
	defer timer.Stop()
	at, due, last := i.At, false, false
	for {
		select {
		case <-i.end:
			return
		case <-at:
			at, last = nil, true
		case <-timer.C:
			due = true
		case <-i.work:
		}
		if !due && !last || !i.write() {
			continue // the next change makes another attempt
		}
		due = false
		if i.failing {
			timer.Reset(retryInterim)
		} else {
			timer.Reset(i.Every)
		}
	}
}

// write writes an interim state. It returns false if nothing has changed, if the state cannot be encoded, or if another
// run has changed the state in the store. After a failed write, it returns true.
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
		return false // the error is reported when the run writes the state at its end
	}
	a := attempt{next, state.DigestOf(data), before}
	_ = i.Writer.Interim(a.digest, before) // write the state even if the journal has failed, because the error is reported elsewhere
	started := i.env.Now()
	version, err := i.st.Put(context.Background(), i.name, data, i.version)
	i.env.log(started, err, "write of an interim state of workspace %q, serial %d, %d bytes", i.name, next.Serial, len(data))
	if err != nil {
		i.failed(err, a)
		return true
	}
	i.confirmed(a, version)
	return true
}

// confirmed records that the store has an interim state.
func (i *interims) confirmed(a attempt, v store.Version) {
	i.failing = false
	i.written, i.version, i.digest, i.wrote = a.snapshot, v, a.digest, true
	i.InterimWritten(a.digest, a.before, a.snapshot.Get)
}

// failed warns that an interim state could not be written. The run continues, and writes the state at its end.
func (i *interims) failed(err error, a attempt) {
	i.failing = true
	var stale *store.StaleError
	if i.gaveUp = errors.As(err, &stale); !i.gaveUp {
		i.doubt = &a
	}
	if !i.warned {
		i.warned = true
		i.env.Bag.Add(diag.Warningf("Interim state not written", "The state could not be written during the run: %s. Until it is written at the end, the completed changes are only in the journal on this machine.", store.Sentence(err)))
	}
}

// resolve finds out whether the store has the state of a failed write, which may have been executed without an answer.
// If the store cannot be read, the next call of resolve tries again.
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

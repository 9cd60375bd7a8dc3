package workspace

import (
	"context"
	"errors"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// recover takes in what a run that was killed had done, and names the calls whose outcome is not
// known. Only commands that change things write it down.
func (s *State) recover(ctx context.Context) bool {
	fsys, path, bag := s.env.FS, s.record.path, s.env.Bag
	s.await(ctx)
	rest := already(ctx, s.req.Store, s.req.Name)
	r, err := journal.RecoverRest(fsys, path, s.snapshot, s.record.seal, rest)
	if err == nil && r != nil && len(r.Objects) > 0 && s.shared != nil && !s.req.Looks {
		done, ok := s.claimRecovered(ctx, r)
		defer done()
		if !ok {
			return false
		}
		r, err = journal.RecoverRest(fsys, path, s.snapshot, s.record.seal, rest)
	}
	var mismatch *journal.MismatchError
	switch {
	case errors.As(err, &mismatch):
		aside, err := journal.Aside(fsys, path)
		if err != nil {
			aside = path
		}
		s.taken = append(s.taken, mismatch.Header)
		bag.Add(diag.Warningf("Journal of another state", "Beside the state is the journal of an earlier run, which does not belong to it: %s. It was not used, and is kept as %s.", mismatch.Reason, aside))
		reportLeases(mismatch.Leases, bag)
		s.record.notes.Leases = mismatch.Leases
		return true
	case err != nil:
		bag.Add(Problem(err, diag.Errorf("Failed to read the journal", "%s.", err)))
		return false
	case r == nil:
		if s.release != nil && !s.req.Looks {
			_ = journal.Remove(fsys, path) // of a run that was lost before it did anything
		}
		return true
	}
	if s.busy(ctx) {
		if s.release != nil && r.Header.Keeper != 0 {
			bag.Add(diag.Errorf("Another run is in progress", "The run %s was killed or crashed. The process %d, which keeps its providers running, still waits for their answers, to record what they changed. Wait until that process has ended. If a provider never answers, end the process: it then closes the ephemeral resources that are open, and reports the calls that got no answer.", r.Header.Run, r.Header.Keeper))
			return false
		}
		if !s.req.Looks {
			bag.Add(diag.Errorf("Another run is in progress", "The run %s is changing this state right now, and records its progress in a journal beside it. Two runs cannot change one state at the same time, not even with -lock=false. Wait until it has ended.", r.Header.Run))
			return false
		}
		bag.Add(diag.Warningf("Another run is in progress", "The run %s is changing this state right now, and -lock=false says not to wait for it. What that run has done so far is included here; what it does from now on is not.", r.Header.Run))
		s.snapshot = r.Snapshot
		return true
	}
	s.report(r)
	if s.req.Looks {
		s.snapshot, _ = s.withJournal(r)
		s.record.left = r
		s.taken = append(s.taken, r.Header)
		return true
	}
	return s.takeIn(ctx, r)
}

// leastWait is how long a command waits at least for what a lost run had under way.
const leastWait = 30 * time.Second

// await waits while a process has the journal in use: the keeper of a lost run, which records what that had under way
// and closes what it had opened.
func (s *State) await(ctx context.Context) {
	end := time.Now().Add(max(leastWait, s.req.Timeout))
	for n := 0; s.release != nil && ctx.Err() == nil && time.Now().Before(end) && journal.Held(s.env.FS, s.record.path); n++ {
		if n == 50 && s.req.Waiting != nil {
			s.req.Waiting()
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// busy reports whether another run goes on: it, or the keeper of one that was lost, has the journal in use or, where the
// lock is not ours, holds that. That its journal has no end then means nothing.
func (s *State) busy(ctx context.Context) bool {
	if held := journal.Held(s.env.FS, s.record.path); held || s.release != nil {
		return held
	}
	release, err := s.req.Store.Lock(ctx, s.req.Name, store.NewLockInfo("OperationTypePlan", s.env.Version))
	if err == nil {
		err = release(ctx)
	}
	var held *store.LockError
	return errors.As(err, &held)
}

// withJournal is the state with what a journal has, and whether that is to be written. A command that only looks goes on
// from it as it will be written: a plan that is saved then fits the state that an apply of it makes first.
func (s *State) withJournal(r *journal.Recovery) (next *state.Snapshot, changed bool) {
	if r.Written {
		return s.snapshot, false
	}
	return state.Next(s.snapshot, r.Snapshot, s.env.Version)
}

// takeIn writes the recovered state, drops the journal, and reads the state again: the next journal
// says by its digest which state it is about.
func (s *State) takeIn(ctx context.Context, r *journal.Recovery) bool {
	fsys, path := s.env.FS, s.record.path
	next, changed := s.withJournal(r)
	begun := s.env.Now()
	var err error
	if changed {
		var data []byte
		if data, err = next.Bytes(); err == nil {
			err = r.Conclude(fsys, path, state.DigestOf(data))
		}
		if err == nil && !s.Put(next) {
			return false
		}
	}
	s.env.log(begun, err, "recovery from the journal of run %s", r.Header.Run)
	s.record.notes = r.Notes
	s.taken = append(s.taken, r.Header)
	switch {
	case err != nil:
	case len(r.Refused) > 0:
		_, err = journal.Aside(fsys, path)
	case r.Notes.Unsettled(r.Snapshot, s.record.refreshes).Empty():
		err = journal.Remove(fsys, path)
	default:
		s.record.stands = true
	}
	if err != nil {
		s.env.Bag.Add(diag.Errorf("Failed to recover from the journal", "%s.", err))
		return false
	}
	if !changed {
		return true
	}
	s.restored = append(s.restored, r.Objects...)
	var ok bool
	s.snapshot, s.version, ok = s.read(ctx)
	return ok
}

// report says what a journal has.
func (s *State) report(r *journal.Recovery) {
	bag := s.env.Bag
	if r.Changes > 0 && !r.Written {
		bag.Add(diag.Warningf("Recovered an interrupted run", "The run %s ended before it wrote the state. From its journal, %s recovered.", r.Header.Run, diag.Counted(r.Changes, "change was", "changes were")))
	}
	if len(r.Refused) > 0 && !r.Written {
		text := ""
		for _, o := range r.Refused {
			text += "  " + o.String() + "\n"
		}
		bag.Add(diag.Warningf("Changes not recovered", "The run %s changed these objects and ended before it wrote the state, and others have changed them in the state since:\n%s\nThe state stays as it is. Compare it with what really exists; the journal of the run is kept beside it.", r.Header.Run, text))
	}
	if r.Missing > 0 {
		bag.Add(diag.Warningf("Journal damaged", "In the journal of run %s, %s unreadable. Compare the state with what really exists.", r.Header.Run, diag.Counted(r.Missing, "record is", "records are")))
	}
	text := ""
	for _, u := range r.Unknown {
		if u.Object.Instance != s.req.Settles {
			text += "  " + u.String() + "\n"
		}
	}
	if text != "" {
		bag.Add(diag.Warningf("Outcome unknown", "An earlier run ended before its providers answered these calls, so that nobody knows whether they were carried out:\n%s\nCheck whether the objects exist, and record what you found with: lethe state resolve", text))
	}
	reportLeases(r.Leases, bag)
}

// reportLeases names leases that a run opened and did not live to close.
func reportLeases(leases []journal.Lease, bag *diag.Bag) {
	text := ""
	for _, l := range leases {
		if !l.Named {
			text += "  " + l.String() + "\n"
		}
	}
	if text == "" {
		return
	}
	bag.Add(diag.Warningf("Leases left open", "As far as is known, an earlier run ended without closing these ephemeral resources:\n%s\nLethe cannot close them any more: they stay valid until they expire, or until you revoke them where they were issued. To list them, and to take them off the list, run: lethe leases", text))
}

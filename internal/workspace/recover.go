package workspace

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/parts"
	"github.com/lethe-iac/lethe/internal/store"
)

// recovery replays the journals of runs that ended before they wrote the state. local replays the journal in the
// working directory, and stored (orphans.go) the copies of journals in the store. Only one goroutine may use a
// recovery.
type recovery struct {
	env    *Env
	req    *Request
	doc    *document
	lock   *lock
	record *recorder
	put    func(*state.Snapshot) bool                // writes the state, and reports errors
	take   func(context.Context, *Env, Request) bool // locks and unlocks the state of another directory, which recovers that state

	replayed runs          // the runs whose journals were replayed from files
	restored []addr.Object // the objects that interrupted runs had changed; set after the changes were written to the state
}

// local replays the journal in the working directory, and reports the calls with an unknown outcome. For a read-only
// operation, it does not write the result. After an error, local reports the error and returns false.
func (rc *recovery) local(ctx context.Context) bool {
	fsys, path, bag := rc.env.FS, rc.record.path, rc.env.Bag
	rc.await(ctx)
	rest := already(ctx, rc.req.Store, rc.req.Name)
	r, err := journal.RecoverRest(fsys, path, rc.doc.snapshot, rc.record.seal, rest)
	if err == nil && r != nil && len(r.Objects) > 0 && rc.lock.shared() && !rc.req.Operation.Policy().ReadOnly {
		done, ok := rc.claim(ctx, r)
		defer done()
		if !ok {
			return false
		}
		r, err = journal.RecoverRest(fsys, path, rc.doc.snapshot, rc.record.seal, rest)
	}
	var mismatch *journal.MismatchError
	switch {
	case errors.As(err, &mismatch) && rc.busy(ctx):
		ok := rc.inProgress(mismatch.Header)
		if ok {
			bag.Add(diag.Warningf("Another run is in progress", "The run %s is in progress, and its journal does not belong to the state: %s. This command does not include the changes of that run.", mismatch.Header.Run, mismatch.Reason))
		}
		return ok
	case errors.As(err, &mismatch):
		rc.foreign(mismatch)
		return true
	case err != nil:
		bag.Add(Problem(err, diag.Errorf("Failed to read the journal", "%s.", err)))
		return false
	case r == nil:
		if rc.lock.held() && !rc.req.Operation.Policy().ReadOnly {
			_ = journal.Remove(fsys, path) // the journal has no calls, because the run ended before its first call
		} else {
			rc.record.obstacle = emptyJournal
		}
		return true
	}
	if rc.busy(ctx) {
		ok := rc.inProgress(r.Header)
		if ok {
			bag.Add(diag.Warningf("Another run is in progress", "The run %s is changing this state, and -lock=false turns off waiting for it. This command includes the changes of that run up to now, but not later ones.", r.Header.Run))
			rc.doc.snapshot = r.Snapshot
		}
		return ok
	}
	rc.report(r)
	if rc.req.Operation.Policy().ReadOnly {
		rc.doc.snapshot, _ = rc.withJournal(r)
		rc.record.earlier = r
		rc.record.unresolved = rc.record.unresolved.Join(r.Notes)
		rc.replayed = append(rc.replayed, r.Header)
		return true
	}
	return rc.replay(ctx, r)
}

// foreign reports a journal that does not belong to the state, and renames it, so that this command can have a journal.
// A read-only command does not rename the journal here, but only when it needs a journal itself (see makeRoom): the
// user may have put another state in the place of the state for a moment, or named another file with -state.
func (rc *recovery) foreign(mismatch *journal.MismatchError) {
	kept := rc.record.path
	if rc.req.Operation.Policy().ReadOnly {
		rc.record.obstacle, rc.record.unresolved.Leases = foreignJournal, mismatch.Leases
	} else {
		if aside, err := journal.Aside(rc.env.FS, kept); err == nil {
			kept = aside
		}
		rc.record.notes.Leases = mismatch.Leases
	}
	rc.replayed = append(rc.replayed, mismatch.Header)
	rc.env.Bag.Add(diag.Warningf("Journal of another state", "The journal of an earlier run does not belong to the state: %s. It was not used. It is kept as %s.", mismatch.Reason, kept))
	reportLeases(mismatch.Leases, rc.env.Bag)
}

// leastWait is the minimum time that a command waits until the keeper (the second process) of an interrupted run has
// finished.
const leastWait = 30 * time.Second

// await waits while the keeper (second process) of an interrupted run uses the journal: it still records the outcomes
// of calls in progress, and closes leases.
func (rc *recovery) await(ctx context.Context) {
	end := time.Now().Add(max(leastWait, rc.req.Timeout))
	for n := 0; rc.lock.held() && ctx.Err() == nil && time.Now().Before(end) && journal.Held(rc.env.FS, rc.record.path); n++ {
		if n == 50 && rc.req.Waiting != nil {
			rc.req.Waiting()
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// busy reports whether another run is in progress: a process uses the journal, or another command holds the lock. Then
// a journal without an end does not mean that its run has crashed.
func (rc *recovery) busy(ctx context.Context) bool {
	if held := journal.Held(rc.env.FS, rc.record.path); held || rc.lock.held() {
		return held
	}
	release, err := rc.req.Store.Lock(ctx, rc.req.Name, store.NewLockInfo(operation.Plan.Policy().Lock, rc.env.Version))
	if err == nil {
		err = release(ctx)
	}
	var held *store.LockError
	return errors.As(err, &held)
}

// inProgress reports whether the command may continue although the run of the journal with the header h is in progress.
// It may if it only reads, except if it holds the lock and the run has a keeper. Otherwise inProgress adds an error.
func (rc *recovery) inProgress(h journal.Header) bool {
	switch {
	case rc.lock.held() && h.Keeper != 0:
		rc.env.Bag.Add(diag.Errorf("Another run is in progress", "The run %s was killed or crashed. The process %d still waits for answers of its providers, to record their changes. Wait until that process has ended. If a provider never answers, end the process: it then closes open ephemeral resources and reports calls without an answer.", h.Run, h.Keeper))
	case !rc.req.Operation.Policy().ReadOnly:
		rc.env.Bag.Add(diag.Errorf("Another run is in progress", "The run %s is changing this state. Two runs cannot change one state at the same time, not even with -lock=false. Wait until the run has ended.", h.Run))
	default:
		return true
	}
	return false
}

// withJournal returns the state with the changes of a journal. changed is true if this state must be written. The
// invocation of an action of a provider counts as a change, so that the plan of the run cannot be applied again. If the
// stored state has the changes already, it is returned unchanged. For a read-only command, the returned state has the
// serial with which the next apply will write it, so that a saved plan fits.
func (rc *recovery) withJournal(r *journal.Recovery) (next *state.Snapshot, changed bool) {
	if r.Written {
		return rc.doc.snapshot, false
	}
	next, changed = state.Next(rc.doc.snapshot, r.Snapshot, rc.env.Version)
	if !changed && r.Invoked {
		return state.Rewritten(rc.doc.snapshot, rc.env.Version), true
	}
	return next, changed
}

// replay writes the recovered state, and reads the state again, because a new journal identifies the state by the
// digest of its text. Then it deletes the journal. There are two exceptions: if some changes could not be applied, the
// file is renamed, and if the journal has unsettled notes, it stays. If a step fails, replay reports an error and
// returns false.
func (rc *recovery) replay(ctx context.Context, r *journal.Recovery) bool {
	fsys, path := rc.env.FS, rc.record.path
	next, changed := rc.withJournal(r)
	started := rc.env.Now()
	var err error
	if changed {
		var data []byte
		if data, err = next.Bytes(); err == nil {
			err = r.Conclude(fsys, path, state.DigestOf(data))
		}
		if err == nil && !rc.put(next) {
			return false
		}
	}
	rc.env.log(started, err, "recovery from the journal of run %s", r.Header.Run)
	rc.record.notes = r.Notes
	rc.replayed = append(rc.replayed, r.Header)
	switch {
	case err != nil:
	case len(r.Refused) > 0:
		_, err = journal.Aside(fsys, path)
	case r.Notes.Unsettled(r.Snapshot, rc.record.refresh).Empty():
		err = journal.Remove(fsys, path)
	default:
		rc.record.onDisk = true
	}
	if err != nil {
		rc.env.Bag.Add(diag.Errorf("Failed to recover from the journal", "%s.", err))
		return false
	}
	if !changed {
		return true
	}
	rc.restored = append(rc.restored, r.Objects...)
	return rc.doc.load(ctx)
}

// report tells the user which changes were recovered from a journal, and which calls and leases remain.
func (rc *recovery) report(r *journal.Recovery) {
	bag := rc.env.Bag
	if r.Changes > 0 && !r.Written {
		bag.Add(diag.Warningf("Recovered an interrupted run", "The run %s ended before it wrote the state. %s recovered from its journal.", r.Header.Run, diag.Counted(r.Changes, "change was", "changes were")))
	}
	if len(r.Refused) > 0 && !r.Written {
		text := ""
		for _, o := range r.Refused {
			text += "  " + o.String() + "\n"
		}
		bag.Add(diag.Warningf("Changes not recovered", "The run %s changed these objects and ended before it wrote the state. Other runs have changed them in the state since:\n%s\nThe state is unchanged. Compare it with the real objects. The journal of the run is kept beside the state.", r.Header.Run, text))
	}
	if r.Missing > 0 {
		bag.Add(diag.Warningf("Journal damaged", "In the journal of run %s, %s unreadable. Compare the state with the real objects.", r.Header.Run, diag.Counted(r.Missing, "record is", "records are")))
	}
	text, actions := "", ""
	for _, u := range r.Unknown {
		switch {
		case u.Object.Mode == addr.Action:
			actions += fmt.Sprintf("  %s (run %s, %s)\n", u.Object, u.Run, u.Time.UTC().Format(time.RFC3339))
		case u.Object.Instance != rc.req.Resolves:
			text += "  " + u.String() + "\n"
		}
	}
	if actions != "" {
		bag.Add(diag.Warningf("Action may not have ended", "An earlier run invoked these actions and ended before their providers reported the end:\n%s\nLethe does not invoke them again on its own. Check their effects.", actions))
	}
	if text != "" {
		bag.Add(diag.Warningf("Outcome unknown", "An earlier run ended before its providers answered these calls, so their outcome is unknown:\n%s\nCheck whether the objects exist, and record the result with: lethe state resolve", text))
	}
	reportLeases(r.Leases, bag)
}

// reportLeases warns of the leases that an interrupted run opened and did not close. It omits leases of which a command
// has warned before.
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
	bag.Add(diag.Warningf("Leases left open", "An earlier run probably ended without closing these ephemeral resources:\n%s\nLethe cannot close them any more. They stay valid until they expire, or until you revoke them in the system that issued them. To list them, run: lethe leases list. To remove them from the list, run: lethe leases close", text))
}

// recovered returns the parts of the state that an interrupted run changed.
func recovered(r *journal.Recovery) store.Parts {
	p := store.Parts{}
	for _, o := range r.Objects {
		parts.Change(p, o.Instance)
	}
	return p
}

// claim claims the parts of the state that an interrupted run changed, and reads the state again. Until done is called,
// no other command writes the state. After an error, claim reports the error and returns false.
func (rc *recovery) claim(ctx context.Context, r *journal.Recovery) (done func(), ok bool) {
	return rc.claimParts(ctx, recovered(r))
}

// claimParts claims the parts p and reads the state again. Until done is called, no other command writes the state.
// After an error, it reports the error and returns false; done is never nil.
func (rc *recovery) claimParts(ctx context.Context, p store.Parts) (done func(), ok bool) {
	if err := rc.lock.claim(ctx, p, rc.req.Timeout); err != nil {
		rc.env.Bag.Add(rc.lock.problem(err))
		return func() {}, false
	}
	return rc.turn(ctx)
}

// turn waits until the command may write the state, and reads the state again. Until done is called, no other command
// writes the state. After an error, turn reports it and returns false; done is never nil.
func (rc *recovery) turn(ctx context.Context) (done func(), ok bool) {
	done, err := rc.lock.turn()
	if err != nil {
		rc.env.Bag.Add(rc.lock.problem(err))
		return done, false
	}
	rc.doc.snapshot, rc.doc.version, ok = rc.doc.present(ctx)
	return done, ok
}

// orphans returns the journals in the store whose runs have ended. It returns none if the command does not hold the
// lock.
func (rc *recovery) orphans(ctx context.Context) ([]store.OrphanedJournal, error) {
	if !rc.lock.held() {
		return nil, nil
	}
	return store.OrphanedJournals(ctx, rc.req.Store, rc.req.Name)
}

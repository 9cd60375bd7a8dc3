package workspace

import (
	"context"
	"errors"
	"slices"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/parts"
	"github.com/lethe-iac/lethe/internal/store"
)

// A store that keeps journals (store.Journaler) has a copy of the beginning of the journal file, up to some record. If
// the machine of a run is lost with its disk, the next command that takes the lock, on any machine, recovers the
// changes from the copy. A journal file in the working directory is replayed first, because the keeper of the run (a
// second process) may have added records after the run ended.

// stored replays the journals in the store. After an error, it reports the error and returns false.
func (rc *recovery) stored(ctx context.Context) bool {
	all, err := rc.orphans(ctx)
	if err != nil {
		rc.env.Bag.Add(diag.Errorf("Failed to read the journal", "%s.", err))
		return false
	}
	for _, j := range all {
		if !rc.storedOne(ctx, j) {
			return false
		}
	}
	return true
}

// storedOne replays one journal of the store. If another command has claimed the parts of the state that the journal
// changes, storedOne does nothing, because that command replays the journal. If the journal cannot be replayed,
// storedOne reports an error and returns false.
func (rc *recovery) storedOne(ctx context.Context, j store.OrphanedJournal) bool {
	r, err := journal.Replay(j.Data, rc.doc.snapshot, rc.record.seal)
	var mismatch *journal.MismatchError
	switch {
	case errors.Is(err, journal.ErrNothing), err == nil && rc.replayed.same(r.Header):
		return rc.drop(ctx, j)
	case errors.As(err, &mismatch) && rc.replayed.same(mismatch.Header):
		return rc.drop(ctx, j)
	case errors.As(err, &mismatch):
		return rc.putAside(ctx, j, mismatch)
	case err != nil: // for example, the journal cannot be decrypted
		rc.env.Bag.Add(Problem(err, diag.Errorf("Failed to read the journal", "%s.", err)))
		return false
	case rc.req.Operation.Policy().ReadOnly:
		rc.report(r)
		rc.doc.snapshot, _ = rc.withJournal(r)
		rc.record.unresolved = rc.record.unresolved.Join(r.Notes)
		return true
	}
	if len(r.Objects) > 0 && rc.lock.shared() {
		err := rc.lock.claim(ctx, recovered(r), 0)
		var part *store.PartError
		switch {
		case errors.As(err, &part):
			return true
		case err != nil:
			rc.env.Bag.Add(rc.lock.problem(err))
			return false
		}
		done, ok := rc.turn(ctx)
		defer done()
		if !ok {
			return false
		}
		left, err := rc.orphans(ctx)
		if err != nil {
			rc.env.Bag.Add(diag.Errorf("Failed to read the journal", "%s.", err))
			return false
		}
		if !slices.ContainsFunc(left, func(l store.OrphanedJournal) bool { return l.Run == j.Run }) {
			return true // another command has replayed the journal meanwhile
		}
		if r, err = journal.Replay(j.Data, rc.doc.snapshot, rc.record.seal); err != nil {
			_ = errors.As(err, &mismatch)
			return rc.putAside(ctx, j, mismatch)
		}
	}
	rc.report(r)
	if next, changed := rc.withJournal(r); changed && !rc.put(next) {
		return false
	}
	notes := &rc.record.notes
	*notes = notes.Join(r.Notes)
	if err := store.SetReplayedRecords(ctx, rc.req.Store, rc.req.Name, r.Header.Name(), r.Records()); err != nil {
		rc.env.Bag.Add(diag.Errorf("Failed to recover from the journal", "%s.", err))
		return false
	}
	if len(r.Refused) > 0 {
		return rc.putAside(ctx, j, nil)
	}
	if !rc.drop(ctx, j) {
		return false
	}
	rc.restored = append(rc.restored, r.Objects...)
	return rc.doc.load(ctx)
}

// drop removes a journal from the store, because its changes are in the state. For a command that only reads, it does
// nothing. If that fails, drop reports an error and returns false.
func (rc *recovery) drop(ctx context.Context, j store.OrphanedJournal) bool {
	if rc.req.Operation.Policy().ReadOnly {
		return true
	}
	if err := store.DropJournal(ctx, rc.req.Store, rc.req.Name, j.Run); err != nil {
		rc.env.Bag.Add(diag.Errorf("Failed to recover from the journal", "%s.", err))
		return false
	}
	return true
}

// putAside writes a journal of the store that cannot be replayed completely to a file. The parameter why is the
// mismatch to report, or nil if the reason was reported already. If the file cannot be written, putAside reports an
// error and returns false. For a command that only reads, putAside does nothing.
func (rc *recovery) putAside(ctx context.Context, j store.OrphanedJournal, why *journal.MismatchError) bool {
	if rc.req.Operation.Policy().ReadOnly {
		return true
	}
	path := rc.record.path
	err := rc.env.MakeData()
	if err == nil {
		err = disk.Replace(rc.env.FS, path, j.Data)
	}
	if err == nil {
		path, err = journal.Aside(rc.env.FS, path)
	}
	if err != nil {
		rc.env.Bag.Add(diag.Errorf("Failed to recover from the journal", "%s.", err))
		return false
	}
	if why != nil {
		rc.env.Bag.Add(diag.Warningf("Journal of another state", "The backend has a journal of an earlier run that does not belong to the state: %s. It was not used. It is kept as %s.", why, path))
		reportLeases(why.Leases, rc.env.Bag)
		rc.record.notes.Leases = append(rc.record.notes.Leases, why.Leases...)
	}
	return rc.drop(ctx, j)
}

// unwritten returns the objects in the parts p that other runs may have changed after this command read the state, if
// these runs ended without writing the state. Their changes are only in copies of their journals in the store.
func (rc *recovery) unwritten(ctx context.Context, p store.Parts) (conflicts []string, err error) {
	orphaned, err := rc.orphans(ctx)
	for _, j := range orphaned {
		r, err := journal.Replay(j.Data, rc.doc.snapshot, rc.record.seal)
		if err != nil || r.Written || rc.replayed.same(r.Header) {
			continue // the next command that takes the lock reports the error
		}
		changed := slices.Clone(r.Objects)
		for _, u := range r.Unknown {
			changed = append(changed, u.Object)
		}
		for _, o := range changed {
			own := store.Parts{}
			if parts.Change(own, o.Instance); intersects(own, p) && !slices.Contains(conflicts, o.String()) {
				conflicts = append(conflicts, o.String())
			}
		}
	}
	return conflicts, err
}

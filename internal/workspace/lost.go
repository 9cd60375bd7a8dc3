package workspace

import (
	"context"
	"errors"
	"slices"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// A store that keeps journals (store.Journaler) has a copy of what the file has, from before the records of each batch are
// over. So what a run did that is gone with its disk comes in with the next command that takes the lock, wherever that
// is. The file comes first: it may have what others recorded after the run was lost.

// copying is where the journal of this command is copied to; nil: nowhere.
func (s *State) copying() *copied {
	j, ok := store.As[store.Journaler](s.req.Store)
	if !ok || s.release == nil || s.req.Looks {
		return nil
	}
	return newCopied(j, s.req.Name)
}

// lost are the journals in the store of runs that are no more.
func (s *State) lost(ctx context.Context) ([]store.LostJournal, error) {
	if s.release == nil {
		return nil, nil
	}
	return store.LostJournals(ctx, s.req.Store, s.req.Name)
}

// recoverLost takes in what these have.
func (s *State) recoverLost(ctx context.Context) bool {
	all, err := s.lost(ctx)
	if err != nil {
		s.env.Bag.Add(diag.Errorf("Failed to read the journal", "%s.", err))
		return false
	}
	for _, j := range all {
		if !s.recoverOne(ctx, j) {
			return false
		}
	}
	return true
}

// recoverOne takes in one journal, unless another command is about to: it then has what that changed.
func (s *State) recoverOne(ctx context.Context, j store.LostJournal) bool {
	r, err := journal.Replay(j.Data, s.snapshot, s.record.seal)
	var mismatch *journal.MismatchError
	switch {
	case errors.Is(err, journal.ErrNothing), err == nil && s.taken.same(r.Header):
		return s.drop(ctx, j)
	case errors.As(err, &mismatch) && s.taken.same(mismatch.Header):
		return s.drop(ctx, j)
	case errors.As(err, &mismatch):
		return s.putAside(ctx, j, mismatch)
	case err != nil: // it cannot be decrypted
		s.env.Bag.Add(Problem(err, diag.Errorf("Failed to read the journal", "%s.", err)))
		return false
	case s.req.Looks:
		s.report(r)
		s.snapshot, _ = s.withJournal(r)
		return true
	}
	if len(r.Objects) > 0 && s.shared != nil {
		done, ok := s.mayRecover(ctx, r)
		defer done()
		if !ok {
			return true
		}
		if left, err := s.lost(ctx); err != nil || !slices.ContainsFunc(left, func(l store.LostJournal) bool { return l.Run == j.Run }) {
			return err == nil
		}
		if r, err = journal.Replay(j.Data, s.snapshot, s.record.seal); err != nil {
			_ = errors.As(err, &mismatch)
			return s.putAside(ctx, j, mismatch)
		}
	}
	s.report(r)
	if next, changed := s.withJournal(r); changed && !s.Put(next) {
		return false
	}
	notes := &s.record.notes
	notes.Unknown, notes.Leases = append(notes.Unknown, r.Unknown...), append(notes.Leases, r.Leases...)
	if err := store.RememberJournal(ctx, s.req.Store, s.req.Name, r.Header.Name(), r.Records()); err != nil {
		s.env.Bag.Add(diag.Errorf("Failed to recover from the journal", "%s.", err))
		return false
	}
	if len(r.Refused) > 0 {
		return s.putAside(ctx, j, nil)
	}
	if !s.drop(ctx, j) {
		return false
	}
	s.restored = append(s.restored, r.Objects...)
	var ok bool
	s.snapshot, s.version, ok = s.read(ctx)
	return ok
}

// mayRecover is claimRecovered without an error where another has these parts.
func (s *State) mayRecover(ctx context.Context, r *journal.Recovery) (done func(), ok bool) {
	p := recovered(r)
	if s.shared.member.Claim(ctx, p) != nil {
		return func() {}, false
	}
	return s.claimRecovered(ctx, r)
}

// drop removes a journal whose changes are in the state.
func (s *State) drop(ctx context.Context, j store.LostJournal) bool {
	if s.req.Looks {
		return true
	}
	if err := store.DropJournal(ctx, s.req.Store, s.req.Name, j.Run); err != nil {
		s.env.Bag.Add(diag.Errorf("Failed to recover from the journal", "%s.", err))
		return false
	}
	return true
}

// putAside keeps a journal in a file that cannot be taken in, or not all of it, which was reported if it is no error.
func (s *State) putAside(ctx context.Context, j store.LostJournal, why *journal.MismatchError) bool {
	if s.req.Looks {
		return true
	}
	path := s.record.path
	err := s.env.MakeData()
	if err == nil {
		err = disk.Replace(s.env.FS, path, j.Data)
	}
	if err == nil {
		path, err = journal.Aside(s.env.FS, path)
	}
	if err != nil {
		s.env.Bag.Add(diag.Errorf("Failed to recover from the journal", "%s.", err))
		return false
	}
	if why != nil {
		s.env.Bag.Add(diag.Warningf("Journal of another state", "The backend has a journal of an earlier run that does not belong to the state: %s. It was not used, and is kept as %s.", why, path))
		reportLeases(why.Leases, s.env.Bag)
		s.record.notes.Leases = append(s.record.notes.Leases, why.Leases...)
	}
	return s.drop(ctx, j)
}

package store

import (
	"context"
)

// OrphanedJournals returns the journals in a store of runs that ended. A store that keeps none has none.
func OrphanedJournals(ctx context.Context, s Store, workspace string) ([]OrphanedJournal, error) {
	if j := s.Capabilities().Journals; j != nil {
		return j.Orphaned(ctx, workspace)
	}
	return nil, nil
}

// DropJournal removes the journal of a run: "" for the run that has the lock.
func DropJournal(ctx context.Context, s Store, workspace, run string) error {
	if j := s.Capabilities().Journals; j != nil {
		return j.Drop(ctx, workspace, run)
	}
	return nil
}

// SetReplayedRecords stores the number of replayed records of a journal, if the store can.
func SetReplayedRecords(ctx context.Context, s Store, workspace, name string, records uint32) error {
	if r := s.Capabilities().Cursor; r != nil {
		return r.SetReplayed(ctx, workspace, name, records)
	}
	return nil
}

// ReplayedRecords returns that number; 0 if nothing is known.
func ReplayedRecords(ctx context.Context, s Store, workspace, name string) (uint32, error) {
	if r := s.Capabilities().Cursor; r != nil {
		return r.Replayed(ctx, workspace, name)
	}
	return 0, nil
}

// DisabledJournalsOf returns the workspaces with journals that the store does not read with its settings, and
// the variable that makes commands replay them.
func DisabledJournalsOf(ctx context.Context, s Store) (workspaces []string, variable string, err error) {
	if u := s.Capabilities().Disabled; u != nil {
		return u.WithJournals(ctx)
	}
	return nil, "", nil
}

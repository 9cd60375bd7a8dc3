package store

import (
	"context"
)

// OrphanedJournals returns the journals in a store whose runs have ended. It returns none if the store keeps no
// journals.
func OrphanedJournals(ctx context.Context, s Store, workspace string) ([]OrphanedJournal, error) {
	if j := s.Capabilities().Journals; j != nil {
		return j.Orphaned(ctx, workspace)
	}
	return nil, nil
}

// DropJournal deletes the journal of a run. If run is "", it is the run of this process, which holds the lock. It does
// nothing if the store keeps no journals.
func DropJournal(ctx context.Context, s Store, workspace, run string) error {
	if j := s.Capabilities().Journals; j != nil {
		return j.Drop(ctx, workspace, run)
	}
	return nil
}

// SetReplayedRecords stores how many records of the journal with that name were replayed. It does nothing if the store
// cannot store that number.
func SetReplayedRecords(ctx context.Context, s Store, workspace, name string, records uint32) error {
	if r := s.Capabilities().Cursor; r != nil {
		return r.SetReplayed(ctx, workspace, name, records)
	}
	return nil
}

// ReplayedRecords returns how many records of the journal with that name were replayed, or 0 if that is unknown.
func ReplayedRecords(ctx context.Context, s Store, workspace, name string) (uint32, error) {
	if r := s.Capabilities().Cursor; r != nil {
		return r.Replayed(ctx, workspace, name)
	}
	return 0, nil
}

// DisabledJournalsOf returns the workspaces with journals that the store does not read with its settings. variable is
// the environment variable that enables reading them. It returns none if the store has no such journals.
func DisabledJournalsOf(ctx context.Context, s Store) (workspaces []string, variable string, err error) {
	if u := s.Capabilities().Disabled; u != nil {
		return u.WithJournals(ctx)
	}
	return nil, "", nil
}

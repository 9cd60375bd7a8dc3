package store

import (
	"context"
	"time"
)

// Journaler is a store that keeps what runs record while they go on, for those that are lost with their disk. Of what is
// encrypted it gets what is encrypted.
type Journaler interface {
	// Note adds to what the run has recorded that has the lock of a workspace, from a position on: bytes that are there
	// already may come again. Without data it says that the run goes on, which it has to every LifeSign.
	Note(ctx context.Context, workspace string, at int64, data []byte) error
	// Lost gives what runs have recorded that ended and have not dropped it. It waits for a sign of life of those whose
	// connection is gone. A caller without a lock, who only looks, may get that of a run that has it.
	Lost(ctx context.Context, workspace string) ([]LostJournal, error)
	// Drop removes what a run has recorded: "" for the one that has the lock.
	Drop(ctx context.Context, workspace, run string) error
}

// Unread is a store that may keep journals, and does not as it is set up: those of runs that were set up otherwise are there
// all the same.
type Unread interface {
	// Left names the workspaces with such journals, and the environment variable that has them taken in. Where the user may
	// not look there are none.
	Left(ctx context.Context) (workspaces []string, variable string, err error)
}

// LeftUnread asks a store for them.
func LeftUnread(ctx context.Context, s Store) (workspaces []string, variable string, err error) {
	u, ok := As[Unread](s)
	if !ok {
		return nil, "", nil
	}
	err = tries(s).Do(ctx, func() error {
		workspaces, variable, err = u.Left(ctx)
		return err
	})
	return workspaces, variable, err
}

// Rememberer is a Journaler that remembers what was taken in of a journal: the run may come back with its own copy.
type Rememberer interface {
	// Remember takes note of how many records of a journal were taken in. name is its own, and not that of a lock.
	Remember(ctx context.Context, workspace, name string, records uint32) error
	// Remembered gives that number; 0 if nothing is known.
	Remembered(ctx context.Context, workspace, name string) (uint32, error)
}

// LifeSign is how often a run shows that it goes on although it records nothing.
const LifeSign = 2 * time.Second

// LostJournal is what a run has recorded.
type LostJournal struct {
	Run  string // names it, for Drop
	Data []byte
	Held bool // the run has the lock: it goes on, or its lock has to be broken
}

// LostJournals asks a store for them as often as it may be asked; of one that keeps none there are none.
func LostJournals(ctx context.Context, s Store, workspace string) (list []LostJournal, err error) {
	j, ok := As[Journaler](s)
	if !ok {
		return nil, nil
	}
	err = tries(s).Do(ctx, func() error {
		list, err = j.Lost(ctx, workspace)
		return err
	})
	return list, err
}

// DropJournal removes what a run has recorded: "" for the one that has the lock.
func DropJournal(ctx context.Context, s Store, workspace, run string) error {
	j, ok := As[Journaler](s)
	if !ok {
		return nil
	}
	return tries(s).Do(ctx, func() error { return j.Drop(ctx, workspace, run) })
}

// RememberJournal takes note of how many records of a journal were taken in, where a store does that.
func RememberJournal(ctx context.Context, s Store, workspace, name string, records uint32) error {
	r, ok := As[Rememberer](s)
	if !ok {
		return nil
	}
	return tries(s).Do(ctx, func() error { return r.Remember(ctx, workspace, name, records) })
}

// RememberedJournal gives that number; 0 if nothing is known.
func RememberedJournal(ctx context.Context, s Store, workspace, name string) (records uint32, err error) {
	r, ok := As[Rememberer](s)
	if !ok {
		return 0, nil
	}
	err = tries(s).Do(ctx, func() error {
		records, err = r.Remembered(ctx, workspace, name)
		return err
	})
	return records, err
}

// tries say how often a store may be asked.
func tries(s Store) Tries {
	if c, ok := As[*careful](s); ok {
		return c.tries
	}
	return Tries{}
}

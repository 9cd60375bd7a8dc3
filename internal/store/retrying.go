package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// Retrying returns a store that repeats requests that got no answer (*UnansweredError), as the policy t permits. A
// write without an answer may have been executed, so the store reads the state before it writes again. If it reads the
// new state, the write was successful. If it reads neither the new nor the old state, another writer has changed the
// state, and the error is a *StaleError.
func Retrying(s Remote, t Tries) Remote { return &retrying{s, t} }

// Remote is a store on another machine, whose locks survive the processes that hold them. If the lock is already held
// under the caller's ID, Lock succeeds: an earlier request took the lock, and its answer was lost.
type Remote interface {
	Store
	Breaker
}

type retrying struct {
	Remote
	tries Tries
}

// Capabilities returns the abilities of the inner store. It wraps each ability whose requests can be repeated, so that
// its requests are repeated, too.
func (c *retrying) Capabilities() Capabilities {
	out := c.Remote.Capabilities()
	out.Breaker = c
	if out.Concurrent != nil {
		out.Concurrent = c
	}
	if out.Parts != nil {
		out.Parts = c
	}
	if out.Journals != nil {
		out.Journals = &retryingJournals{out.Journals, c.tries}
	}
	if out.Cursor != nil {
		out.Cursor = &retryingCursor{out.Cursor, c.tries}
	}
	if out.Disabled != nil {
		out.Disabled = &retryingDisabled{out.Disabled, c.tries}
	}
	if out.Service != nil {
		out.Service = &retryingVersions{out.Service, c.tries}
	}
	return out
}

// longestUnlock is the time limit of one attempt to release a lock.
const longestUnlock = 30 * time.Second

// longestGiveUp is the time limit for releasing a lock if no answer told whether the lock was taken.
const longestGiveUp = 10 * time.Second

// Get returns the state of a workspace and its version, or nil and "" if no state exists.
func (c *retrying) Get(ctx context.Context, workspace string) (data []byte, v Version, err error) {
	err = c.tries.Do(ctx, func() error {
		data, v, err = c.Remote.Get(ctx, workspace)
		return err
	})
	return data, v, err
}

// List returns the names of the workspaces, the default workspace first.
func (c *retrying) List(ctx context.Context) (names []string, err error) {
	err = c.tries.Do(ctx, func() error {
		names, err = c.Remote.List(ctx)
		return err
	})
	return names, err
}

// Delete deletes a workspace and its state. For the default workspace it returns ErrDefault.
func (c *retrying) Delete(ctx context.Context, workspace string) error {
	return c.tries.Do(ctx, func() error { return c.Remote.Delete(ctx, workspace) })
}

// Put replaces the state that has the version prev, and returns the new version. If the state has another version, the
// error is a *StaleError. If an earlier attempt of this Put got no answer, that attempt may have written the state, so
// Put compares the stored state with data before it returns a *StaleError. Without such an attempt it does not compare,
// because another writer may have written the same bytes.
func (c *retrying) Put(ctx context.Context, workspace string, data []byte, prev Version) (v Version, err error) {
	lost := false
	err = c.tries.Write(ctx, func(ctx context.Context) (err error) {
		if lost {
			now, exists, err := c.finish(ctx, workspace, data)
			switch {
			case err != nil:
				return err
			case exists:
				v = now
				return nil
			case now != prev:
				return &StaleError{Workspace: workspace, Missing: now == ""}
			}
		}
		v, err = c.Remote.Put(ctx, workspace, data, prev)
		var stale *StaleError
		if errors.As(err, &stale) && lost {
			now, exists, finding := c.finish(ctx, workspace, data)
			switch {
			case unanswered(finding):
				err, lost = finding, true
			case exists && now != prev:
				v, err = now, finding
			}
		}
		lost = lost || open(err)
		return err
	})
	if lost && unanswered(err) {
		err = fmt.Errorf("whether the state was written is not known: %w", err)
	}
	return v, err
}

// finish reports whether data is the present state of a workspace, and returns the version of the present state. If the
// store writes states in several steps and has done only the first step of writing data, finish completes the write.
func (c *retrying) finish(ctx context.Context, workspace string, data []byte) (v Version, exists bool, err error) {
	if f := c.Remote.Capabilities().Finisher; f != nil {
		return f.Finish(ctx, workspace, data)
	}
	have, v, err := c.Remote.Get(ctx, workspace)
	return v, err == nil && v != "" && bytes.Equal(have, data), err
}

// Lock takes the lock of a workspace and returns the function that releases it. If another process holds the lock, the
// error is a *LockError.
func (c *retrying) Lock(ctx context.Context, workspace string, who LockInfo) (func(context.Context) error, error) {
	var unlock func(context.Context) error
	sent := false
	err := c.tries.Do(ctx, func() (err error) {
		unlock, err = c.Remote.Lock(ctx, workspace, who)
		sent = sent || open(err)
		return err
	})
	if err != nil && sent && unanswered(err) {
		return nil, c.giveUp(ctx, workspace, who.ID, err)
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return c.settle(ctx, unlock)
	}, nil
}

// giveUp returns the error for a call of Lock in which no request got an answer. A request may have taken the lock, so
// giveUp tries to release the lock with the ID id.
func (c *retrying) giveUp(ctx context.Context, workspace, id string, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestGiveUp)
	defer cancel()
	if unanswered(c.Remote.Break(ctx, workspace, id)) {
		return fmt.Errorf("whether the lock was taken is not known (its ID is %s): %w", id, err)
	}
	return err
}

// Join adds a run to the runs that work on parts of one state at the same time.
func (c *retrying) Join(ctx context.Context, workspace string, who LockInfo) (m Participant, err error) {
	d := c.Remote.Capabilities().Concurrent
	err = c.tries.Do(ctx, func() error {
		m, err = d.Join(ctx, workspace, who)
		return err
	})
	return &retryingParticipant{m, c.tries}, err
}

// retryingParticipant repeats requests of a run that works on parts of a state. A repeated Claim may name parts that
// the run has already, or that it lost with its connection.
type retryingParticipant struct {
	Participant
	tries Tries
}

// Claim reserves parts of the state for the run, all of them or none. If another run has a conflicting part, the error
// is a *LockError.
func (m *retryingParticipant) Claim(ctx context.Context, parts Parts) error {
	return m.tries.Do(ctx, func() error { return m.Participant.Claim(ctx, parts) })
}

// Turn waits until no other run writes the state, and returns the function that ends the turn of this run.
func (m *retryingParticipant) Turn(ctx context.Context) (done func(context.Context) error, err error) {
	err = m.tries.Do(ctx, func() error {
		done, err = m.Participant.Turn(ctx)
		return err
	})
	return done, err
}

// retryingJournals repeats requests about the journals of runs, except Note: the caller of Note repeats it.
type retryingJournals struct {
	Journaler
	tries Tries
}

// Orphaned returns the journals of runs that ended without deleting their journal.
func (c *retryingJournals) Orphaned(ctx context.Context, workspace string) (list []OrphanedJournal, err error) {
	err = c.tries.Do(ctx, func() error {
		list, err = c.Journaler.Orphaned(ctx, workspace)
		return err
	})
	return list, err
}

// Drop deletes the journal of a run; an empty run means the run that holds the lock.
func (c *retryingJournals) Drop(ctx context.Context, workspace, run string) error {
	return c.tries.Do(ctx, func() error { return c.Journaler.Drop(ctx, workspace, run) })
}

// retryingCursor repeats requests about how much of a journal was replayed into the state.
type retryingCursor struct {
	JournalCursor
	tries Tries
}

// SetReplayed stores how many records of the journal with the given name were replayed into the state.
func (c *retryingCursor) SetReplayed(ctx context.Context, workspace, name string, records uint32) error {
	return c.tries.Do(ctx, func() error { return c.JournalCursor.SetReplayed(ctx, workspace, name, records) })
}

// Replayed returns how many records of the journal with the given name were replayed into the state, or 0 if unknown.
func (c *retryingCursor) Replayed(ctx context.Context, workspace, name string) (records uint32, err error) {
	err = c.tries.Do(ctx, func() error {
		records, err = c.JournalCursor.Replayed(ctx, workspace, name)
		return err
	})
	return records, err
}

// retryingDisabled repeats the request for the journals that a store does not read with its settings.
type retryingDisabled struct {
	DisabledJournals
	tries Tries
}

// WithJournals returns the workspaces with journals that the store does not read with its settings, and the environment
// variable that makes commands read them.
func (c *retryingDisabled) WithJournals(ctx context.Context) (workspaces []string, variable string, err error) {
	err = c.tries.Do(ctx, func() error {
		workspaces, variable, err = c.DisabledJournals.WithJournals(ctx)
		return err
	})
	return workspaces, variable, err
}

// Break releases the lock with the given ID. If the workspace has no such lock, the error is a *LockError.
func (c *retrying) Break(ctx context.Context, workspace, id string) error {
	return c.settle(ctx, func(ctx context.Context) error { return c.Remote.Break(ctx, workspace, id) })
}

// settle calls unlock, which releases a lock, until the call is answered. If an attempt got no answer, and a later
// attempt finds no lock or another owner, the first attempt has released the lock, and settle returns nil.
func (c *retrying) settle(ctx context.Context, unlock func(context.Context) error) error {
	lost := false
	return c.tries.Write(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, longestUnlock)
		defer cancel()
		err := unlock(ctx)
		var held *LockError
		if lost && errors.As(err, &held) {
			return nil
		}
		lost = lost || open(err)
		return err
	})
}

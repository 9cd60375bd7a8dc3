package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// Retrying returns a store that repeats requests without an answer (UnansweredError). A write without an answer may
// have been executed, so Retrying reads the state before it writes again. If it reads the new state, the write was
// successful. If it reads neither the new nor the old state, another writer has changed it.
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

// Capabilities implements Store. It wraps each capability whose requests can be repeated.
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

// longestGiveUp is the time limit for releasing a lock if it is unknown whether the lock was taken.
const longestGiveUp = 10 * time.Second

// Get implements Store.
func (c *retrying) Get(ctx context.Context, workspace string) (data []byte, v Version, err error) {
	err = c.tries.Do(ctx, func() error {
		data, v, err = c.Remote.Get(ctx, workspace)
		return err
	})
	return data, v, err
}

// List implements Store.
func (c *retrying) List(ctx context.Context) (names []string, err error) {
	err = c.tries.Do(ctx, func() error {
		names, err = c.Remote.List(ctx)
		return err
	})
	return names, err
}

// Delete implements Store.
func (c *retrying) Delete(ctx context.Context, workspace string) error {
	return c.tries.Do(ctx, func() error { return c.Remote.Delete(ctx, workspace) })
}

// Put implements Store. If the store refuses a state as stale, and an earlier attempt got no answer, that attempt may
// have written the state, so Put compares the stored state. Without such an attempt, equal bytes prove nothing, because
// another writer may have written them.
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
// store has only the first step of the write of data, finish completes the write.
func (c *retrying) finish(ctx context.Context, workspace string, data []byte) (v Version, exists bool, err error) {
	if f := c.Remote.Capabilities().Finisher; f != nil {
		return f.Finish(ctx, workspace, data)
	}
	have, v, err := c.Remote.Get(ctx, workspace)
	return v, err == nil && v != "" && bytes.Equal(have, data), err
}

// Lock implements Store.
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

// giveUp returns the error of Lock if no request got an answer. A request may have taken the lock, so giveUp tries to
// release it.
func (c *retrying) giveUp(ctx context.Context, workspace, id string, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestGiveUp)
	defer cancel()
	if unanswered(c.Remote.Break(ctx, workspace, id)) {
		return fmt.Errorf("whether the lock was taken is not known (its ID is %s): %w", id, err)
	}
	return err
}

// Join implements ConcurrentStore.
func (c *retrying) Join(ctx context.Context, workspace string, who LockInfo) (m Participant, err error) {
	d := c.Remote.Capabilities().Concurrent
	err = c.tries.Do(ctx, func() error {
		m, err = d.Join(ctx, workspace, who)
		return err
	})
	return &retryingParticipant{m, c.tries}, err
}

// retryingParticipant repeats requests of a Participant. It may claim parts again that the run has, or that it has lost
// with its connection.
type retryingParticipant struct {
	Participant
	tries Tries
}

// Claim implements Participant.
func (m *retryingParticipant) Claim(ctx context.Context, parts Parts) error {
	return m.tries.Do(ctx, func() error { return m.Participant.Claim(ctx, parts) })
}

// Turn implements Participant.
func (m *retryingParticipant) Turn(ctx context.Context) (done func(context.Context) error, err error) {
	err = m.tries.Do(ctx, func() error {
		done, err = m.Participant.Turn(ctx)
		return err
	})
	return done, err
}

// retryingJournals repeats requests about journals, except Note: the caller of Note repeats it.
type retryingJournals struct {
	Journaler
	tries Tries
}

// Orphaned implements Journaler.
func (c *retryingJournals) Orphaned(ctx context.Context, workspace string) (list []OrphanedJournal, err error) {
	err = c.tries.Do(ctx, func() error {
		list, err = c.Journaler.Orphaned(ctx, workspace)
		return err
	})
	return list, err
}

// Drop implements Journaler.
func (c *retryingJournals) Drop(ctx context.Context, workspace, run string) error {
	return c.tries.Do(ctx, func() error { return c.Journaler.Drop(ctx, workspace, run) })
}

// retryingCursor repeats requests of a JournalCursor.
type retryingCursor struct {
	JournalCursor
	tries Tries
}

// SetReplayed implements JournalCursor.
func (c *retryingCursor) SetReplayed(ctx context.Context, workspace, name string, records uint32) error {
	return c.tries.Do(ctx, func() error { return c.JournalCursor.SetReplayed(ctx, workspace, name, records) })
}

// Replayed implements JournalCursor.
func (c *retryingCursor) Replayed(ctx context.Context, workspace, name string) (records uint32, err error) {
	err = c.tries.Do(ctx, func() error {
		records, err = c.JournalCursor.Replayed(ctx, workspace, name)
		return err
	})
	return records, err
}

// retryingDisabled repeats requests of a DisabledJournals.
type retryingDisabled struct {
	DisabledJournals
	tries Tries
}

// WithJournals implements DisabledJournals.
func (c *retryingDisabled) WithJournals(ctx context.Context) (workspaces []string, variable string, err error) {
	err = c.tries.Do(ctx, func() error {
		workspaces, variable, err = c.DisabledJournals.WithJournals(ctx)
		return err
	})
	return workspaces, variable, err
}

// Break implements Breaker.
func (c *retrying) Break(ctx context.Context, workspace, id string) error {
	return c.settle(ctx, func(ctx context.Context) error { return c.Remote.Break(ctx, workspace, id) })
}

// settle releases a lock with unlock. If an attempt got no answer, and afterwards the lock does not exist or has
// another owner, that attempt has released it.
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

package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// Careful makes requests of a store again that got no answer (UnansweredError). What was written by one
// may be there all the same, so it looks before it writes again: a state that is there already was
// written, one that is neither that nor the former is of another writer.
func Careful(s Remote, t Tries) Remote { return &careful{s, t} }

// Remote is a store on another machine, whose locks outlive those who took them. Lock gives the caller a
// lock that is held under the caller's own ID: an earlier request took it, and its answer was lost.
type Remote interface {
	Store
	Breaker
}

type careful struct {
	Remote
	tries Tries
}

// Unwrap implements Wrapper.
func (c *careful) Unwrap() Store { return c.Remote }

// longestUnlock is how long one attempt to give a lock back may take.
const longestUnlock = 30 * time.Second

// longestGiveUp is how long the same may take where it is not known whether there is a lock.
const longestGiveUp = 10 * time.Second

// Get implements Store.
func (c *careful) Get(ctx context.Context, workspace string) (data []byte, v Version, err error) {
	err = c.tries.Do(ctx, func() error {
		data, v, err = c.Remote.Get(ctx, workspace)
		return err
	})
	return data, v, err
}

// List implements Store.
func (c *careful) List(ctx context.Context) (names []string, err error) {
	err = c.tries.Do(ctx, func() error {
		names, err = c.Remote.List(ctx)
		return err
	})
	return names, err
}

// Delete implements Store.
func (c *careful) Delete(ctx context.Context, workspace string) error {
	return c.tries.Do(ctx, func() error { return c.Remote.Delete(ctx, workspace) })
}

// Finisher is a store whose writing has more than one step. Finish does the steps that follow the first one, if that was done:
// there reports whether the state is data. Version is that of what is there.
type Finisher interface {
	Finish(ctx context.Context, workspace string, data []byte) (v Version, there bool, err error)
}

// Put implements Store. A state that is refused as stale is there all the same if an earlier attempt without an answer wrote
// it. Without such an attempt another writer may have written the same.
func (c *careful) Put(ctx context.Context, workspace string, data []byte, prev Version) (v Version, err error) {
	lost := false
	err = c.tries.Write(ctx, func(ctx context.Context) (err error) {
		if lost {
			now, there, err := c.finish(ctx, workspace, data)
			switch {
			case err != nil:
				return err
			case there:
				v = now
				return nil
			case now != prev:
				return &StaleError{Workspace: workspace, Missing: now == ""}
			}
		}
		v, err = c.Remote.Put(ctx, workspace, data, prev)
		var stale *StaleError
		if errors.As(err, &stale) && lost {
			now, there, finding := c.finish(ctx, workspace, data)
			switch {
			case unanswered(finding):
				err, lost = finding, true
			case there && now != prev:
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

// finish reports whether a state is there, and sees to it that all of it is.
func (c *careful) finish(ctx context.Context, workspace string, data []byte) (v Version, there bool, err error) {
	if f, ok := As[Finisher](c.Remote); ok {
		return f.Finish(ctx, workspace, data)
	}
	have, v, err := c.Remote.Get(ctx, workspace)
	return v, err == nil && v != "" && bytes.Equal(have, data), err
}

// Lock implements Store.
func (c *careful) Lock(ctx context.Context, workspace string, who LockInfo) (func(context.Context) error, error) {
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

// giveUp is the error of a lock for which no request got an answer, or whose user did not wait for one. One of them may
// have taken it, and then nobody would give it back.
func (c *careful) giveUp(ctx context.Context, workspace, id string, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestGiveUp)
	defer cancel()
	if unanswered(c.Remote.Break(ctx, workspace, id)) {
		return fmt.Errorf("whether the lock was taken is not known (its ID is %s): %w", id, err)
	}
	return err
}

// Join implements Divisible, where the store within does.
func (c *careful) Join(ctx context.Context, workspace string, who LockInfo) (m Member, err error) {
	d, ok := As[Divisible](c.Remote)
	if !ok {
		return nil, ErrWhole
	}
	err = c.tries.Do(ctx, func() error {
		m, err = d.Join(ctx, workspace, who)
		return err
	})
	return &carefulMember{m, c.tries}, err
}

// carefulMember makes requests of a member again. What it has, or has lost with a connection, it can ask for again.
type carefulMember struct {
	Member
	tries Tries
}

// Claim implements Member.
func (m *carefulMember) Claim(ctx context.Context, parts Parts) error {
	return m.tries.Do(ctx, func() error { return m.Member.Claim(ctx, parts) })
}

// Turn implements Member.
func (m *carefulMember) Turn(ctx context.Context) (done func(context.Context) error, err error) {
	err = m.tries.Do(ctx, func() error {
		done, err = m.Member.Turn(ctx)
		return err
	})
	return done, err
}

// Break implements Breaker.
func (c *careful) Break(ctx context.Context, workspace, id string) error {
	return c.settle(ctx, func(ctx context.Context) error { return c.Remote.Break(ctx, workspace, id) })
}

// settle gives a lock back. One that is not there any more after an attempt without an answer, or is of
// another, was given back by that.
func (c *careful) settle(ctx context.Context, unlock func(context.Context) error) error {
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

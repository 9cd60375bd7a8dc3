package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"
)

// Tries say how often a request is made again, and how long a store waits before that.
type Tries struct {
	Again             int           // 0: one attempt
	Shortest, Longest time.Duration // between two attempts; each is twice the one before
}

// Do does something until it is answered. Of a context that ended meanwhile the error says that in words for a user.
func (t Tries) Do(ctx context.Context, do func() error) error {
	pause := t.Shortest
	for n := 0; ; n++ {
		err := do()
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			err = &endedError{err}
		}
		if !unanswered(err) || n == t.Again || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause/2 + rand.N(pause/2+1)):
		}
		pause = min(2*pause, t.Longest)
	}
}

// endedError is an error of a request whose context ended.
type endedError struct{ error }

func (e *endedError) Error() string {
	if errors.Is(e.error, context.DeadlineExceeded) {
		return "it took too long"
	}
	return "it was interrupted"
}

func (e *endedError) Unwrap() error { return e.error }

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

// longestUnlock is how long giving a lock back may take, attempts included.
const longestUnlock = time.Minute

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

// Put implements Store.
func (c *careful) Put(ctx context.Context, workspace string, data []byte, prev Version) (v Version, err error) {
	lost := false
	err = c.tries.Do(ctx, func() error {
		if lost {
			have, now, err := c.Remote.Get(ctx, workspace)
			switch {
			case err != nil:
				return err
			case now != "" && bytes.Equal(have, data):
				v = now
				return nil
			case now != prev:
				return &StaleError{Workspace: workspace, Missing: now == ""}
			}
		}
		var err error
		v, err = c.Remote.Put(ctx, workspace, data, prev)
		lost = lost || open(err)
		return err
	})
	if lost && unanswered(err) {
		err = fmt.Errorf("whether the state was written is not known: %w", err)
	}
	return v, err
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
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestUnlock)
		defer cancel()
		return c.settle(ctx, func() error { return unlock(ctx) })
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

// open reports whether a request without an answer may have been carried out: it was made, and there was a connection.
func open(err error) bool {
	var u *UnansweredError
	var op *net.OpError
	return errors.As(err, &u) && !u.Unsent && !(errors.As(err, &op) && op.Op == "dial")
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
	return c.settle(ctx, func() error { return c.Remote.Break(ctx, workspace, id) })
}

// settle gives a lock back. One that is not there any more after an attempt without an answer, or is of
// another, was given back by that.
func (c *careful) settle(ctx context.Context, unlock func() error) error {
	lost := false
	return c.tries.Do(ctx, func() error {
		err := unlock()
		var held *LockError
		if lost && errors.As(err, &held) {
			return nil
		}
		lost = lost || open(err)
		return err
	})
}

func unanswered(err error) bool {
	var u *UnansweredError
	return errors.As(err, &u)
}

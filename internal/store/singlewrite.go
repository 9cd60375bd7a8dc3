package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// SingleWrite takes a lock for one write, for callers without a lock. It keeps such callers of this process apart, and
// callers in other processes if the service grants the lock.
type SingleWrite struct {
	Store Remote
	Tries Tries         // for giving the lock back
	Wait  time.Duration // how long a lock of others is waited for

	mu  sync.Mutex // during a write
	who LockInfo   // the same for each write: a retry finds the lock that an attempt without an answer took
}

// Write calls write once. The argument of write is the ID of the lock, or "" and the error of taking it.
func (b *SingleWrite) Write(ctx context.Context, workspace string, write func(id string, err error) (Version, error)) (Version, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.who.ID == "" {
		b.who = NewLockInfo("write", "")
	}
	c := &retrying{b.Store, b.Tries}
	unlock, err := Acquire(ctx, b.Store, workspace, b.who, b.Wait, nil)
	if err != nil {
		v, failed := write("", err)
		if open(err) {
			_ = c.giveUp(ctx, workspace, b.who.ID, err)
		}
		var held *LockError
		if errors.As(failed, &held) && held.Held != nil && held.Held.ID == b.who.ID { // the attempt took the lock after all
			failed = &UnansweredError{Err: failed, Unsent: true}
		}
		return v, failed
	}
	v, err := write(b.who.ID, nil)
	if failed := c.settle(ctx, unlock); err == nil && failed != nil {
		err = fmt.Errorf("the state was written, and its lock could not be released: %v", failed) // not to be written again
	}
	return v, err
}

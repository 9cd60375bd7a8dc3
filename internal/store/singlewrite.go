package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// SingleWrite takes the lock of a state for a single write, for callers that do not hold the lock. So these callers
// exclude each other in this process and, if the service grants the lock, in other processes.
type SingleWrite struct {
	Store Remote
	Tries Tries         // the retry policy for releasing the lock
	Wait  time.Duration // how long to wait for a lock that another process holds

	mu  sync.Mutex // held during a write, so that writes of this process exclude each other
	who LockInfo   // the same for each write, so that a repeated request recognizes a lock that an earlier, unanswered request took
}

// Write takes the lock, calls write once, releases the lock, and returns the results of write. write gets the ID of the
// lock, or "" and the error of taking the lock. If write succeeds, but the lock cannot be released, Write returns the
// new version and an error.
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
		if errors.As(failed, &held) && held.Held != nil && held.Held.ID == b.who.ID { // an earlier request without an answer took the lock
			failed = &UnansweredError{Err: failed, Unsent: true}
		}
		return v, failed
	}
	v, err := write(b.who.ID, nil)
	if failed := c.settle(ctx, unlock); err == nil && failed != nil {
		err = fmt.Errorf("the state was written, and its lock could not be released: %v", failed) // %v, because the wrapped error would make callers repeat the write
	}
	return v, err
}

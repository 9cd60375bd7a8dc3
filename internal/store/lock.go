package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
)

// LockError reports that another process holds the lock of a state. Err is the reason, and Held describes the holder.
type LockError struct {
	Held *LockInfo // nil if the holder is unknown
	Err  error
}

func (e *LockError) Error() string {
	if e.Held == nil {
		return e.Err.Error()
	}
	return e.Err.Error() + "\n" + e.Held.String()
}

func (e *LockError) Unwrap() error { return e.Err }

// OtherLock returns the error of Break if no lock has the ID id. held is the holder of the lock, or nil if the state is
// not locked.
func OtherLock(held *LockInfo, id string) *LockError {
	if held == nil {
		return &LockError{Err: errors.New("the state is not locked")}
	}
	return &LockError{Held: held, Err: fmt.Errorf("the lock has the ID %s, not %s", held.ID, id)}
}

// Changing returns the error for a lock that was not free, and that was released before its holder could be read. It
// asks to repeat the request, and it is a *LockError, so that Acquire waits if the repeated requests fail, too.
func Changing() error {
	return &LockError{Err: &UnansweredError{Err: errors.New("the lock of the state is changing at this moment"), Unsent: true}}
}

// LockDiagnostic returns the diagnostic for an error of Lock or Acquire. program is the name of this program.
func LockDiagnostic(err error, program string) diag.Diagnostic {
	if errors.Is(err, ErrOnly) { // the cause is the workspace name, not a lock
		return diag.Errorf("Workspaces not supported", "The backend stores only one state, so its only workspace is %q. Another workspace is selected, by the environment variable TF_WORKSPACE or by \"lethe workspace select\".", Default)
	}
	return diag.Errorf("Error acquiring the state lock",
		"Error message: %v\n\n%s locks the state so that only one process writes it at a time. Resolve the issue above, or wait with -lock-timeout=5m. If the holder no longer exists, run force-unlock with the ID. The option -lock=false skips locking, which is not recommended.", err, program)
}

// The pause between two attempts to take a lock doubles from firstPause up to longestPause. Each pause is shortened at
// random, so that many waiting processes do not try at the same time.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = time.Second
)

// Acquire takes the lock of a workspace, and waits up to timeout if another process holds it. A timeout of 0 means one
// attempt. If waiting is not nil, Acquire calls it once, before it waits for the first time. If ctx ends during a
// pause, the error is the *LockError of the last attempt. Errors other than a *LockError are returned at once.
func Acquire(ctx context.Context, s Store, workspace string, who LockInfo, timeout time.Duration, waiting func(*LockError)) (unlock func(context.Context) error, err error) {
	err = Wait(ctx, timeout, waiting, func() (err error) {
		unlock, err = s.Lock(ctx, workspace, who)
		return err
	})
	return unlock, err
}

// Wait calls take until it succeeds, returns an error other than a *LockError, or timeout passes or ctx ends. In the
// last two cases, Wait returns the last *LockError. take tries once to take a resource with one holder, and returns a
// *LockError if another process holds the resource. waiting, if not nil, is called once, before the first pause.
func Wait(ctx context.Context, timeout time.Duration, waiting func(*LockError), take func() error) error {
	deadline := time.Now().Add(timeout)
	var last error
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := take()
		var held *LockError
		switch {
		case err != nil && last != nil && ctx.Err() != nil:
			return last // the holder of the lock is more informative than the cancellation
		case err == nil || !errors.As(err, &held):
			return err
		}
		last = err
		left := time.Until(deadline)
		if left <= 0 {
			return err
		}
		if waiting != nil {
			waiting(held)
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(min(pause/2+rand.N(pause/2), left)):
		}
	}
}

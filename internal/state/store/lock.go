package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/user"
	"time"

	"github.com/google/uuid"
	"github.com/lethe-iac/lethe/internal/diag"
)

// LockInfo says who holds a lock. Its JSON is what Terraform and OpenTofu write and read.
type LockInfo struct {
	ID        string    `json:"ID"`
	Operation string    `json:"Operation"` // such as "OperationTypeApply"
	Info      string    `json:"Info"`      // which process it is, so that one that is gone is known
	Who       string    `json:"Who"`       // user@host
	Version   string    `json:"Version"`
	Created   time.Time `json:"Created"` // in UTC
	Path      string    `json:"Path"`    // of the state; set by the store
}

// NewLockInfo describes a lock that this process is about to take.
func NewLockInfo(operation, version string) LockInfo {
	host, _ := os.Hostname()
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return LockInfo{
		ID: uuid.NewString(), Operation: operation, Info: fmt.Sprintf("process %d", os.Getpid()),
		Who: name + "@" + host, Version: version, Created: time.Now().UTC(),
	}
}

// Marshal is the lock file's content.
func (i LockInfo) Marshal() []byte {
	data, err := json.Marshal(i)
	if err != nil { // a year past 9999
		panic(err)
	}
	return data
}

// ParseLockInfo reads a lock file.
func ParseLockInfo(data []byte) (LockInfo, error) {
	var i LockInfo
	if err := json.Unmarshal(data, &i); err != nil {
		return LockInfo{}, fmt.Errorf("the lock info cannot be read: %w", err)
	}
	return i, nil
}

// String is the block that Terraform and OpenTofu print and tools look for.
func (i LockInfo) String() string {
	return fmt.Sprintf("Lock Info:\n  ID:        %s\n  Path:      %s\n  Operation: %s\n  Who:       %s\n  Version:   %s\n  Created:   %s\n  Info:      %s\n",
		i.ID, i.Path, i.Operation, i.Who, i.Version, i.Created, i.Info)
}

// LockError says that another holds the lock.
type LockError struct {
	Held *LockInfo // nil if it is not known
	Err  error
}

func (e *LockError) Error() string {
	if e.Held == nil {
		return e.Err.Error()
	}
	return e.Err.Error() + "\n" + e.Held.String()
}

func (e *LockError) Unwrap() error { return e.Err }

// OtherLock is the answer to breaking a lock that another ID has, or none: held is nil then.
func OtherLock(held *LockInfo, id string) *LockError {
	if held == nil {
		return &LockError{Err: errors.New("the state is not locked")}
	}
	return &LockError{Held: held, Err: fmt.Errorf("the lock has the ID %s, not %s", held.ID, id)}
}

// LockDiagnostic makes of an error of Lock or Acquire what the user reads. program is the name of
// ours.
func LockDiagnostic(err error, program string) diag.Diagnostic {
	return diag.Errorf("Error acquiring the state lock",
		"Error message: %v\n\n%s acquires a state lock to protect the state from being written by multiple users at the same time. Please resolve the issue above and try again. For most commands, you can disable locking with the \"-lock=false\" flag, but this is not recommended.", err, program)
}

// The pause between two attempts to take a lock doubles up to the longest; a random part of it is
// left out, so that many who wait do not come at once.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = time.Second
)

// Acquire takes a lock, waiting for it for at most timeout (0: one attempt). waiting, if not nil,
// is called once, when the first attempt failed. The error is that of the last attempt.
func Acquire(ctx context.Context, s Store, workspace string, who LockInfo, timeout time.Duration, waiting func(*LockError)) (func(context.Context) error, error) {
	deadline := time.Now().Add(timeout)
	var last error
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		unlock, err := s.Lock(ctx, workspace, who)
		var held *LockError
		switch {
		case err != nil && last != nil && ctx.Err() != nil:
			return nil, last // that it was given up says less than who has the lock
		case err == nil || !errors.As(err, &held):
			return unlock, err
		}
		last = err
		left := time.Until(deadline)
		if left <= 0 {
			return nil, err
		}
		if waiting != nil {
			waiting(held)
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(min(pause/2+rand.N(pause/2), left)):
		}
	}
}

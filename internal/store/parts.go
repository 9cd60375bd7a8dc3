package store

import (
	"context"
	"errors"
	"fmt"
)

// Use tells how a run uses a part of a state.
type Use uint8

// The uses are bits. If a run changes a part, no other run may use the part. If a run needs a part, no other run may
// change the part or anything in it. Several runs may change different things within one part.
const (
	Needs   Use = 1 << iota // the part must stay unchanged
	Within                  // the run changes something in the part
	Changes                 // the run changes the part
)

// beside reports whether two runs may use a part in the ways u and v at the same time.
func (u Use) beside(v Use) bool {
	switch {
	case u == 0 || v == 0:
		return true
	}
	return u == v && (u == Needs || u == Within)
}

// Parts are the uses of parts of a state, by the names of the parts. A store does not interpret the names.
type Parts map[string]Use

// Intersects returns the name of a part that two runs cannot use at the same time, and true. If there are several, it
// is the first in the order of names.
func (p Parts) Intersects(other Parts) (name string, meet bool) {
	for n, u := range p {
		if !u.beside(other[n]) && (!meet || n < name) {
			name, meet = n, true
		}
	}
	return name, meet
}

// ConcurrentStore is a store that lets several runs work on different parts of one state at the same time.
type ConcurrentStore interface {
	// Join is like Lock, for a run that claims its parts later. The run and a holder of the lock exclude each other,
	// but several runs can join. The error is a *LockError if a command holds the lock. It is ErrNotPartial if the
	// state cannot be divided, for example because it does not exist yet: then the caller must lock the state.
	Join(ctx context.Context, workspace string, who LockInfo) (Participant, error)
}

// Participant is the membership of a run in the runs that share a state. Like a lock, it ends with its process. Only
// one goroutine may use it.
type Participant interface {
	// Claim adds parts to the parts of the run. Some may be claimed already. It adds all of them, or none if another
	// run has claimed a conflicting part. Then the error is a *LockError that describes the run and wraps a *PartError.
	// Claim does not wait.
	Claim(ctx context.Context, parts Parts) error
	// Turn waits until it is the run's turn to write the state. Until the run calls done, no other run gets a turn, so
	// the state that it reads stays unchanged until it has written it.
	Turn(ctx context.Context) (done func(context.Context) error, err error)
	// Leave releases all parts. It works even if the context of Join has ended. It may be called once.
	Leave(ctx context.Context) error
}

// ErrNotPartial reports that a state must be locked as a whole.
var ErrNotPartial = errors.New("the state cannot be divided")

// PartError names a part that another run uses.
type PartError struct{ Part string }

func (e *PartError) Error() string {
	return fmt.Sprintf("a run that is in progress changes %s, or needs it unchanged", e.Part)
}

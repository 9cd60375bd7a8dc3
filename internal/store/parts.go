package store

import (
	"context"
	"errors"
	"fmt"
)

// Use is the use that a run makes of a part of a state.
type Use uint8

// The uses, as bits. A part that one run changes has no other user. A part that a run needs, and everything within it,
// is changed by no other run. Several runs may change things within one part, if each has a separate name.
const (
	Needs   Use = 1 << iota // must stay unchanged
	Within                  // something that belongs to it is changed
	Changes                 // it is changed
)

// beside reports whether two runs may use a part in these ways at once.
func (u Use) beside(v Use) bool {
	switch {
	case u == 0 || v == 0:
		return true
	}
	return u == v && (u == Needs || u == Within)
}

// Parts are parts of a state by their names, with their uses. The names mean nothing to a store.
type Parts map[string]Use

// Intersects returns the first name, in the order of names, that two runs cannot use at the same time.
func (p Parts) Intersects(other Parts) (name string, meet bool) {
	for n, u := range p {
		if !u.beside(other[n]) && (!meet || n < name) {
			name, meet = n, true
		}
	}
	return name, meet
}

// ConcurrentStore is a store that lets several runs work on one state, each on parts of it.
type ConcurrentStore interface {
	// Join is Lock for a run that names its parts later. It excludes all holders of the lock, and they exclude it, but
	// it does not exclude other runs that join. The error is a *LockError if a command holds the lock, and
	// ErrNotPartial if the state cannot be divided, such as a state that does not exist yet: then the caller must lock
	// it.
	Join(ctx context.Context, workspace string, who LockInfo) (Participant, error)
}

// Participant is the hold of one of several runs on a state. Like a lock, it ends with its process. It is for one
// goroutine.
type Participant interface {
	// Claim adds parts to the parts of the run; some may be the same. It adds all of them, or none if another run has a
	// conflicting part. Then the error is a *LockError about that run, around a *PartError. It does not wait.
	Claim(ctx context.Context, parts Parts) error
	// Turn waits until no other run is between its Turn and its done. So a state that a run reads stays unchanged until
	// the run has replaced it.
	Turn(ctx context.Context) (done func(context.Context) error, err error)
	// Leave releases all parts, even if the context of Join has ended. It may be called once.
	Leave(ctx context.Context) error
}

// ErrNotPartial reports that a state must be locked as a whole.
var ErrNotPartial = errors.New("the state cannot be divided")

// PartError names the part that another run has.
type PartError struct{ Part string }

func (e *PartError) Error() string {
	return fmt.Sprintf("a run that is in progress changes %s, or needs it unchanged", e.Part)
}

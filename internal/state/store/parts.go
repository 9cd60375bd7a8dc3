package store

import (
	"context"
	"errors"
	"fmt"
)

// Use says what a run does with a part of a state.
type Use uint8

// The uses, as bits. A part that one run changes has no other user; one that a run needs is changed by no other, and
// nothing within it is; within one part several may change something, each what has a name of its own.
const (
	Needs   Use = 1 << iota // is to stay as it is
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

// Parts are parts of a state by their names, with what is done with them. The names mean nothing to a store.
type Parts map[string]Use

// Meets gives the first name, in the order of names, that two runs cannot have at once.
func (p Parts) Meets(other Parts) (name string, meet bool) {
	for n, u := range p {
		if !u.beside(other[n]) && (!meet || n < name) {
			name, meet = n, true
		}
	}
	return name, meet
}

// Divisible is a store that lets several runs work on one state, each on parts of it.
type Divisible interface {
	// Join is Lock for a run that says later which parts it works on: it keeps out all that take the lock, and is kept
	// out by them, but not by others that join. The error is a *LockError if one has the lock, and ErrWhole where the
	// state cannot be divided, such as one that is not there yet: then it is to be locked.
	Join(ctx context.Context, workspace string, who LockInfo) (Member, error)
}

// Member is the hold that one of several runs has on a state. What it has ends with its process, as a lock does. It is
// for one goroutine.
type Member interface {
	// Claim adds parts to those that the run has, some of which may be the same: all of them, or none if it cannot have them beside those of
	// another run. Then the error is a *LockError with that run, around a *PartError. It does not wait.
	Claim(ctx context.Context, parts Parts) error
	// Turn waits until no other run is between its Turn and its done: so the state that a run reads stays as it is
	// until it has put another in its place.
	Turn(ctx context.Context) (done func(context.Context) error, err error)
	// Leave gives all of it back, even if the context of Join is over. It may be called once.
	Leave(ctx context.Context) error
}

// Versioner is a store that can say of which version a state is without reading it.
type Versioner interface {
	// Version is that which Get gives.
	Version(ctx context.Context, workspace string) (Version, error)
}

// ErrWhole says that a state is to be locked as a whole.
var ErrWhole = errors.New("the state cannot be divided")

// PartError says which part another run has.
type PartError struct{ Part string }

func (e *PartError) Error() string {
	return fmt.Sprintf("a run that is in progress changes %s, or needs it unchanged", e.Part)
}

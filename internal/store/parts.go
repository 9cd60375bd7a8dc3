package store

import (
	"context"
	"errors"
	"fmt"
)

// Use is the way in which a run uses a part of a state, such as the objects of one resource.
type Use uint8

// A Use is a set of these bits. If a run changes a part, no other run may use the part. If a run needs a part, no other
// run may change the part or anything in it. Several runs may change different things within one part.
const (
	Needs   Use = 1 << iota // the part must stay unchanged
	Within                  // the run changes something inside the part, such as one resource of a module
	Changes                 // the run changes the part
)

// beside reports whether one run may use a part in the way u while another run uses it in the way v.
func (u Use) beside(v Use) bool {
	switch {
	case u == 0 || v == 0:
		return true
	}
	return u == v && (u == Needs || u == Within)
}

// Parts are the uses of parts of a state, by the names of the parts. A store does not interpret the names.
type Parts map[string]Use

// Intersects returns the name of a part that two runs cannot use at the same time, and true. If several parts are such
// parts, it is the first in the order of names. If no part is, it returns "" and false.
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
	// Join adds a run to the runs that work on parts of one state at the same time. The run claims its parts later. A
	// command that holds the lock of the state excludes all such runs: then the error is a *LockError. It is ErrNotPartial
	// if the state cannot be divided, for example because it does not exist yet: then the caller must lock the state.
	Join(ctx context.Context, workspace string, who LockInfo) (Participant, error)
}

// Participant is one run among the runs that share a state. Its membership and its claims end with its process, as a
// lock does. Only one goroutine may use a Participant.
type Participant interface {
	// Claim reserves more parts of the state for the run, all of them or none. Parts that the run has already are
	// permitted. If another run has claimed a conflicting part, the error is a *LockError that describes that run and
	// wraps a *PartError. Claim does not wait.
	Claim(ctx context.Context, parts Parts) error
	// Turn waits until it is the run's turn to write the state. No other run gets a turn before the run calls done. So
	// the run can read the state and write it, and no other run writes in between.
	Turn(ctx context.Context) (done func(context.Context) error, err error)
	// Leave releases all parts that the run has claimed. It works even if the context of Join has ended. It may be called
	// once.
	Leave(ctx context.Context) error
}

// ErrNotPartial reports that runs cannot share a state, so that a run must lock the whole state.
var ErrNotPartial = errors.New("the state cannot be divided")

// PartError reports that another run uses a part of the state. Part is the name of that part.
type PartError struct{ Part string }

func (e *PartError) Error() string {
	return fmt.Sprintf("a run that is in progress changes %s, or needs it unchanged", e.Part)
}

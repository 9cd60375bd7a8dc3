package secret

import (
	"sync"
	"sync/atomic"
)

// Set is this run's secrets.
type Set struct {
	some   atomic.Bool // there is a secret; false saves taking the lock
	number atomic.Bool // there is one that is a number
	mu     sync.RWMutex
	known  map[string]*secret // by text
	masked map[string]bool    // those that may be kept
	table  table

	elsewhere func(string) bool

	found  atomic.Bool  // Check has found one
	peeled atomic.Int64 // see layers

	learning sync.Mutex // guards what follows
	calls    int        // in which secrets may be learned
	held     []func()   // what waits for them
}

// Number reports whether a secret may be written as a number: those are not found in the bytes of a
// message that is not text.
func (s *Set) Number() bool { return s != nil && s.number.Load() }

// Empty reports whether there is nothing to guard, so that callers need not look for leaves.
func (s *Set) Empty() bool { return s == nil || !s.some.Load() }

// Known counts the secrets that may not be kept, as far as they are known.
func (s *Set) Known() int {
	if s.Empty() {
		return 0
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.known)
}

package storetest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
)

// Interrupter is an HTTP handler that breaks the connection of one request, before or after the request is handled.
type Interrupter struct {
	http.Handler

	count, at atomic.Int64
	late      atomic.Bool
}

// ServeHTTP passes a request to Handler. If the request is the chosen one, ServeHTTP breaks the connection without an
// answer, and passes the request to Handler before that only if late is true.
func (c *Interrupter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.count.Add(1) != c.at.Load() {
		c.Handler.ServeHTTP(w, r)
		return
	}
	if c.late.Load() {
		c.Handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	panic(http.ErrAbortHandler)
}

// Interrupt makes c break the connection of the n-th request from now on: before the request is handled, or after it if
// late is true.
func (c *Interrupter) Interrupt(n int, late bool) {
	c.count.Store(0)
	c.at.Store(int64(n))
	c.late.Store(late)
}

// Reached reports whether the request to interrupt has arrived.
func (c *Interrupter) Reached() bool { return c.count.Load() >= c.at.Load() }

// Breaks can break the connection of a request. An Interrupter does so for HTTP, and other stores have their own.
type Breaks interface {
	Interrupt(n int, late bool)
	Reached() bool
}

// RunInterrupted checks that a store loses no state if a connection breaks. It repeats a sequence of Lock, Get, Puts
// and unlock. Each time it breaks the connection at the next request of the sequence, before or after the server has
// handled that request.
func RunInterrupted(t *testing.T, fresh func(t *testing.T) (open func() store.Store, breaks Breaks)) {
	for _, late := range []bool{false, true} {
		for n := 1; ; n++ {
			open, breaks := fresh(t)
			s := &suite{t, open, context.Background(), (*suite).unchanged}
			st := open()
			v := s.put(st, store.Default, state(1), "")
			breaks.Interrupt(n, late)
			unlock := s.lockIt(st, store.Default)
			s.get(st, store.Default)
			for i := 2; i < 4; i++ {
				v = s.put(st, store.Default, state(i), v)
			}
			unlock()
			reached := breaks.Reached()
			if data, seen := s.get(open(), store.Default); string(data) != string(state(3)) || seen != v {
				t.Errorf("cut at %d, late %t: there is %q of version %q", n, late, data, seen)
			}
			s.lockIt(open(), store.Default)()
			if !reached {
				break
			}
		}
	}
}

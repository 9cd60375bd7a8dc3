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

// ServeHTTP implements http.Handler.
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

// Reached reports whether the n-th request has arrived.
func (c *Interrupter) Reached() bool { return c.count.Load() >= c.at.Load() }

// Breaks breaks connections. Interrupter implements it for HTTP.
type Breaks interface {
	Interrupt(n int, late bool)
	Reached() bool
}

// RunInterrupted checks that a store survives a broken connection without losing a state. It breaks the connection at
// each request of a run in turn, before and after the request is handled.
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

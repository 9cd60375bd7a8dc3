package storetest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/lethe-iac/lethe/internal/state/store"
)

// Cutter is a server in whose place connections break: that of one request, before it is handled or after.
type Cutter struct {
	http.Handler

	count, at atomic.Int64
	late      atomic.Bool
}

// ServeHTTP implements http.Handler.
func (c *Cutter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.count.Add(1) != c.at.Load() {
		c.Handler.ServeHTTP(w, r)
		return
	}
	if c.late.Load() {
		c.Handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	panic(http.ErrAbortHandler)
}

// Cut lets the connection of the n-th request from now on break, before it is handled, or after that: late.
func (c *Cutter) Cut(n int, late bool) {
	c.count.Store(0)
	c.at.Store(int64(n))
	c.late.Store(late)
}

// Reached reports whether that request came.
func (c *Cutter) Reached() bool { return c.count.Load() >= c.at.Load() }

// Breaks is a place where connections break: Cutter is one for HTTP.
type Breaks interface {
	Cut(n int, late bool)
	Reached() bool
}

// RunCut tests what a store does when connections break, at each of the requests of a run in turn: it
// goes on, and loses nothing.
func RunCut(t *testing.T, fresh func(t *testing.T) (open func() store.Store, breaks Breaks)) {
	for _, late := range []bool{false, true} {
		for n := 1; ; n++ {
			open, breaks := fresh(t)
			s := &suite{t, open, context.Background()}
			st := open()
			v := s.put(st, store.Default, state(1), "")
			breaks.Cut(n, late)
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

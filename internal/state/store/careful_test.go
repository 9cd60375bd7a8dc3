package store_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/state/store"
)

// deaf is a store whose answers about locks do not arrive.
type deaf struct {
	store.Remote
	err    error // of each request for a lock, after it was carried out
	before func()
	breaks error // of a request to break one; nil: it is answered
	asked  int   // to break one
}

func (d *deaf) Lock(ctx context.Context, workspace string, who store.LockInfo) (func(context.Context) error, error) {
	d.before()
	_, _ = d.Remote.Lock(ctx, workspace, who)
	return nil, &store.UnansweredError{Err: d.err}
}

func (d *deaf) Break(ctx context.Context, workspace, id string) error {
	d.asked++
	if d.breaks != nil {
		return d.breaks
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return d.Remote.Break(ctx, workspace, id)
}

// TestLockUnheard: a lock that may have been taken by a request without an answer is given back by who gives up, or its ID
// is said.
func TestLockUnheard(t *testing.T) {
	lost, refused := errors.New("connection reset"), &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for name, c := range map[string]struct {
		err, breaks error
		interrupted bool
		asked       int
		left        bool
	}{
		"no answer":           {err: lost, asked: 1},
		"interrupted":         {err: lost, interrupted: true, asked: 1},
		"no answer to either": {err: lost, breaks: &store.UnansweredError{Err: lost}, asked: 1, left: true},
		"no connection":       {err: refused, left: true}, // it is there for the sake of the test alone
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			m := &store.Memory{}
			d := &deaf{Remote: m, err: c.err, breaks: c.breaks, before: func() {
				if c.interrupted {
					cancel()
				}
			}}
			st := store.Careful(d, store.Tries{Again: 2, Shortest: time.Millisecond, Longest: time.Millisecond})
			who := store.NewLockInfo("apply", "1")
			_, err := st.Lock(ctx, store.Default, who)
			if !errors.Is(err, c.err) || d.asked != c.asked {
				t.Errorf("asked %d times to give it back: %v", d.asked, err)
			}
			if said := strings.Contains(err.Error(), who.ID); said != (c.breaks != nil) {
				t.Errorf("the error says the ID: %t: %v", said, err)
			}
			_, err = m.Lock(t.Context(), store.Default, store.NewLockInfo("plan", "1"))
			if (err != nil) != c.left {
				t.Errorf("the next one: %v", err)
			}
		})
	}
}

// unwritten is a store whose answers about states do not arrive.
type unwritten struct {
	store.Remote
	err error
}

func (u unwritten) Put(context.Context, string, []byte, store.Version) (store.Version, error) {
	return "", u.err
}

// TestPartUnheard: as for a whole state, by the version that the part's writing would have made.
func TestPartUnheard(t *testing.T) {
	for _, v := range []store.Version{"", "2"} {
		_, err := store.Careful(parted{v: v}, store.Tries{Again: 1}).(store.Parted).PutPart(t.Context(), "w", store.Part{}, "1")
		if !errors.Is(err, errReset) || strings.Contains(err.Error(), "not known") != (v != "") {
			t.Errorf("version %q: it says %v", v, err)
		}
	}
}

var errReset = errors.New("connection reset")

// parted is a store whose answers about parts do not arrive.
type parted struct {
	store.Remote
	store.Parted
	v store.Version // of what is sent; "": nothing is
}

func (p parted) PutPart(context.Context, string, store.Part, store.Version) (store.Version, error) {
	return p.v, &store.UnansweredError{Err: errReset}
}

func (p parted) Version(context.Context, string) (store.Version, error) { return "1", nil }

// TestPutUnheard: whether a state was written is not known where a request may have come to the server, and only there.
func TestPutUnheard(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		open bool
	}{
		"no answer":     {&store.UnansweredError{Err: errors.New("connection reset")}, true},
		"no connection": {&store.UnansweredError{Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}, false},
		"no token":      {&store.UnansweredError{Err: errors.New("no token"), Unsent: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := store.Careful(unwritten{&store.Memory{}, c.err}, store.Tries{Again: 1}).Put(t.Context(), "w", []byte("{}"), "")
			if !errors.Is(err, c.err) || strings.Contains(err.Error(), "not known") != c.open {
				t.Errorf("it says %v", err)
			}
		})
	}
}

// TestInterruptedInWords: what a user reads of a request that an interrupt ended has no words of the language Go.
func TestInterruptedInWords(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := store.Tries{Again: 3}.Do(ctx, func() error {
		cancel()
		return &store.UnansweredError{Err: fmt.Errorf("Get: %w", ctx.Err())}
	})
	if !errors.Is(err, context.Canceled) || err.Error() != "it was interrupted" {
		t.Errorf("it says %v", err)
	}
}

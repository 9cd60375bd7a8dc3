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
	heard  int   // how many of those come before one that is answered all the same; 0: none does
	asked  int   // to break one
}

func (d *deaf) Lock(ctx context.Context, workspace string, who store.LockInfo) (func(context.Context) error, error) {
	d.before()
	_, _ = d.Remote.Lock(ctx, workspace, who)
	return nil, &store.UnansweredError{Err: d.err}
}

func (d *deaf) Break(ctx context.Context, workspace, id string) error {
	d.asked++
	if d.breaks != nil && (d.heard == 0 || d.asked <= d.heard) {
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

// partly is a store of parts of a state, of version 1, that answers one request to write after another.
type partly struct {
	store.Remote
	store.Parted
	answers []partAnswer
	now     store.Version
}

// partAnswer is the answer, and what is there after it.
type partAnswer struct {
	v, now store.Version
	err    error
}

func (p *partly) PutPart(context.Context, string, store.Part, store.Version) (store.Version, error) {
	a := p.answers[0]
	p.answers, p.now = p.answers[1:], a.now
	return a.v, a.err
}

func (p *partly) Version(context.Context, string) (store.Version, error) { return p.now, nil }

// TestPutPartUnheard is TestPutUnheard for a part of a state: where a request may have been carried out, the store is looked at
// before each further one.
func TestPutPartUnheard(t *testing.T) {
	lost := &store.UnansweredError{Err: errors.New("connection reset")}
	for name, c := range map[string]struct {
		answers []partAnswer
		says    string // "" for a success
		open    bool
	}{
		"no answer":          {[]partAnswer{{"2", "1", lost}, {"2", "1", lost}, {"2", "1", lost}}, "connection reset", true},
		"no connection":      {[]partAnswer{{"", "1", lost}, {"", "1", lost}, {"", "1", lost}}, "connection reset", false},
		"written after all":  {[]partAnswer{{"2", "2", lost}}, "", false},
		"and written late":   {[]partAnswer{{"2", "1", lost}, {"", "2", lost}}, "", false},
		"and no connection":  {[]partAnswer{{"2", "1", lost}, {"", "1", lost}, {"", "1", lost}}, "connection reset", true},
		"another was faster": {[]partAnswer{{"2", "3", lost}}, "changed by someone else", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &partly{Remote: &store.Memory{}, answers: c.answers}
			st, _ := store.PartsOf(store.Careful(p, store.Tries{Again: 2}))
			v, err := st.PutPart(t.Context(), "w", store.Part{}, "1")
			if c.says == "" && (err != nil || v != "2") || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "not known") != c.open) {
				t.Errorf("version %q: %v", v, err)
			}
		})
	}
}

// TestBreakUnheard: a lock that is not there was given back by a request without an answer, if one was made.
func TestBreakUnheard(t *testing.T) {
	for err, given := range map[error]bool{errors.New("connection reset"): true, &net.OpError{Op: "dial", Err: errors.New("connection refused")}: false} {
		d := &deaf{Remote: &store.Memory{}, breaks: &store.UnansweredError{Err: err}, heard: 1}
		err := store.Careful(d, store.Tries{Again: 2}).Break(t.Context(), "w", "4711")
		if (err == nil) != given {
			t.Errorf("given back: %t: %v", given, err)
		}
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

package store_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
)

// deaf is a store whose answers to requests for locks get lost.
type deaf struct {
	store.Remote
	err    error  // the error that each call of Lock returns, although it locks
	before func() // is called at the beginning of Lock
	breaks error  // the error that Break returns; nil if Break succeeds
	heard  int    // the number of calls of Break that fail before a call succeeds; 0 if all fail
	asked  int    // the number of calls of Break so far
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

// TestLockUnheard checks a lock whose request was not answered. Lock gives up, and releases the lock because the server
// may have it. If the release fails too, the error names the ID of the lock.
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
		"no connection":       {err: refused, left: true}, // the fake store locks in spite of the error, and no caller releases the lock
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
			st := store.Retrying(d, store.Tries{Retries: 2, Shortest: time.Millisecond, Longest: time.Millisecond})
			who := store.NewLockInfo("apply", "1")
			_, err := st.Lock(ctx, store.Default, who)
			if !errors.Is(err, c.err) || d.asked != c.asked {
				t.Errorf("asked %d times to give it back: %v", d.asked, err)
			}
			if reported := strings.Contains(err.Error(), who.ID); reported != (c.breaks != nil) {
				t.Errorf("the error says the ID: %t: %v", reported, err)
			}
			_, err = m.Lock(t.Context(), store.Default, store.NewLockInfo("plan", "1"))
			if (err != nil) != c.left {
				t.Errorf("the next one: %v", err)
			}
		})
	}
}

// unwritten is a store whose answers to requests for states get lost.
type unwritten struct {
	store.Remote
	err error
}

func (u unwritten) Put(context.Context, string, []byte, store.Version) (store.Version, error) {
	return "", u.err
}

// TestPutUnheard checks that the error of Put reports an unknown outcome if the request may have reached the server,
// and only then.
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
			_, err := store.Retrying(unwritten{&store.Memory{}, c.err}, store.Tries{Retries: 1}).Put(t.Context(), "w", []byte("{}"), "")
			if !errors.Is(err, c.err) || strings.Contains(err.Error(), "not known") != c.open {
				t.Errorf("it says %v", err)
			}
		})
	}
}

// partly is a store of parts of a state. PutPart returns the answers one after another. now is the present version.
type partly struct {
	store.Remote
	store.PartStore
	answers []partAnswer
	now     store.Version
}

func (p *partly) Capabilities() store.Capabilities {
	return store.Capabilities{Breaker: p, Parts: p, Versioner: p}
}

// partAnswer is an answer of PutPart, and the version that the store has after it.
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

// TestPutPartUnheard checks that the error of PutPart reports an unknown outcome if a request may have been executed,
// and only then. In this case, the version of the store is read before each retry.
func TestPutPartUnheard(t *testing.T) {
	noAnswer := &store.UnansweredError{Err: errors.New("connection reset")}
	for name, c := range map[string]struct {
		answers []partAnswer
		text    string // "" for a success
		open    bool
	}{
		"no answer":          {[]partAnswer{{"2", "1", noAnswer}, {"2", "1", noAnswer}, {"2", "1", noAnswer}}, "connection reset", true},
		"no connection":      {[]partAnswer{{"", "1", noAnswer}, {"", "1", noAnswer}, {"", "1", noAnswer}}, "connection reset", false},
		"written after all":  {[]partAnswer{{"2", "2", noAnswer}}, "", false},
		"and written late":   {[]partAnswer{{"2", "1", noAnswer}, {"", "2", noAnswer}}, "", false},
		"and no connection":  {[]partAnswer{{"2", "1", noAnswer}, {"", "1", noAnswer}, {"", "1", noAnswer}}, "connection reset", true},
		"another was faster": {[]partAnswer{{"2", "3", noAnswer}}, "changed by someone else", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &partly{Remote: &store.Memory{}, answers: c.answers}
			st := store.Retrying(p, store.Tries{Retries: 2}).Capabilities().Parts
			v, err := st.PutPart(t.Context(), "w", store.Part{}, "1")
			if c.text == "" && (err != nil || v != "2") || c.text != "" && (err == nil || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "not known") != c.open) {
				t.Errorf("version %q: %v", v, err)
			}
		})
	}
}

// TestBreakUnheard checks a Break that is repeated and finds no lock. It succeeds if an earlier request may have
// released the lock.
func TestBreakUnheard(t *testing.T) {
	for err, given := range map[error]bool{errors.New("connection reset"): true, &net.OpError{Op: "dial", Err: errors.New("connection refused")}: false} {
		d := &deaf{Remote: &store.Memory{}, breaks: &store.UnansweredError{Err: err}, heard: 1}
		err := store.Retrying(d, store.Tries{Retries: 2}).Break(t.Context(), "w", "4711")
		if (err == nil) != given {
			t.Errorf("given back: %t: %v", given, err)
		}
	}
}

// TestInterruptedInWords checks that the message about an interrupted request contains no text of Go errors.
func TestInterruptedInWords(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := store.Tries{Retries: 3}.Do(ctx, func() error {
		cancel()
		return &store.UnansweredError{Err: fmt.Errorf("Get: %w", ctx.Err())}
	})
	if !errors.Is(err, context.Canceled) || err.Error() != "it was interrupted" {
		t.Errorf("it says %v", err)
	}
}

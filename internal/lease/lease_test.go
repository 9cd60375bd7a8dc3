package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
)

// stage is the fake provider and the Ledger (the list of leases) of one test, in a synctest bubble with fake time.
type stage struct {
	*Ledger
	began time.Time
	jump  time.Duration // offset of the fake wall clock to the fake time

	mu       sync.Mutex
	calls    []string // each call with the second since began
	events   []string // each event with the second since began
	reported []string // each diagnostic with the second since began

	renew func(n int, private string) (provider.RenewResponse, provider.Diags) // answers the n-th call to renew a lease, counted from 1; private is the private data of the call
	close func(typ, private string) provider.Diags                             // answers a call to close a lease; nil: each call succeeds
	fake  *providertest.Fake
	n     int // the number of calls to renew a lease so far
}

func newStage(o Options) *stage {
	s := &stage{began: time.Now()}
	o.Now = func() time.Time { s.mu.Lock(); defer s.mu.Unlock(); return time.Now().Add(s.jump) }
	o.Sink = s
	s.Ledger = NewLedger(o)
	s.fake = &providertest.Fake{
		Address: addr.Default("vault"),
		OnRenew: func(ctx context.Context, typ string, private []byte) (provider.RenewResponse, provider.Diags) {
			s.note("renew %s %s", typ, private)
			s.mu.Lock()
			s.n++
			n := s.n
			s.mu.Unlock()
			return s.renew(n, string(private))
		},
		OnCloseLease: func(ctx context.Context, typ string, private []byte) provider.Diags {
			s.note("close %s %s", typ, private)
			if s.close == nil {
				return nil
			}
			return s.close(typ, string(private))
		},
	}
	return s
}

func (s *stage) seconds() string { return fmt.Sprintf("%gs ", time.Since(s.began).Seconds()) }

func (s *stage) note(format string, a ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, s.seconds()+fmt.Sprintf(format, a...))
}

func (s *stage) Send(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := e.(type) {
	case event.Started:
		s.events = append(s.events, s.seconds()+e.Op.String()+" started")
	case event.Done:
		s.events = append(s.events, s.seconds()+e.Op.String()+" done after "+e.Took.String())
	case event.Failed:
		s.events = append(s.events, s.seconds()+e.Op.String()+" failed after "+e.Took.String())
	}
}

func (s *stage) report(ds provider.Diags) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range ds {
		s.reported = append(s.reported, s.seconds()+d.Severity.String()+" "+d.Error())
	}
}

// in returns the time d from now, without a monotonic clock reading.
func in(d time.Duration) time.Time { return time.Now().Add(d).Round(0) }

func (s *stage) open(typ string, renewAt time.Time, parents ...*Lease) *Lease {
	return s.openThrough(s.fake, typ, renewAt, parents...)
}

func (s *stage) openThrough(p provider.Provider, typ string, renewAt time.Time, parents ...*Lease) *Lease {
	return s.Opened(Opened{
		Object: object(typ), Provider: p, Type: typ, Private: []byte("p0"),
		RenewAt: renewAt, Parents: parents, Report: s.report,
	})
}

func object(typ string) addr.Object {
	return addr.Object{Instance: addr.Instance{Mode: addr.Ephemeral, Type: typ, Name: "x"}}
}

func (s *stage) expect(t *testing.T, what string, got *[]string, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
	*got = nil
}

func bad(text string) provider.Diags { return provider.Diags{diag.Errorf("Denied", "%s.", text)} }

func fine(private string, at time.Time) (provider.RenewResponse, provider.Diags) {
	return provider.RenewResponse{Private: []byte(private), RenewAt: at}, nil
}

// bubble runs f with fake time. Goroutines that do not end fail the test.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func TestRenewsInTheBackground(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{})
		s.renew = func(n int, _ string) (provider.RenewResponse, provider.Diags) {
			time.Sleep(100 * time.Millisecond)
			return fine(fmt.Sprintf("p%d", n), in(time.Duration(n)*100*time.Second))
		}
		x := s.open("tok", in(90*time.Second))
		time.Sleep(400 * time.Second)
		if !s.Close(x) {
			t.Error("not closed")
		}
		s.expect(t, "calls", &s.calls, "90s renew tok p0", "190.1s renew tok p1", "390.2s renew tok p2", "400s close tok p3")
		s.expect(t, "told", &s.events,
			"90s renew started", "90.1s renew done after 100ms",
			"190.1s renew started", "190.2s renew done after 100ms",
			"390.2s renew started", "390.3s renew done after 100ms",
			"400s close started", "400s close done after 0s")
		if diff := cmp.Diff(event.Leases{Opened: 1, Renewed: 3, Closed: 1, Longest: 400 * time.Second}, s.Summary()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNeverRenewsEarly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{})
		s.renew = func(int, string) (provider.RenewResponse, provider.Diags) { return fine("p1", time.Time{}) }
		x := s.open("tok", in(10*time.Second))
		for range 9 {
			time.Sleep(time.Second)
			if err := x.Fresh(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(999 * time.Millisecond)
		_ = x.Fresh(t.Context())
		s.expect(t, "calls before", &s.calls)
		time.Sleep(time.Millisecond)
		_ = x.Fresh(t.Context())
		s.expect(t, "calls at the time", &s.calls, "10s renew tok p0")
		time.Sleep(time.Hour) // the answer to the renewal had no renewal time, so no renewal follows
		s.Close(x)
		s.expect(t, "calls at the end", &s.calls, "3610s close tok p1")
	})
}

func TestPastRenewalTimesAreSpaced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{})
		s.renew = func(int, string) (provider.RenewResponse, provider.Diags) { return fine("p", in(-time.Hour)) }
		x := s.open("tok", in(-time.Hour))
		for range 29 {
			if err := x.Fresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		s.Close(x)
		s.expect(t, "calls", &s.calls, "0s renew tok p0", "1s renew tok p", "2s renew tok p", "2.9s close tok p")
	})
}

func TestFreshWaitsForARunningRenewal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{})
		s.renew = func(int, string) (provider.RenewResponse, provider.Diags) {
			time.Sleep(3 * time.Second)
			return fine("p1", time.Time{})
		}
		x := s.open("tok", in(time.Second))
		time.Sleep(2 * time.Second)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if err := x.Fresh(t.Context()); err != nil {
					t.Error(err)
				}
				s.note("fresh")
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if err := x.Fresh(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a cancelled user got %v", err)
		}
		cancel()
		wg.Wait()
		s.Close(x)
		s.expect(t, "calls", &s.calls, "1s renew tok p0", "4s fresh", "4s fresh", "4s fresh", "4s fresh", "4s fresh", "4s close tok p1")
	})
}

func TestRenewalIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{})
		s.renew = func(n int, _ string) (provider.RenewResponse, provider.Diags) {
			if n < 4 {
				return provider.RenewResponse{Private: []byte("junk"), RenewAt: in(time.Hour)}, bad("try later")
			}
			return fine("p1", time.Time{})
		}
		x := s.open("tok", in(0))
		if err := x.Fresh(t.Context()); err != nil {
			t.Error(err)
		}
		s.Close(x)
		s.expect(t, "calls", &s.calls, "0s renew tok p0", "1s renew tok p0", "3s renew tok p0", "7s renew tok p0", "7s close tok p1")
		s.expect(t, "said", &s.reported)
	})
}

func TestFailedRenewal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{})
		s.renew = func(n int, _ string) (provider.RenewResponse, provider.Diags) {
			if n == 1 {
				return fine("p1", in(time.Second))
			}
			return provider.RenewResponse{}, append(bad("revoked"), diag.Warningf("Slow", "The server is busy."))
		}
		x := s.open("tok", in(0))
		time.Sleep(20 * time.Second)
		err := x.Fresh(t.Context())
		var expired *Expired
		if !errors.As(err, &expired) || expired.Reason != "Denied: revoked" {
			t.Errorf("a later user got %v", err)
		}
		s.expect(t, "said", &s.reported,
			"1s warning ephemeral.tok.x: Slow; The server is busy.",
			"8s error ephemeral.tok.x: Denied; revoked.")
		s.Close(x)
		s.expect(t, "calls", &s.calls, "0s renew tok p0", "1s renew tok p1", "2s renew tok p1", "4s renew tok p1", "8s renew tok p1", "20s close tok p1")
		s.expect(t, "told", &s.events, "0s renew started", "0s renew done after 0s", "1s renew started", "8s renew failed after 7s", "20s close started", "20s close done after 0s")
	})
}

func TestWarningsAreShownOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{})
		s.renew = func(n int, _ string) (provider.RenewResponse, provider.Diags) {
			return provider.RenewResponse{RenewAt: in(5 * time.Second)}, provider.Diags{diag.Warningf("Short lease", "Ask for more.")}
		}
		x := s.open("tok", in(5*time.Second))
		time.Sleep(time.Minute)
		s.Close(x)
		s.expect(t, "said", &s.reported, "5s warning ephemeral.tok.x: Short lease; Ask for more.")
		if last := s.calls[len(s.calls)-1]; last != "60s close tok p0" {
			t.Errorf("a renewal without private data lost it: %s", last)
		}
	})
}

func TestCloseDuringRenewal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{CloseTimeout: 10 * time.Second})
		s.renew = func(int, string) (provider.RenewResponse, provider.Diags) {
			time.Sleep(3 * time.Second)
			return fine("p1", in(0))
		}
		x := s.open("tok", in(time.Second))
		time.Sleep(2 * time.Second)
		if !s.Close(x) {
			t.Error("not closed")
		}
		s.expect(t, "calls", &s.calls, "1s renew tok p0", "4s close tok p1")
		if err := x.Fresh(t.Context()); err == nil {
			t.Error("a closed lease is fresh")
		}
	})
}

func TestCloseBetweenTries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{})
		s.renew = func(int, string) (provider.RenewResponse, provider.Diags) {
			return provider.RenewResponse{}, bad("busy")
		}
		x := s.open("tok", in(time.Second))
		time.Sleep(3 * time.Second)
		s.Close(x)
		s.expect(t, "calls", &s.calls, "1s renew tok p0", "2s renew tok p0", "3s close tok p0")
		s.expect(t, "said", &s.reported, "3s warning ephemeral.tok.x: Denied; busy.")
	})
}

func TestHangingRenewalDoesNotBlockClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{CloseTimeout: 5 * time.Second})
		release := make(chan struct{})
		s.renew = func(int, string) (provider.RenewResponse, provider.Diags) {
			<-release
			return fine("late", time.Time{})
		}
		x := s.open("tok", in(time.Second))
		time.Sleep(2 * time.Second)
		if !s.Close(x) {
			t.Error("not closed")
		}
		s.expect(t, "calls", &s.calls, "1s renew tok p0", "7s close tok p0")
		if held := s.Summary().Longest; held != 7*time.Second {
			t.Errorf("held for %s: it is open until it is closed", held)
		}
		if len(s.reported) != 1 || !strings.Contains(s.reported[0], "7s warning") || !strings.Contains(s.reported[0], "renewed within 6s") {
			t.Errorf("said %q", s.reported)
		}
		close(release)
	})
}

// When Abandon ends, the Ledger (the list of leases) gives up renewals, and when Leave ends, it gives up closings. It
// lists each lease that remains open.
func TestAbandonAndLeave(t *testing.T) {
	bubble(t, func(t *testing.T) {
		abandon, abandoned := context.WithCancel(t.Context())
		leave, left := context.WithCancel(t.Context())
		s := newStage(Options{Abandon: abandon, Leave: leave, Parallelism: 2})
		release := make(chan struct{})
		defer close(release)
		s.renew = func(int, string) (provider.RenewResponse, provider.Diags) {
			<-release
			return fine("late", time.Time{})
		}
		s.close = func(typ, _ string) provider.Diags {
			if typ == "hangs" || typ == "too" {
				<-release
			}
			return nil
		}
		var closed []string
		for _, typ := range []string{"fine", "hangs", "too", "last"} {
			s.Opened(Opened{
				Object: object(typ), Provider: s.fake, Type: typ, RenewAt: in(time.Second),
				Report: s.report, Closed: func() { s.mu.Lock(); defer s.mu.Unlock(); closed = append(closed, typ) },
			})
		}
		time.AfterFunc(3*time.Second, abandoned)
		time.AfterFunc(4*time.Second, left)
		time.Sleep(2 * time.Second)
		var open []string
		for _, x := range s.CloseAll() {
			open = append(open, x.Object.Type)
		}
		if took := time.Since(s.began); took != 4*time.Second || len(closed)+len(open) != 4 || !slices.Contains(closed, "fine") || !slices.Contains(open, "hangs") || !slices.Contains(open, "too") {
			t.Errorf("after %s: closed %v, open %v", took, closed, open)
		}
	})
}

func TestHangingRenewalIsGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{RenewTimeout: 10 * time.Second})
		release := make(chan struct{})
		s.renew = func(int, string) (provider.RenewResponse, provider.Diags) {
			<-release
			return provider.RenewResponse{}, nil
		}
		x := s.open("tok", in(0))
		err := x.Fresh(t.Context())
		if err == nil || !strings.Contains(err.Error(), "renewed within 10s") {
			t.Errorf("got %v", err)
		}
		s.Close(x)
		s.expect(t, "calls", &s.calls, "0s renew tok p0", "11s renew tok p0", "23s renew tok p0", "37s renew tok p0", "47s close tok p0")
		close(release)
	})
}

func TestHangingClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{CloseTimeout: 5 * time.Second})
		s.fake.OnCloseLease = func(ctx context.Context, typ string, private []byte) provider.Diags {
			<-ctx.Done() // a provider in another process also answers after the context ends
			return bad("context deadline exceeded")
		}
		x := s.open("tok", time.Time{})
		for range 2 {
			if s.Close(x) {
				t.Error("closed")
			}
		}
		left := s.CloseAll()
		if len(left) != 1 || left[0].Object != object("tok") || left[0].Provider != addr.Default("vault") || !strings.Contains(left[0].Reason, "closed within 5s") {
			t.Errorf("left: %v", left)
		}
		if n := s.fake.Count("CloseLease tok"); n != 1 {
			t.Errorf("%d calls", n)
		}
		s.expect(t, "told", &s.events, "0s close started", "5s close failed after 5s")
		if sum := s.Summary(); sum.Left != 1 || sum.Closed != 0 {
			t.Errorf("summary %+v", sum)
		}
	})
}

func TestClockJumps(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{})
		s.renew = func(int, string) (provider.RenewResponse, provider.Diags) { return fine("p1", time.Time{}) }
		set := func(d time.Duration) { s.mu.Lock(); s.jump = d; s.mu.Unlock() }

		x := s.open("forward", in(time.Hour))
		time.Sleep(61 * time.Second)
		set(2 * time.Hour) // the jump is noticed at the next clockPoll, without a use of the lease
		time.Sleep(29 * time.Second)
		synctest.Wait()
		s.expect(t, "forward", &s.calls, "90s renew forward p0")
		s.Close(x)
		s.calls = nil

		set(0)
		x = s.open("asked", in(time.Hour))
		time.Sleep(time.Second)
		set(2 * time.Hour) // the jump is noticed at the next use of the lease
		if err := x.Fresh(t.Context()); err != nil {
			t.Error(err)
		}
		s.expect(t, "asked", &s.calls, "91s renew asked p0")
		s.Close(x)
		s.calls = nil

		set(0)
		x = s.open("back", in(10*time.Second))
		set(-time.Hour) // the timer fires before the renewal time
		time.Sleep(time.Hour)
		s.expect(t, "back", &s.calls)
		time.Sleep(clockPoll + 10*time.Second)
		synctest.Wait()
		s.expect(t, "back, an hour later", &s.calls, "3701s renew back p0")
		s.Close(x)
	})
}

// Between waits for the running closings of leases through one provider process, but not for closings through other
// processes. The next closing through this process waits for Between.
func TestBetween(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{})
		s.close = func(string, string) provider.Diags {
			time.Sleep(5 * time.Second)
			return nil
		}
		second := &providertest.Fake{OnCloseLease: s.fake.OnCloseLease}
		next := s.open("next", time.Time{})
		s.openThrough(second, "other", time.Time{})
		x := s.open("first", time.Time{})
		go s.Close(x)
		time.Sleep(time.Second)
		s.Between(second, func() { s.note("the other") })
		s.Between(s.fake, func() {
			go s.Close(next)
			time.Sleep(time.Second)
			s.note("between")
		})
		synctest.Wait() // the next closing has started
		s.CloseAll()
		s.expect(t, "calls", &s.calls, "0s close first p0", "1s the other", "6s between", "6s close next p0", "6s close other p0")
	})
}

func TestCloseOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{})
		s.close = func(string, string) provider.Diags { time.Sleep(time.Second); return nil }
		x := s.open("tok", time.Time{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if !s.Close(x) {
					t.Error("not closed")
				}
			})
			wg.Go(func() {
				if left := s.CloseAll(); left != nil {
					t.Errorf("left %v", left)
				}
			})
		}
		time.Sleep(500 * time.Millisecond)
		if open := s.Open(); len(open) != 1 || open[0].Reason != "it is still being closed" {
			t.Errorf("open meanwhile: %v", open)
		}
		wg.Wait()
		if n := s.fake.Count("CloseLease tok"); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}

// TestToldFirst: a renewal that is due at once waits until the event of the opening has been sent.
func TestToldFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{})
		delivered := make(chan struct{})
		x := s.Opened(Opened{Object: object("tok"), Provider: s.fake, Type: "tok", RenewAt: in(0), Delivered: delivered, Report: s.report})
		time.Sleep(time.Minute)
		if n := s.fake.Count("Renew tok"); n != 0 {
			t.Errorf("renewed %d times before", n)
		}
		close(delivered)
		time.Sleep(time.Second / 2)
		if n := s.fake.Count("Renew tok"); n == 0 {
			t.Error("not renewed afterwards")
		}
		s.Close(x)
	})
}

func TestPanickingProvider(t *testing.T) {
	const canary = "canary-7f3a"
	bubble(t, func(t *testing.T) {
		s := newStage(Options{})
		s.renew = func(int, string) (provider.RenewResponse, provider.Diags) { panic(canary) }
		s.close = func(string, string) provider.Diags { panic(canary) }
		x := s.Opened(Opened{Object: object("tok"), Provider: s.fake, Type: "tok", Private: []byte(canary), RenewAt: in(0), Report: s.report})
		err := x.Fresh(t.Context())
		if err == nil {
			t.Error("fresh")
		}
		all := fmt.Sprint(err, s.CloseAll(), s.Open(), s.reported, s.events)
		if !strings.Contains(all, "panicked") || strings.Contains(all, canary) {
			t.Errorf("said %s", all)
		}
	})
}

func TestCloseAllOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{Parallelism: 2})
		s.close = func(typ, _ string) provider.Diags {
			time.Sleep(time.Second)
			if typ == "child" {
				return bad("no")
			}
			return nil
		}
		second := &providertest.Fake{Address: addr.Default("consul"), OnCloseLease: s.fake.OnCloseLease}
		s.Session(s.fake, nil, func() { s.note("stop vault") })
		parent := s.open("parent", time.Time{})
		end := s.Session(second, []*Lease{parent}, func() { s.note("stop consul") })
		child := s.openThrough(second, "child", time.Time{}, parent)
		s.openThrough(second, "grandchild", time.Time{}, child)
		for _, n := range []string{"a", "b", "c", "d"} {
			s.openThrough(second, n, time.Time{})
		}
		closed := s.open("closed", time.Time{}, parent)
		s.Close(closed)
		s.calls = nil
		left := s.CloseAll()
		end() // end is called after CloseAll has ended the session: nothing happens
		if len(left) != 1 || left[0].Object != object("child") || left[0].Reason != "Denied: no" {
			t.Errorf("left %v", left)
		}
		got := strings.Join(s.calls, "\n")
		at := func(what string) int {
			if n := strings.Count(got, what); n != 1 {
				t.Errorf("%s: %d times in\n%s", what, n, got)
			}
			return strings.Index(got, what)
		}
		for _, pair := range [][2]string{
			{"close grandchild", "close child"}, {"close child", "stop consul"}, {"close d", "stop consul"},
			{"stop consul", "close parent"}, {"close parent", "stop vault"},
		} {
			if at(pair[0]) > at(pair[1]) {
				t.Errorf("%s came after %s:\n%s", pair[0], pair[1], got)
			}
		}
		// Each closing takes one second: first the lease closed, then six leases, two at a time, and at the end the
		// parent.
		if took := time.Since(s.began); took != 5*time.Second {
			t.Errorf("took %s:\n%s", took, got)
		}
	})
}

// Concurrent callers close no more leases at a time than Parallelism. The time limit of a closing starts when the
// closing starts.
func TestClosesWithinParallelism(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{Parallelism: 3, CloseTimeout: 2 * time.Second})
		now, most := 0, 0
		s.close = func(string, string) provider.Diags {
			s.mu.Lock()
			now++
			most = max(most, now)
			s.mu.Unlock()
			time.Sleep(time.Second)
			s.mu.Lock()
			now--
			s.mu.Unlock()
			return nil
		}
		var wg sync.WaitGroup
		for i := range 12 {
			x := s.open(fmt.Sprint("l", i), time.Time{})
			wg.Go(func() { s.Close(x) })
		}
		wg.Wait()
		if took := time.Since(s.began); most != 3 || took != 4*time.Second {
			t.Errorf("%d at a time, and it took %s", most, took)
		}
		if left := s.CloseAll(); left != nil {
			t.Errorf("left %v", left)
		}
	})
}

type buggy struct{}

func (buggy) Send(event.Event) { panic("a bug") }

// A panic of the sink of events is passed on to the caller, and all leases are closed anyway.
func TestPanickingSink(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var panics []any
		s := newStage(Options{Panicked: func(v any, _ []byte) { panics = append(panics, v) }})
		s.renew = func(int, string) (provider.RenewResponse, provider.Diags) { return fine("p1", time.Time{}) }
		s.o.Sink = buggy{}
		x := s.Opened(Opened{Object: object("tok"), Provider: s.fake, Type: "tok", Private: []byte("p0"), RenewAt: in(0)})
		if err := x.Fresh(t.Context()); err != nil {
			t.Error(err)
		}
		if left := s.CloseAll(); left != nil {
			t.Errorf("left %v", left)
		}
		s.expect(t, "calls", &s.calls, "0s renew tok p0", "0s close tok p1")
		if len(panics) != 4 {
			t.Errorf("panics %v", panics)
		}
	})
}

func TestOpenedWhileClosingAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{})
		s.close = func(typ, _ string) provider.Diags {
			if typ == "first" {
				s.open("late", in(time.Hour))
			}
			return nil
		}
		s.open("first", time.Time{})
		if left := s.CloseAll(); left != nil {
			t.Errorf("left %v", left)
		}
		s.expect(t, "calls", &s.calls, "0s close first p0", "0s close late p0")
	})
}

func TestSessionsInACircle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(Options{})
		x := s.open("x", time.Time{})
		s.Session(s.fake, []*Lease{x}, func() { s.note("stop") }) // the session's process is configured with a lease that was opened through this process
		if left := s.CloseAll(); left != nil {
			t.Errorf("left %v", left)
		}
		slices.Sort(s.calls)
		s.expect(t, "calls", &s.calls, "0s close x p0", "0s stop")
	})
}

// Kept leases stay open at the end of a walk, with the provider sessions through which they were opened. The next walk
// with the ledger counts the leases when it closes them.
func TestKeptLeases(t *testing.T) {
	bubble(t, func(t *testing.T) {
		keeps := map[*Lease]bool{}
		s := newStage(Options{Kept: func(x *Lease) bool { return keeps[x] }})
		s.open("gone", time.Time{})
		x := s.open("kept", time.Time{})
		keeps[x] = true
		s.Session(s.fake, nil, func() { s.note("stop") })
		if left := s.CloseAll(); len(left) > 0 {
			t.Errorf("left %v", left)
		}
		s.expect(t, "calls", &s.calls, "0s close gone p0")
		if got := s.Summary(); got.Opened != 2 || got.Closed != 1 || got.Kept != 1 || got.Left != 0 {
			t.Errorf("the summary is %+v", got)
		}
		if left := s.Open(); len(left) != 1 {
			t.Errorf("open are %v", left)
		}
		s.Continue()
		keeps[x] = false
		if left := s.CloseAll(); left != nil {
			t.Errorf("left %v", left)
		}
		s.expect(t, "calls", &s.calls, "0s close kept p0", "0s stop")
		if got := s.Summary(); got.Opened != 0 || got.Closed != 1 || got.Kept != 0 {
			t.Errorf("the summary is %+v", got)
		}
	})
}

package view

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
	"github.com/lethe-iac/lethe/internal/view/queue"
)

// screen emulates a terminal. It interprets the sequences that the live block sends: text, line breaks, "up n lines"
// and "erase to the end".
type screen struct {
	t      *testing.T
	lines  []string
	row    int
	writes int
}

func (s *screen) Write(b []byte) (int, error) {
	s.writes++
	for i := 0; i < len(b); {
		switch c := b[i]; c {
		case '\n':
			s.row++
			for len(s.lines) <= s.row {
				s.lines = append(s.lines, "")
			}
			i++
		case '\r':
			i++
		case 0x1b:
			i += s.control(b[i:])
		default:
			n := bytes.IndexAny(b[i:], "\n\r\x1b")
			if n < 0 {
				n = len(b) - i
			}
			for len(s.lines) <= s.row {
				s.lines = append(s.lines, "")
			}
			s.lines[s.row] += string(b[i : i+n])
			i += n
		}
	}
	return len(b), nil
}

func (s *screen) control(b []byte) int {
	end := bytes.IndexAny(b, "AJm")
	if end < 0 {
		s.t.Fatalf("unknown control sequence %q", b)
	}
	switch b[end] {
	case 'A':
		n, _ := strconv.Atoi(string(b[2:end]))
		if s.row -= n; s.row < 0 {
			s.t.Fatal("above the screen")
		}
	case 'J':
		s.lines = append(s.lines[:s.row], "")
	}
	return end + 1
}

func (s *screen) String() string { return strings.TrimSuffix(strings.Join(s.lines, "\n"), "\n") }

func TestLiveBlock(t *testing.T) {
	clock := newClock()
	s := &screen{t: t}
	h := NewHuman(s, s, Options{Terminal: true, Width: 60, Now: clock.now})
	h.ops.stop()
	h.live.total = 4
	obj := func(n int) addr.Object { return object(t, fmt.Sprintf("a.b[%d]", n)) }
	h.Send(event.Started{Object: obj(0), Op: event.Create, At: clock.now()})
	h.Send(event.Started{Object: obj(1), Op: event.Create, At: clock.now()})
	clock.advance(12 * time.Second)
	h.beat(clock.now())
	want := `a.b[0]: Creating...
a.b[1]: Creating...
a.b[0]: Still creating... [10s elapsed]
a.b[1]: Still creating... [10s elapsed]
  a.b[0]: creating                                      12s
  a.b[1]: creating                                      12s
0/4 done · 2 running · 2 waiting`
	if got := s.String(); got != want {
		t.Errorf("-want +got:\n%s", lineDiff(want, got))
	}
	h.Send(event.Done{Object: obj(0), Op: event.Create, Took: 12 * time.Second})
	h.Diagnostics([]diag.Diagnostic{diag.Warningf("Careful", "")})
	clock.advance(time.Second)
	h.beat(clock.now())
	if got := s.String(); !strings.HasSuffix(got, "a.b[0]: Creation complete after 12s\n╷\n│ Warning: Careful\n╵\n  a.b[1]: creating                                      13s\n1/4 done · 1 running · 2 waiting") {
		t.Error(got)
	}
	h.Send(event.Failed{Object: obj(1), Op: event.Create})
	if got := s.String(); strings.Contains(got, "running") {
		t.Error("the block stays though nothing runs:", got)
	}
	h.Finish()
}

// TestProgress checks the last line of the live block. The number of failures is never cut off. The remaining time is
// shown when enough operations are done to estimate it.
func TestProgress(t *testing.T) {
	start := time.Unix(0, 0)
	var ops []*op
	for _, name := range []string{"a.b", "a.c", "a.d"} {
		ops = append(ops, &op{opKey: opKey{object: object(t, name), op: event.Create}, began: start})
	}
	needs := []addr.Resource{ops[1].object.Resource()}
	held := queue.New(&plan.Plan{Changes: []*plan.Change{
		{Object: ops[1].object, Action: plan.Create}, {Object: object(t, "a.e"), Action: plan.Create, Recorded: needs},
	}})
	for want, l := range map[string]*live{
		"3 running":                          {},
		"3 running · 7 refreshed":            {refreshed: 7},
		"2/40 done · 3 running · 35 waiting": {total: 40, done: 2, began: start},
		"10/40 done · about 30s left · 3 running · 27 waiting":    {total: 40, done: 10, began: start},
		"10/13 done · about 3s left · 3 running":                  {total: 13, done: 10, began: start},
		"1 failed · 10/40 done · 3 running · 26 waiting":          {total: 40, done: 10, failed: 1, began: start},
		"0/4 done · 3 running · 1 waiting · 1 wait for a.c (10s)": {total: 4, queue: held, began: start},
	} {
		if got := l.progress(ops, start.Add(10*time.Second)); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestLiveLeavesTheSameLines checks that the final text on a terminal is equal to the text that a pipe receives.
func TestLiveLeavesTheSameLines(t *testing.T) {
	run := func(h *Human, clock *clock) {
		h.ops.stop()
		for n := range 40 {
			o := object(t, fmt.Sprintf("module.m[%d].some_resource.with_a_long_name_日本語[%d]", n%3, n))
			h.Send(event.Started{Object: o, Op: event.Create, At: clock.now()})
			clock.advance(time.Duration(n*37) * time.Millisecond)
			h.beat(clock.now())
			if n >= 15 {
				p := object(t, fmt.Sprintf("module.m[%d].some_resource.with_a_long_name_日本語[%d]", (n-15)%3, n-15))
				h.Send(event.Done{Object: p, Op: event.Create, Took: time.Second, IDKey: "id", ID: "x"})
			}
			if n%7 == 0 {
				h.Send(event.Note{Text: "text of a command"})
				h.Diagnostics([]diag.Diagnostic{diag.Warningf(fmt.Sprintf("W%d", n), "detail"), diag.Errorf(fmt.Sprintf("E%d", n), "detail")})
			}
		}
		h.Finish()
	}
	c1, c2 := newClock(), newClock()
	s := &screen{t: t}
	h := NewHuman(s, s, Options{Terminal: true, Width: 50, Now: c1.now, Color: false})
	run(h, c1)
	var pipe bytes.Buffer
	run(NewHuman(&pipe, &pipe, Options{Width: 50, Now: c2.now}), c2)
	if got, want := s.String(), strings.TrimSuffix(pipe.String(), "\n"); strings.TrimSuffix(got, "\n") != want {
		t.Errorf("-pipe +terminal:\n%s", lineDiff(want, got))
	}
}

func TestLiveRefreshesSeldom(t *testing.T) {
	clock := newClock()
	s := &screen{t: t}
	h := NewHuman(s, s, Options{Terminal: true, Width: 80, Now: clock.now})
	h.ops.stop()
	for n := range 1000 {
		h.Send(event.Started{Object: object(t, fmt.Sprintf("a.b[%d]", n)), Op: event.Create, At: clock.now()})
		clock.advance(time.Millisecond)
	}
	if s.writes > 12 { // the test lasts one second, with at most ten writes
		t.Errorf("%d writes in a second", s.writes)
	}
	if rows := strings.Count(s.String(), ": creating "); rows != maxRows-1 {
		t.Errorf("%d rows", rows)
	}
	if !strings.Contains(s.String(), "… and ") {
		t.Error("the rows that are left out are not counted")
	}
	h.Finish()
}

func TestNoLiveBlock(t *testing.T) {
	for name, o := range map[string]Options{"pipe": {}, "narrow": {Terminal: true, Width: 39}, "unknown width": {Terminal: true}} {
		var b bytes.Buffer
		if h := NewHuman(&b, &b, o); h.live != nil {
			t.Error(name)
		}
	}
}

func TestRowsFit(t *testing.T) {
	l := &live{width: 50}
	for _, text := range []string{"short", strings.Repeat("x", 200), strings.Repeat("日", 100), "日本" + strings.Repeat("y", 44)} {
		if got := l.row(text, "12s", ""); columns(got) > 49 || !strings.HasSuffix(got, "  12s") {
			t.Errorf("%d columns: %s", columns(got), got)
		}
	}
}

// TestBlockFitsResized checks that the live block is drawn for the current size of the terminal.
func TestBlockFitsResized(t *testing.T) {
	s := &screen{t: t}
	w, h := 80, 40
	v := NewHuman(s, s, Options{Terminal: true, Width: w, Resized: func() (int, int) { return w, h }, Now: func() time.Time { return time.Unix(9, 0) }})
	w, h = 50, 5
	for i := range 8 {
		v.Send(event.Started{Object: object(t, fmt.Sprintf("a.b%d", i)), Op: event.Create, At: time.Unix(0, 0)})
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.live.drawn = time.Time{}
	v.live.draw(&v.ops, time.Unix(9, 0))
	rows := strings.Split(s.String()[strings.LastIndex(s.String(), "  a.b0"):], "\n")
	if len(rows) != 4 || columns(rows[0]) != 49 || rows[2] != "  … and 6 more" {
		t.Errorf("drawn for another terminal: %q", rows)
	}
	w = minWidth - 1
	v.live.drawn = time.Time{}
	v.live.draw(&v.ops, time.Unix(9, 0))
	if got := s.String(); strings.Contains(got, "  a.b0") {
		t.Errorf("drawn where it does not fit: %q", got)
	}
}

// TestClockRuns runs the view with the real clock and checks that the goroutine of the clock ends with the view.
func TestClockRuns(t *testing.T) {
	var b bytes.Buffer
	start := time.Now().Add(-time.Hour)
	h := NewHuman(&b, &b, Options{})
	h.ops.period = time.Millisecond
	h.Send(event.Started{Object: object(t, "a.b"), Op: event.Create, At: start})
	waittest.Until(t, "the creation is reported again", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return strings.Contains(b.String(), "Still creating... [1h0m0s elapsed]")
	})
	h.Send(event.Done{Object: object(t, "a.b"), Op: event.Create})
	h.Finish()
	if h.ops.quit != nil {
		t.Error("the clock still runs")
	}
}

// TestClockPanics checks that a panic during a beat stops the clock and nothing else.
func TestClockPanics(t *testing.T) {
	var b bytes.Buffer
	h := NewHuman(&b, &b, Options{})
	beaten := make(chan bool)
	h.ops.period = time.Millisecond
	h.ops.tick = func(time.Time) {
		defer close(beaten) // a second beat would close the channel again
		panic("out of step")
	}
	h.Send(event.Started{Object: object(t, "a.b"), Op: event.Create, At: time.Now()})
	<-beaten
	h.Send(event.Done{Object: object(t, "a.b"), Op: event.Create})
	h.Finish()
	if !strings.Contains(b.String(), "a.b: Creation complete") {
		t.Errorf("the view says no more:\n%s", b.String())
	}
}

// TestDownloads checks that downloads are shown with bytes, speed and remaining time in the live block, and nowhere
// else.
func TestDownloads(t *testing.T) {
	clock := newClock()
	s := &screen{t: t}
	h := NewHuman(s, s, Options{Terminal: true, Width: 70, Now: clock.now})
	h.ops.stop()
	h.Send(event.Note{Text: "- Installing acme/a v1.0.0..."})
	h.Send(event.Transfer{Name: "acme/a 1.0.0"})
	h.Send(event.Transfer{Name: "acme/b\x1b 2.0.0"})
	h.Send(event.Transfer{Name: "acme/c 3.0.0"})
	h.Send(event.Transfer{Name: "acme/c 3.0.0", Ended: true})
	clock.advance(2 * time.Second)
	h.Send(event.Transfer{Name: "acme/b\x1b 2.0.0", Done: 5_000_000})
	clock.advance(2 * time.Second)
	h.Send(event.Transfer{Name: "acme/a 1.0.0", Done: 20_000_000, All: 50_000_000})
	want := `- Installing acme/a v1.0.0...
  acme/a 1.0.0                      20.0/50.0 MB · 5.0 MB/s · 6s left
  acme/b\u{1b} 2.0.0                                5.0 MB · 1.2 MB/s
1/3 downloaded                                     25.0 MB · 6.2 MB/s`
	if got := s.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := interruptText(1, "Lethe", &h.ops); !strings.Contains(got, "acme/a 1.0.0 (downloading, 20.0/50.0 MB") {
		t.Errorf("an interrupt says %q", got)
	}
	h.Send(event.Transfer{Name: "acme/a 1.0.0", Ended: true})
	h.Send(event.Transfer{Name: "acme/b\x1b 2.0.0", Ended: true})
	if got := s.String(); got != "- Installing acme/a v1.0.0..." {
		t.Errorf("in the end there is %q", got)
	}

	var b bytes.Buffer
	for _, v := range []View{NewHuman(&b, &b, Options{}), NewJSON(&b, "1", Options{})} {
		b.Reset()
		v.Send(event.Transfer{Name: "acme/a 1.0.0", Done: 1, All: 2})
		v.Finish()
		if b.Len() > 0 {
			t.Errorf("%T prints %q", v, &b)
		}
	}
}

// TestRowsTellApart checks that shortened rows of different instances differ on a narrow terminal. A provisioner shares
// the row of its object.
func TestRowsTellApart(t *testing.T) {
	clock := newClock()
	s := &screen{t: t}
	h := NewHuman(s, s, Options{Terminal: true, Width: 50, Now: clock.now})
	h.ops.stop()
	h.live.total = 3
	for n := range 2 {
		o := object(t, fmt.Sprintf("module.network.example_subnetwork.with_a_long_name[%d]", n))
		h.Send(event.Started{Object: o, Op: event.Create, At: clock.now()})
		h.Send(event.ProvisionStarted{Object: o, Type: "local-exec"})
	}
	clock.advance(2 * time.Second)
	h.beat(clock.now())
	want := `
  module.network…a_long_name[0]: provisioning  2s
  module.network…a_long_name[1]: provisioning  2s
0/3 done · 2 running · 1 waiting`
	if got := s.String(); !strings.HasSuffix(got, want) {
		t.Errorf("it ends not with\n%s\nbut is\n%s", want, got)
	}
	if got := interruptText(1, "Lethe", &h.ops); strings.Count(got, "(provisioning, 2s)") != 2 || strings.Contains(got, "creating") {
		t.Errorf("an interrupt says %q", got)
	}
	h.Finish()
}

package base

import (
	"context"
	"io"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/provider"
)

// After the second interrupt the program is gone within three seconds, also where calls hang.
const (
	abandonAfter = time.Second             // calls that are still under way are not waited for
	leaveAfter   = 2500 * time.Millisecond // nor are closings of leases
	goneAfter    = 3 * time.Second
	partTime     = 2 * time.Second // after the third, for what is open to be closed by the keeper
)

// begun ends with the first interrupt; nil without any.
func (s *Stops) begun() <-chan struct{} {
	if s.Begin == nil {
		return nil
	}
	return s.Begin.Done()
}

// interrupts makes what interrupts end, and listens for them.
func (c *Call) interrupts(parent context.Context) (context.Context, func()) {
	var begin context.CancelFunc
	var abandon, leave context.CancelCauseFunc
	c.Stops.Begin, begin = context.WithCancel(parent)
	c.Stops.Abandon, abandon = context.WithCancelCause(parent)
	c.Stops.Leave, leave = context.WithCancelCause(parent)
	end := func() { begin(); abandon(nil); leave(nil) }
	if c.Signals == nil {
		return c.Stops.Begin, end
	}
	done := make(chan struct{})
	listen := func() {
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case s := <-c.Signals:
				if s == syscall.SIGQUIT {
					c.dump()
					n = 3
				}
				c.UI.Tell(event.Interrupted{Times: n})
				switch n {
				case 1:
					begin()
				case 2:
					time.AfterFunc(abandonAfter, func() { abandon(provider.ErrAbandoned) })
					time.AfterFunc(leaveAfter, func() { leave(provider.ErrAbandoned) })
					time.AfterFunc(goneAfter, func() { c.vanish(0) })
				default:
					c.vanish(partTime)
				}
			}
		}
	}
	go listen()
	return c.Stops.Begin, func() { close(done); end() }
}

// CutShort notes that an interrupt keeps what comes next from being done, if there was one.
func (c *Call) CutShort() bool {
	is := c.Stops.Begin != nil && c.Stops.Begin.Err() != nil
	if is {
		c.Stops.cut.Store(true)
	}
	return is
}

// interrupted is what is to be said of a command that failed because of an interrupt; one that came
// too late to keep anything from being done is no reason.
func (c *Call) interrupted() (diag.Diagnostic, bool) {
	walked := c.Work != nil && c.Work.Walked()
	if c.Stops.Begin.Err() == nil || !c.Stops.cut.Load() && (walked || !c.Command.Stream) {
		return diag.Diagnostic{}, false
	}
	return diag.Errorf("Interrupted", "An interrupt ended this before everything was done. Nothing that was done is lost: run the command again for the rest."), true
}

// vanish ends the program, at once but for a time in which the keeper closes what is open, and names what that leaves
// behind.
func (c *Call) vanish(limit time.Duration) {
	c.leftBehind(limit)
	os.Exit(ExitError)
}

func (c *Call) leftBehind(limit time.Duration) {
	if c.Leaving != nil {
		c.Leaving()
	}
	if c.Work == nil {
		return
	}
	changes, leases := c.Work.Unfinished()
	if c.Keeps != nil {
		if open, ok := c.Keeps.Part(limit); ok {
			leases = slices.DeleteFunc(leases, func(l lease.Left) bool { return !slices.Contains(open, l.Object.String()) })
		}
	}
	for _, o := range changes {
		if o.Mode == addr.Ephemeral {
			c.UI.Line("Unknown outcome: Lethe did not wait until " + o.String() + " was opened. If it was, nothing closes it.")
			continue
		}
		c.UI.Line("Unknown outcome: Lethe did not wait until the provider was done with " + o.String() + ". The next plan reads it again.")
	}
	for _, l := range leases {
		c.UI.Line("Left open: " + l.Object.String() + " was not closed by " + l.Provider.ForDisplay() + ".")
	}
}

// dump writes what the program is doing to standard error, for SIGQUIT: where each goroutine is,
// without the words on its stack, which the runtime would print and which may be anything.
func (c *Call) dump() {
	var b strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err == nil {
		io.WriteString(c.Stderr, c.Secrets.Scrub(b.String()))
	}
}

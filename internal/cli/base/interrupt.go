package base

import (
	"context"
	"fmt"
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

	writeTime = 200 * time.Millisecond // for messages, which a reader of standard output that has stopped holds up
)

// within calls do and returns when it ends or the time is over. An interrupt must have its effect also if nobody reads
// standard output, so that every write to it waits.
func within(d time.Duration, do func()) {
	done := make(chan struct{})
	go func() { do(); close(done) }()
	select {
	case <-done:
	case <-time.After(d):
	}
}

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
	c.Stops.Began, c.Stops.expired = time.Now(), make(chan time.Duration, 1)
	done := make(chan struct{})
	second := func() {
		time.AfterFunc(abandonAfter, func() { abandon(provider.ErrAbandoned) })
		time.AfterFunc(leaveAfter, func() { leave(provider.ErrAbandoned) })
		time.AfterFunc(goneAfter, func() { c.vanish(0) })
	}
	listen := func() {
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case grace := <-c.Stops.expired:
				if n > 1 {
					n-- // it is being ended already
					continue
				}
				c.tooLong()
				begin()
				time.AfterFunc(grace, func() {
					select {
					case <-done:
					default:
						second()
					}
				})
			case s := <-c.Signals:
				if s == syscall.SIGQUIT {
					within(writeTime, c.dump)
					n = 3
				}
				within(writeTime, func() { c.UI.Tell(event.Interrupted{Times: n}) })
				switch n {
				case 1:
					begin()
				case 2:
					second()
				default:
					c.vanish(partTime)
				}
			}
		}
	}
	go listen()
	return c.Stops.Begin, func() { close(done); begin(); abandon(nil); leave(nil) }
}

// EndBy has the command end as after an interrupt when a moment has come, and, when it has not ended after a grace, as
// after the second. No moment is never.
func (c *Call) EndBy(moment time.Time, grace time.Duration) {
	if moment.IsZero() || c.Stops.timed {
		return
	}
	c.Stops.timed = true
	time.AfterFunc(time.Until(moment), func() { c.Stops.expired <- grace })
}

// tooLong notes what is under way when the command has taken as long as it may, and says that it is being ended.
func (c *Call) tooLong() {
	var names []string
	if work := c.Work.Load(); work != nil {
		changes, _ := work.Unfinished()
		for _, o := range changes {
			names = append(names, o.String())
		}
	}
	slices.Sort(names)
	const most = 10
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d others", len(names)-most))
	}
	text := ""
	if len(names) > 0 {
		text = " These were still being changed or opened: " + strings.Join(names, ", ") + "."
	}
	c.Stops.late.Store(&text)
	c.UI.Line("This command has reached its time limit (wall in LETHE_LIMITS). Nothing more is begun; what is under way may still end.")
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
	work := c.Work.Load()
	walked := work != nil && work.Walked()
	if c.Stops.Begin.Err() == nil || !c.Stops.cut.Load() && (walked || !c.Command.Stream) {
		return diag.Diagnostic{}, false
	}
	if was := c.Stops.late.Load(); was != nil {
		return diag.Errorf("Command takes too long", "LETHE_LIMITS limits the time of a whole command (wall), and it ran out before everything was done.%s What was done is in the state: run the command again for the rest, with more time.", *was), true
	}
	return diag.Errorf("Interrupted", "An interrupt ended the command before everything was done. What was done is in the state: run the command again for the rest."), true
}

// AtOnce has something done before an interrupt ends the program at once, to say what is left.
func (c *Call) AtOnce(do func()) { c.leaving.Store(&do) }

// vanish ends the program, at once but for a time in which the keeper closes what is open, and names what that leaves
// behind.
func (c *Call) vanish(limit time.Duration) {
	within(limit+writeTime, func() { c.leftBehind(limit) })
	os.Exit(ExitError)
}

func (c *Call) leftBehind(limit time.Duration) {
	next := " The next command in this directory reports it."
	if leaving := c.leaving.Load(); leaving != nil {
		(*leaving)()
		next = "" // it is said what is left, and no plan comes after
	}
	work := c.Work.Load()
	if work == nil {
		return
	}
	changes, leases := work.Unfinished()
	if keeps := c.Keeps.Load(); keeps != nil {
		if open, ok := keeps.Part(limit); ok {
			leases = slices.DeleteFunc(leases, func(l lease.Left) bool { return !slices.Contains(open, l.Object.String()) })
		}
	}
	for _, o := range changes {
		if o.Mode == addr.Ephemeral {
			c.UI.Line("Unknown outcome: Lethe did not wait until " + o.String() + " was opened. If it was, nothing closes it.")
			continue
		}
		c.UI.Line("Unknown outcome: Lethe did not wait until the provider was done with " + o.String() + "." + next)
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

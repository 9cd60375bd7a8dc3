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

// After the second interrupt, the program ends within three seconds, even if calls hang.
const (
	abandonAfter = time.Second             // time after the second interrupt: stop waiting for calls in progress
	leaveAfter   = 2500 * time.Millisecond // time after the second interrupt: stop waiting for calls that close ephemeral resources, too
	hangupDelay  = 3 * time.Second         // time after the second interrupt: end the program
	partTime     = 2 * time.Second         // time after the third interrupt in which the keeper (the process that holds the providers) may close ephemeral resources

	writeTime = 200 * time.Millisecond // time limit for printing messages, which blocks if no process reads the output
)

// within calls the function do, and returns when the function ends or d has passed. Handlers of interrupts print with
// within: if no process reads standard output, writes to it block.
func within(d time.Duration, do func()) {
	done := make(chan struct{})
	go func() { do(); close(done) }()
	select {
	case <-done:
	case <-time.After(d):
	}
}

// started returns a channel that is closed by the first interrupt, or nil if the command does not handle interrupts.
func (s *Stops) started() <-chan struct{} {
	if s.Begin == nil {
		return nil
	}
	return s.Begin.Done()
}

// interrupts creates the contexts of Stops and handles signals. The first signal ends Begin, the second signal ends
// Abandon and Leave after a pause, and the third signal ends the program. SIGQUIT ends the program at once, after a
// dump of the goroutines. If a question waits for its answer, SIGQUIT counts as any other signal, so that the command
// releases its lock and restores the mode of the terminal. The context returned is Begin. The function returned ends the
// handling of signals and all contexts.
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
		time.AfterFunc(hangupDelay, func() { c.vanish(0) })
	}
	listen := func() {
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case grace := <-c.Stops.expired:
				if n > 1 {
					n-- // the time limit was reached, but the command is ending already
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
				if s == syscall.SIGQUIT && !c.UI.asking.Load() {
					within(writeTime, c.dump)
					n = 3
				}
				within(writeTime, func() { c.UI.Send(event.Interrupted{Times: n}) })
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

// EndBy sets the time limit of the command. At the given moment, the command ends as after an interrupt by the user.
// The parameter grace is the time for this: if the command still runs afterwards, it ends as after a second interrupt.
// If the moment is zero, EndBy does nothing. Only the first call with a limit has an effect.
func (c *Call) EndBy(moment time.Time, grace time.Duration) {
	if moment.IsZero() || c.Stops.timed {
		return
	}
	c.Stops.timed = true
	time.AfterFunc(time.Until(moment), func() { c.Stops.expired <- grace })
}

// tooLong is called when the time limit is reached. It records the changes in progress, and prints that the command
// ends.
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
	c.Stops.timeLimitMessage.Store(&text)
	c.UI.Line("The command has reached its time limit (wall in LETHE_LIMITS). Operations in progress may finish; no others are started.")
}

// Interrupted reports whether the user has interrupted the command. If so, it records that the interrupt prevented
// work.
func (c *Call) Interrupted() bool {
	is := c.Stops.Begin != nil && c.Stops.Begin.Err() != nil
	if is {
		c.Stops.interrupted.Store(true)
	}
	return is
}

// interrupted returns the error for a command that failed because of an interrupt or the time limit. It returns false
// if there was no interrupt, or if the interrupt came too late to prevent any work.
func (c *Call) interrupted() (diag.Diagnostic, bool) {
	work := c.Work.Load()
	walked := work != nil && work.Walked()
	if c.Stops.Begin.Err() == nil || !c.Stops.interrupted.Load() && (walked || !c.Command.Stream) {
		return diag.Diagnostic{}, false
	}
	saved := ""
	if c.Command.Saves {
		saved = " Completed changes are in the state."
	}
	if was := c.Stops.timeLimitMessage.Load(); was != nil {
		return diag.Errorf("Command takes too long", "The command reached its time limit (wall in LETHE_LIMITS) before it was finished.%s%s Raise the limit and run the command again to finish.", *was, saved), true
	}
	return diag.Errorf("Interrupted", "An interrupt ended the command before it was finished.%s Run the command again to finish.", saved), true
}

// AtOnce sets a function that vanish calls before it ends the program. The function reports the objects that remain.
func (c *Call) AtOnce(do func()) { c.leaving.Store(&do) }

// vanish ends the program with the exit code ExitError. First, it waits at most limit until the keeper of providers, a
// separate process, has closed ephemeral resources. It prints the ephemeral resources that are still open, and the
// objects for which a call is in progress.
func (c *Call) vanish(limit time.Duration) {
	within(limit+writeTime, func() { c.leftBehind(limit) })
	os.Exit(ExitError)
}

func (c *Call) leftBehind(limit time.Duration) {
	next := " The next command in this directory reports it."
	if leaving := c.leaving.Load(); leaving != nil {
		(*leaving)()
		next = "" // the function set by AtOnce has reported the objects, and no later plan reports them
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
			c.UI.Line("Unknown outcome: Lethe did not wait until " + o.String() + " was opened. If it is open, nothing will close it.")
			continue
		}
		c.UI.Line("Unknown outcome: Lethe did not wait for the provider to finish with " + o.String() + "." + next)
	}
	for _, l := range leases {
		c.UI.Line("Left open: " + l.Object.String() + " was not closed by " + l.Provider.ForDisplay() + ".")
	}
}

// dump writes the location of each goroutine to standard error, for SIGQUIT. Unlike the runtime, it omits the values on
// the stacks, because they may contain secrets.
func (c *Call) dump() {
	var b strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err == nil {
		io.WriteString(c.Stderr, c.Secrets.Scrub(b.String()))
	}
}

package cli

import (
	"context"
	"os"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/event"
)

// interrupts gives a context that the first interrupt ends: nothing new is started, what runs
// finishes. The second one asks providers and provisioners to give up (call.halt); the third ends
// the program at once.
func (c *call) interrupts(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	var halt func()
	c.halt, halt = context.WithCancel(parent)
	if c.Signals == nil {
		return ctx, func() { cancel(); halt() }
	}
	done := make(chan struct{})
	go func() {
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case <-c.Signals:
				c.interrupted(n, cancel, halt)
			}
		}
	}()
	return ctx, func() { close(done); cancel(); halt() }
}

func (c *call) interrupted(n int, cancel, halt func()) {
	c.ui.Tell(event.Interrupted{Times: n})
	switch n {
	case 1:
		cancel()
	case 2:
		halt()
	default:
		c.abandon()
		os.Exit(exitError)
	}
}

// abandon names what an immediate end leaves behind.
func (c *call) abandon() {
	if c.engine == nil {
		return
	}
	changes, leases := c.engine.Unfinished()
	for _, o := range changes {
		if o.Mode == addr.Ephemeral {
			c.ui.line("Unknown outcome: the opening of " + o.String() + " was not waited for. Nothing closes it.")
			continue
		}
		c.ui.line("Unknown outcome: the call for " + o.String() + " was not waited for. The next plan looks it up.")
	}
	for _, l := range leases {
		c.ui.line("Left open: " + l.Object.String() + " was not closed by " + l.Provider.ForDisplay() + ".")
	}
}

package cli

import (
	"context"
	"os"

	"github.com/lethe-iac/lethe/internal/event"
)

// interrupts gives a context that the first interrupt ends: nothing new is started, what runs
// finishes. The second one asks providers to stop; the third ends the program at once.
func (c *call) interrupts(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	if c.Signals == nil {
		return ctx, cancel
	}
	done := make(chan struct{})
	go func() {
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case <-c.Signals:
				c.interrupted(n, cancel)
			}
		}
	}()
	return ctx, func() { close(done); cancel() }
}

func (c *call) interrupted(n int, cancel func()) {
	c.ui.Tell(event.Interrupted{Times: n})
	switch n {
	case 1:
		cancel()
	case 2:
		if c.stop != nil {
			c.stop()
		}
	default:
		os.Exit(exitError)
	}
}

package run

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/lethe-iac/lethe/internal/walk"
)

// Budget limits the calls of a walk (the run of a plan or an apply): to a number of concurrent calls, and to none after
// the user interrupts the command. The methods may be called concurrently.
//
// A Budget keeps the context that the interrupt ends. Jobs and calls run in another context, which the interrupt does
// not end, so that a call that has started can finish.
type Budget struct {
	tokens      *walk.Tokens
	stop        context.Context
	interrupted atomic.Bool
}

// newBudget returns a budget for at most tokens concurrent calls. No call starts after the end of the context stop.
func newBudget(tokens int, stop context.Context) *Budget {
	return &Budget{tokens: walk.NewTokens(tokens), stop: stop}
}

// Stop returns the context that the interrupt ends. Calls that can be stopped, such as provisioners, run in this
// context.
func (b *Budget) Stop() context.Context { return b.stop }

// Interrupted reports whether an interrupt prevented a call or a job from starting, or may be the reason why a job
// failed.
func (b *Budget) Interrupted() bool { return b.interrupted.Load() }

// Call makes a call as soon as a token (a permission for one call) is free. If the interrupt comes first, Call returns
// false without making the call. Call ignores the caller's context, because the interrupt does not end it.
func (b *Budget) Call(_ context.Context, call func()) bool {
	if b.tokens.Do(b.stop, call) == nil {
		return true
	}
	b.interrupted.Store(true)
	return false
}

// Pause waits for d. It returns false if the interrupt or the end of ctx comes first.
func (b *Budget) Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-b.stop.Done():
		b.interrupted.Store(true)
	case <-ctx.Done():
	}
	return false
}

// Walk runs a graph. After the end of ctx, it starts no more jobs, except closers (nodes that run even after failures).
// If a job fails after the interrupt, Interrupted returns true, because the interrupt may be the cause.
func (b *Budget) Walk(ctx context.Context, g *walk.Graph, o walk.RunOptions) walk.Result {
	visit := o.Run
	o.Run = func(ctx context.Context, n walk.Node, f *walk.Fan) bool {
		ok := visit(ctx, n, f)
		if !ok && b.stop.Err() != nil {
			b.interrupted.Store(true)
		}
		return ok
	}
	result := g.Run(ctx, o)
	if result.Interrupted {
		b.interrupted.Store(true)
	}
	return result
}

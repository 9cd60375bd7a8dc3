package run

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lethe-iac/lethe/internal/walk"
)

// After an interrupt no provider call is made, although the context of the caller has not ended.
func TestNoCallStartsAfterInterrupt(t *testing.T) {
	stop, interrupt := context.WithCancel(context.Background())
	b := newBudget(1, stop)
	made := 0
	if !b.Call(context.Background(), func() { made++ }) || b.Interrupted() {
		t.Error("before the interrupt the call is made")
	}
	interrupt()
	if b.Call(context.Background(), func() { made++ }) || made != 1 || !b.Interrupted() {
		t.Errorf("%d calls, interrupted %v", made, b.Interrupted())
	}
}

// A provider call that waits for a token (a permission to call) at the time of an interrupt is not made. The call in
// progress ends normally.
func TestInterruptEndsWaitForToken(t *testing.T) {
	stop, interrupt := context.WithCancel(context.Background())
	b := newBudget(1, stop)
	holds, release := make(chan struct{}), make(chan struct{})
	var ended atomic.Bool
	var all sync.WaitGroup
	all.Go(func() {
		b.Call(context.Background(), func() { close(holds); <-release; ended.Store(true) })
	})
	<-holds
	waits := make(chan bool)
	go func() { waits <- b.Call(context.Background(), func() {}) }()
	interrupt()
	if <-waits {
		t.Error("a call was made without a token")
	}
	close(release)
	all.Wait()
	if !ended.Load() {
		t.Error("the call in progress was cut off")
	}
}

// A job that fails counts as interrupted only if the interrupt came before its failure.
func TestFailureAfterInterruptMayBeItsConsequence(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		stop, interrupt := context.WithCancel(context.Background())
		b := newBudget(1, stop)
		var g walk.Graph
		n := g.Add(walk.Options{})
		result := b.Walk(context.Background(), &g, walk.RunOptions{Workers: 1, Run: func(context.Context, walk.Node, *walk.Fan) bool {
			if interrupted {
				interrupt()
			}
			return false
		}})
		if result.Of(n) != walk.Failed || b.Interrupted() != interrupted {
			t.Errorf("%v, interrupted %v", result.Of(n), b.Interrupted())
		}
		interrupt()
	}
}

// A graph whose context has ended starts nothing and counts as interrupted.
func TestWalkStartsNothingAfterInterrupt(t *testing.T) {
	ctx, interrupt := context.WithCancel(context.Background())
	interrupt()
	b := newBudget(1, ctx)
	var g walk.Graph
	g.Add(walk.Options{})
	b.Walk(ctx, &g, walk.RunOptions{Workers: 1, Run: func(context.Context, walk.Node, *walk.Fan) bool {
		t.Error("visited")
		return true
	}})
	if !b.Interrupted() {
		t.Error("not interrupted")
	}
}

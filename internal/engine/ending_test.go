package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// slow is a journal whose records of results become durable after delay, in the order of their calls, or never if err
// is set.
type slow struct {
	mu    sync.Mutex
	log   []string      // the announced calls and the durable results, in their order
	ops   journal.Op    // the number of announced calls so far
	delay time.Duration // the time after which a result is durable
	err   error         // the error of every record of a result
	last  chan struct{} // closed when the last result is durable; nil if there was no result

	durable func() // called when a result becomes durable; may be nil
}

func (s *slow) note(format string, a ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, a...))
}

func (s *slow) Intent(i journal.Intent) (journal.Op, error) {
	s.mu.Lock()
	s.ops++
	op, before := s.ops, s.last
	s.mu.Unlock()
	if before != nil {
		if <-before; s.err != nil {
			return 0, s.err
		}
	}
	s.note("intent %s", i.Object)
	return op, nil
}

func (s *slow) Result(op journal.Op, changed ...journal.Change) error {
	done := make(chan error, 1)
	s.Later(func(err error) { done <- err }, op, changed...)
	return <-done
}

func (s *slow) Later(finish func(error), _ journal.Op, changed ...journal.Change) {
	this := make(chan struct{})
	s.mu.Lock()
	before := s.last
	s.last = this
	s.mu.Unlock()
	go func() {
		time.Sleep(s.delay) // the time that a disk takes
		if before != nil {
			<-before
		}
		s.note("result %s", changed[0].Object)
		if s.durable != nil {
			s.durable()
		}
		close(this)
		finish(s.err)
	}()
}

func (s *slow) End(state.Digest) error { return nil }

const chained = `
resource "plant_item" "a" { name = "x" }
resource "plant_item" "b" { name = plant_item.a.value }
`

// A step makes its provider call after the journal records of the steps that it depends on are durable.
func TestDurableBeforeOver(t *testing.T) {
	w, _ := newPlantWorld(t)
	w.engine.Parallelism = 1
	j := &slow{delay: 20 * time.Millisecond}
	prog := w.compile(map[string]string{"main.tf": plantHead + chained + `
resource "plant_item" "other" { name = "x" }
`})
	p := w.plan(prog, nil)
	var bag diag.Bag
	done, ok := w.engine.Apply(context.Background(), ApplyRequest{Program: prog, Plan: p, Options: frame.Options{Workspace: "default"}, Journal: j}, &bag)
	if !ok || done.Snapshot.Len() != 3 {
		t.Fatalf("%v", bag.List())
	}
	at := map[string]int{}
	for i, line := range j.log {
		at[line] = i
	}
	if len(at) != 6 || at["result plant_item.a"] > at["intent plant_item.b"] {
		t.Errorf("the call of b was announced before the result of a was durable: %q", j.log)
	}
}

// A provider process runs until the results of its calls are durable in the journal. If the engine crashes before, the
// keeper (a second process) asks the provider for the schema of the records.
func TestProviderOutlivesRecords(t *testing.T) {
	w, plant := newPlantWorld(t)
	j := &slow{delay: 20 * time.Millisecond, durable: func() {
		if plant.alive() == 0 {
			t.Error("the provider has exited before the result of its call was durable")
		}
	}}
	prog := w.compile(map[string]string{"main.tf": plantHead + chained})
	p := w.plan(prog, nil)
	var bag diag.Bag
	if _, ok := w.engine.Apply(context.Background(), ApplyRequest{Program: prog, Plan: p, Options: frame.Options{Workspace: "default"}, Journal: j}, &bag); !ok {
		t.Fatalf("%v", bag.List())
	}
}

// If a journal record cannot be written, its step fails, and no step that depends on this step starts. The returned
// state has the finished work anyway.
func TestRecordLost(t *testing.T) {
	w, plant := newPlantWorld(t)
	j := &slow{err: errors.New("the disk is gone")}
	prog := w.compile(map[string]string{"main.tf": plantHead + chained})
	p := w.plan(prog, nil)
	var bag diag.Bag
	done, ok := w.engine.Apply(context.Background(), ApplyRequest{Program: prog, Plan: p, Options: frame.Options{Workspace: "default"}, Journal: j}, &bag)
	if text := fmt.Sprint(bag.List()); ok || !strings.Contains(text, "Failed to record progress") || !strings.Contains(text, "the disk is gone") {
		t.Errorf("ok %t: %s", ok, text)
	}
	if got := plant.calls()["apply"]; got != 1 || done.Snapshot.Len() != 1 {
		t.Errorf("%d calls, %d objects", got, done.Snapshot.Len())
	}
	if len(p.Changes) != 2 || p.Changes[0].Action != plan.Create {
		t.Errorf("%s", actions(p))
	}
}

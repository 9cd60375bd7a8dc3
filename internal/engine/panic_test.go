package engine

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
)

// bomb is a sink of events that panics at one event of one operation. It also keeps the last event.Leases.
type bomb struct {
	mu     sync.Mutex
	op     event.Op
	done   bool // panic at the end of the operation, instead of its start
	leases event.Leases
}

func (b *bomb) Send(e event.Event) {
	switch e := e.(type) {
	case event.Started:
		if e.Op == b.op && !b.done {
			panic("a bug of ours")
		}
	case event.Done:
		if e.Op == b.op && b.done {
			panic("a bug of ours")
		}
	case event.Leases:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.leases.Opened += e.Opened
		b.leases.Closed += e.Closed
		b.leases.Left += e.Left
	}
}

// A panic in Lethe, before, during or after the opening or closing of a lease (an ephemeral resource), becomes a
// diagnostic and leaves no lease open.
func TestPanicClosesLeases(t *testing.T) {
	for name, sink := range map[string]*bomb{
		"before open": {op: event.Open}, "after open": {op: event.Open, done: true},
		"before renewing": {op: event.Renew}, "after renewing": {op: event.Renew, done: true},
		"before the consumer": {op: event.Create}, "after the consumer": {op: event.Create, done: true},
		"before closing": {op: event.Close}, "after closing": {op: event.Close, done: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, p := newPlantWorld(t)
			p.renewAt = time.Now()
			w.engine.Sink = event.Discard
			prog := w.compile(map[string]string{"main.tf": `
ephemeral "plant_key" "k" {
}
provider "plant" {
  alias = "x"
  token = ephemeral.plant_key.k.token
}
resource "plant_item" "a" {
  provider = plant.x
  name     = "n"
}
`})
			planned := w.plan(prog, nil)
			p.opened.Store(0)
			p.closed.Store(0)
			w.engine.Sink = sink
			var bag diag.Bag
			_, ok := w.engine.Apply(context.Background(), ApplyRequest{Program: prog, Plan: planned, Options: frame.Options{Workspace: "default", Applying: true}}, &bag)
			text := ""
			for _, d := range bag.List() {
				text += d.Summary + ": " + d.Detail + "\n"
			}
			if ok || !strings.Contains(text, "a bug of ours") {
				t.Errorf("ok %v: %s", ok, text)
			}
			opened, closed := int(p.opened.Load()), int(p.closed.Load())
			if l := sink.leases; l.Left != 0 || l.Opened != opened || l.Closed != closed || opened != closed || (opened == 0) != (name == "before open") {
				t.Errorf("%d opened, %d closed, %+v: %s", opened, closed, l, text)
			}
		})
	}
}

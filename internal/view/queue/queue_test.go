package queue

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

func object(name string) addr.Object {
	return addr.Instance{Mode: addr.Managed, Type: "thing", Name: name}.Current()
}

// TestQueue checks how many objects wait for an object that is created or deleted. b and c depend on a: they are
// created after a, and deleted before it.
func TestQueue(t *testing.T) {
	a := []addr.Resource{object("a").Resource()}
	for _, down := range []bool{false, true} {
		p := &plan.Plan{}
		action := plan.Create
		if down {
			action = plan.Delete
		}
		for _, name := range []string{"a", "b", "c"} {
			c := &plan.Change{Object: object(name), Action: action, Entry: &state.Entry{}}
			if name != "a" {
				c.Recorded, c.Entry.Recorded = a, a
			}
			p.Changes = append(p.Changes, c)
		}
		q := New(p)
		first, then, behind := "a", "b", []int{2, 1}
		if down { // in a destroy, a waits for b and c
			first, then, behind = "b", "a", []int{1, 0}
		}
		q.Started(object(first), down)
		if n := q.Behind(object(first), down); n != behind[0] {
			t.Errorf("down %t: %d wait for %s, want %d", down, n, first, behind[0])
		}
		q.Started(object(then), down)
		if n := q.Behind(object(first), down); n != behind[1] {
			t.Errorf("down %t: %d wait for %s, want %d", down, n, first, behind[1])
		}
	}
	if n := (Queue{}).Behind(object("a"), false); n != 0 {
		t.Errorf("%d wait where there is no plan", n)
	}
}

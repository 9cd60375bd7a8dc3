// Package queue tracks the objects of a plan whose changes have not begun yet, and how many of them wait for an object.
package queue

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/plan"
)

// Queue has the objects of a plan whose changes have not begun yet. It uses the dependencies between resources in the
// plan and in the state. The zero value has no objects.
type Queue struct {
	changes map[addr.Object]*plan.Change
	needed  map[addr.Resource]int // by resource: number of changes that depend on it and have not started to create or update an object
	leaving map[addr.Resource]int // by resource: number of its objects whose planned destruction or forgetting has not started
}

// New returns the queue of a plan.
func New(p *plan.Plan) Queue {
	q := Queue{map[addr.Object]*plan.Change{}, map[addr.Resource]int{}, map[addr.Resource]int{}}
	for _, c := range p.Changes {
		if c.Action.Ups() || c.Action.Downs() {
			q.changes[c.Object] = c
			q.count(c, c.Action.Ups(), c.Action.Downs(), 1)
		}
	}
	return q
}

// Started records that an object's creation or update has started. If down is true, it records that its destruction or
// forgetting has started. The started step no longer counts as waiting. The other step of a replacement counts until it
// has started, too.
func (q Queue) Started(o addr.Object, down bool) {
	if c := q.changes[o]; c != nil {
		q.count(c, !down && c.Action.Ups(), down && c.Action.Downs(), -1)
	}
}

func (q Queue) count(c *plan.Change, up, down bool, n int) {
	if up {
		for _, r := range c.Recorded {
			q.needed[r] += n
		}
	}
	if down {
		q.leaving[c.Object.Resource()] += n
	}
}

// Behind returns the number of changes that wait until the resource of an object is created or updated. If down is
// true, it returns the number of changes that wait until the object is destroyed or forgotten.
func (q Queue) Behind(o addr.Object, down bool) int {
	if !down {
		return q.needed[o.Resource()]
	}
	n := 0
	if c := q.changes[o]; c != nil && c.Entry != nil {
		for _, r := range c.Entry.Recorded {
			n += q.leaving[r]
		}
	}
	return n
}

package frame

import (
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/limits"
)

// budget limits the work of one walk, such as a plan. A loop pays for each element that it makes, and functions inside
// it pay for the elements that they read. Making an element costs makeCost (55), reading an element costs 1. So 10,000
// look-ups in 10,000 elements are within the limit of 2,000,000 elements. Some work takes more memory or time than its
// cost shows. So the budget also checks the memory and the time (limits.Exceeded), every few thousand elements and at
// every large value.
type budget struct {
	l     limits.Limits
	lived int64        // bytes on the heap when the walk began: the configuration and the program
	made  atomic.Int64 // weighted number of instances so far
}

const (
	makeCost  = 55
	markCost  = 7 * makeCost // cost of a mark: a marked element takes eight times the memory
	textPart  = 16           // bytes of text that count as an element
	watchCost = 1 << 16      // cost between two checks of memory and time
	bigValue  = 1024         // number of elements of a value that triggers a check

	mostDepth    = 10_000 // longest permitted chain of declarations that need one another
	moduleWeight = 10     // an instance of a module takes as much memory as this number of resource instances

	// The memory limit of a walk includes an allowance for the objects and steps of the walk. Their number depends on
	// the configuration and on the number of instances, and not on expressions.
	perLived    = 3        // bytes allowed for each byte in budget.lived
	perInstance = 16 << 10 // bytes allowed for each instance
)

func newBudget(l limits.Limits) *budget { return &budget{l: l.Filled(), lived: limits.Live()} }

func (b *budget) instances() int64 { return int64(b.l.Instances) }

// all counts n new instances of declaration d, and reports whether the total of the walk is within the limit. The limit
// is doubled, because each declaration can have instances before and after the changes of the run. An instance of a
// module counts as moduleWeight instances.
func (b *budget) all(d *program.Def, n int) bool {
	if d.Kind == program.Call {
		n *= moduleWeight
	}
	return b.made.Add(int64(n)) <= 2*b.instances()
}

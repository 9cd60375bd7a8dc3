package frame

import (
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/limits"
)

// budget limits the work of one walk (one pass through the program, such as a plan). A loop pays for each element that
// it makes, and functions inside the loop pay for the elements that they read. Making an element costs makeCost (55),
// reading an element costs 1. So 10,000 look-ups in 10,000 elements are within the limit of 2,000,000 elements. Some
// work takes more memory or time than its cost shows. So the budget also checks the memory and the time
// (limits.Exceeded), every few thousand elements and at every large value.
type budget struct {
	l     limits.Limits
	lived int64        // the bytes on the heap when the walk began, which are the configuration and the program
	made  atomic.Int64 // the weighted number of instances so far
}

const (
	makeCost  = 55
	markCost  = 7 * makeCost // the cost of a mark, because a marked element takes eight times the memory
	textPart  = 16           // the bytes of text that count as an element
	watchCost = 1 << 16      // the cost between two checks of memory and time
	bigValue  = 1024         // the number of elements of a value that triggers a check of memory and time

	mostDepth    = 10_000 // the longest permitted chain of declarations that need one another
	moduleWeight = 10     // how many resource instances take as much memory as an instance of a module

	// The memory limit of a walk includes an allowance for the objects and steps of the walk. Their size depends on the
	// configuration and on the number of instances, and not on expressions.
	perLived    = 3        // the bytes allowed for each byte in budget.lived
	perInstance = 16 << 10 // the bytes allowed for each instance
)

func newBudget(l limits.Limits) *budget { return &budget{l: l.Filled(), lived: limits.Live()} }

func (b *budget) instances() int64 { return int64(b.l.Instances) }

// all counts n new instances of the declaration d, and reports whether the total of the walk is within the limit. The
// limit is doubled, because a declaration can have instances before and other instances after the changes of the run.
// An instance of a module counts as moduleWeight instances.
func (b *budget) all(d *program.Def, n int) bool {
	if d.Kind == program.Call {
		n *= moduleWeight
	}
	return b.made.Add(int64(n)) <= 2*b.instances()
}

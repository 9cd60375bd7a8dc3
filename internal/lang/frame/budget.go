package frame

import (
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/limits"
)

// budget bounds what one walk evaluates. A loop pays for the elements that it makes and the functions in it for those
// that they go through, in one currency: making an element costs as much as going through 55, so that 10,000 look-ups in
// 10,000 elements are within the limit of 2,000,000. What costs more than it counts is left to the watch over memory and
// time (limits.Exceeded), which looks every few thousand elements, and at every large value.
type budget struct {
	l     limits.Limits
	lived int64        // bytes on the heap when the walk began: what was read and compiled
	made  atomic.Int64 // instances, by their weight
}

const (
	makeCost  = 55
	markCost  = 7 * makeCost // of a mark: with it an element takes eight times the memory
	textPart  = 16           // bytes of text that count as an element
	watchCost = 1 << 16      // what may be spent between two looks at memory and time
	bigValue  = 1024         // elements of a value behind which the watch looks

	mostDepth    = 10_000 // declarations that need one another in a row
	moduleWeight = 10     // instances of a resource that an instance of a module takes as much memory as

	// A walk makes objects and steps of what was read, and of instances. That is not what expressions make.
	perLived    = 3        // bytes that a walk may have for each one that lived before
	perInstance = 16 << 10 // bytes that it may have for each instance
)

func newBudget(l limits.Limits) *budget { return &budget{l: l.Filled(), lived: limits.Live()} }

func (b *budget) instances() int64 { return int64(b.l.Instances) }

// all reports whether the instances that a declaration has are not too many together with those that
// others have in this walk. There may be two of each: of what is, and of what will be.
func (b *budget) all(d *program.Def, n int) bool {
	if d.Kind == program.Call {
		n *= moduleWeight
	}
	return b.made.Add(int64(n)) <= 2*b.instances()
}

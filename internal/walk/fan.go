package walk

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Fan is how one visit becomes many. A visit calls Jobs and returns;
// the jobs then run on the same workers, at the place of their node in the ready list, and the node
// is over when the last of them is. It succeeds if all of them did.
type Fan struct {
	jobs int
	job  func(ctx context.Context, i int) bool

	next, running int  // next job to start; jobs started and not over
	failed        bool // a job failed or was left out
}

// Jobs hands the walker the jobs 0 to n-1 of this node. It may be called once in a visit, and
// counts only if the visit succeeds.
func (f *Fan) Jobs(n int, job func(ctx context.Context, i int) bool) { f.jobs, f.job = n, job }

// over reports whether no job runs and none is left to start.
func (f *Fan) over() bool { return f.running == 0 && f.next >= f.jobs }

// Each does a few things at once, 0 to n-1, and waits for all. A panic in one of them comes out of Each, when
// the others are over: from a goroutine of its own it would end the process.
func Each(n int, do func(i int)) {
	if n == 1 {
		do(0)
		return
	}
	var all sync.WaitGroup
	var first atomic.Value
	for i := range n {
		all.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					first.CompareAndSwap(nil, fmt.Sprintf("%v\n%s", v, debug.Stack()))
				}
			}()
			do(i)
		})
	}
	all.Wait()
	if v := first.Load(); v != nil {
		panic(v)
	}
}

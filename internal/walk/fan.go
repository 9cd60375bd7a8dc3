package walk

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Fan lets the visit of a node (the call of RunOptions.Run) run several jobs. The visit calls Jobs and returns. The
// jobs then run on the workers of the walk, at the node's position in the order of ready nodes. The node ends when the
// last job ends. It succeeds if all jobs succeed. If the context of the walk ends, the jobs that have not started are
// skipped and the node fails, unless the node is a closer (Options.Closer): all jobs of a closer run.
type Fan struct {
	jobs int
	job  func(ctx context.Context, i int) bool

	next, running int  // index of the next job to start; number of running jobs
	failed        bool // a job failed or was skipped
}

// Jobs sets the jobs 0 to n-1 of this node. A visit calls Jobs at most once. The jobs run only if the visit succeeds.
// job returns whether job i succeeded.
func (f *Fan) Jobs(n int, job func(ctx context.Context, i int) bool) { f.jobs, f.job = n, job }

// done reports whether all jobs have ended.
func (f *Fan) done() bool { return f.running == 0 && f.next >= f.jobs }

// Each calls do concurrently for 0 to n-1 and waits for all calls. If a call panics, Each panics after the other calls
// have ended, with a string that has the first panic's value and stack. Each recovers the panic first, because a panic
// in another goroutine would end the process. A single call runs in the goroutine of the caller, and its panic is not
// recovered.
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

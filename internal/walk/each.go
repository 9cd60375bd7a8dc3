package walk

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

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

package base

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// room is what may always be allocated before garbage is collected: commands that need little
// never collect any.
const room = 16 << 20

// mostPercent of what lives may be allocated before garbage is collected: with three quarters as much again a command
// takes a few per cent less time than with half as much, and a few per cent more memory.
const mostPercent = 75

// leastPercent is for a heap that is nearly all text. What a collection costs goes by what has pointers in it: where a
// state has an attribute of 70 MB, or a message, waiting for 200 MB of garbage saves next to nothing.
const leastPercent = 5

// Collect sets how eagerly garbage is collected: after every collection by what lives then. A user
// who sets GOGC decides that; GOMEMLIMIT holds in any case.
func Collect() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(percent(4<<20, 4<<20)) // the runtime takes the heap for this large at first
	watch()
}

// watcher is an object on its own: the runtime packs those without pointers together, and they live
// as long as their neighbours.
type watcher struct{ _ *watcher }

// watch makes an object that nothing refers to; the next collection finds that out, and makes another.
func watch() {
	runtime.SetFinalizer(&watcher{}, func(*watcher) {
		heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}}
		metrics.Read(heap)
		debug.SetGCPercent(percent(heap[0].Value.Uint64(), heap[1].Value.Uint64()))
		watch()
	})
}

// percent is the runtime's setting for a heap where so many bytes live, of which so many are in objects with pointers.
func percent(live, scanned uint64) int {
	may := max(room, min(live*mostPercent/100, 3*scanned))
	return max(leastPercent, int(100*may/max(live, 1<<20)))
}

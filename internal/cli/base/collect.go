package base

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// room is the minimum number of bytes that may be allocated before the next garbage collection, even if the live heap
// is small. A command that needs less memory never collects garbage.
const room = 16 << 20

// streaming is true after a call of Streams: the command uses roomOfStreams instead of room.
var streaming atomic.Bool

// roomOfStreams replaces room in a command that handles many objects one after another. It is a number of bytes, too.
const roomOfStreams = 6 << 20

// Streams makes garbage collections more frequent. A command calls it if it handles many objects one after another, so
// that it needs little memory. It has no effect if the user sets the environment variable GOGC.
func Streams() {
	streaming.Store(true)
	begin()
}

// mostPercent is the highest percentage of the live heap that may be allocated before the next garbage collection. With
// 75 %, a command takes a few per cent less time than with 50 %, and a few per cent more memory.
const mostPercent = 75

// leastPercent is the lowest value of GOGC. It applies to a heap that consists mostly of text, because the cost of a
// collection depends on the objects with pointers. If a state or a message has an attribute of 70 MB, waiting for 200
// MB of garbage saves next to nothing.
const leastPercent = 5

// Collect adjusts GOGC after each garbage collection to the live heap. It does nothing if the user sets GOGC.
// GOMEMLIMIT always applies.
func Collect() {
	if begin() {
		watch()
	}
}

// begin sets GOGC for the first garbage collection. It returns false, without a change, if the user sets GOGC.
func begin() bool {
	if os.Getenv("GOGC") != "" {
		return false
	}
	debug.SetGCPercent(percent(4<<20, 4<<20)) // the runtime first assumes a heap of this size
	return true
}

// watcher is the type of an object whose finalizer runs after a garbage collection. It has a pointer, because the
// runtime allocates small objects without pointers together, and such an object lives as long as its neighbours.
type watcher struct{ _ *watcher }

// watch creates an unreachable object. Its finalizer runs after the next collection, sets the percentage and calls
// watch again.
func watch() {
	runtime.SetFinalizer(&watcher{}, func(*watcher) {
		heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}}
		metrics.Read(heap)
		debug.SetGCPercent(percent(heap[0].Value.Uint64(), heap[1].Value.Uint64()))
		watch()
	})
}

// percent returns the value of GOGC for a heap: the number of bytes that may be allocated before the next collection,
// as a percentage of the live bytes. live is the number of live bytes, and scanned the number of live bytes in objects
// with pointers.
func percent(live, scanned uint64) int {
	least := uint64(room)
	if streaming.Load() {
		least = roomOfStreams
	}
	may := max(least, min(live*mostPercent/100, 3*scanned))
	return max(leastPercent, int(100*may/max(live, 1<<20)))
}

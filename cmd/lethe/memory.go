package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// room is what may always be allocated before garbage is collected: commands that need little
// never collect any.
const room = 16 << 20

// leastPercent of what lives may be allocated before garbage is collected, however much that is:
// with three quarters as much again a command takes a few per cent less time than with half as much,
// and a few per cent more memory.
const leastPercent = 75

// collect sets how eagerly garbage is collected: after every collection by what lives then. A user
// who sets GOGC decides that; GOMEMLIMIT holds in any case.
func collect() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(percent(4 << 20)) // the runtime takes the heap for this large at first
	watch()
}

// watcher is an object on its own: the runtime packs those without pointers together, and they live
// as long as their neighbours.
type watcher struct{ _ *watcher }

// watch makes an object that nothing refers to; the next collection finds that out, and makes another.
func watch() {
	runtime.SetFinalizer(&watcher{}, func(*watcher) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		debug.SetGCPercent(percent(live[0].Value.Uint64()))
		watch()
	})
}

// percent is the runtime's setting for a heap where so many bytes live.
func percent(live uint64) int { return max(leastPercent, int(100*room/max(live, 1<<20))) }

package calls

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// spare is the number of bytes of garbage that a provider of the tests may always keep. Without it, a provider that
// serves a few calls spends much of its CPU time on collections shortly before its end.
const spare = 64 << 20

// SpareCollecting avoids garbage collections in a provider with little data, and makes them rare in a provider with
// more. It does nothing if GOGC is set.
func SpareCollecting() {
	if os.Getenv("GOGC") == "" {
		collectFor(4 << 20) // the size of the first heap that the runtime assumes
	}
}

// collectFor sets the frequency of collections for a number of live bytes. After each collection, collectFor sets the
// frequency again, for the live bytes of that time.
func collectFor(live uint64) {
	debug.SetGCPercent(int(max(100, 100*spare/max(live, 1<<20))))
	runtime.SetFinalizer(&watcher{}, func(*watcher) {
		heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(heap)
		collectFor(heap[0].Value.Uint64())
	})
}

// watcher is a separate object that the next collection finds unused. It contains a pointer because the runtime packs
// objects without pointers together.
type watcher struct{ _ *watcher }

package calls

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// spare is how much garbage a provider of the tests may always have. A command of the tests has one for a few calls, and
// a good part of what those took of a processor was collecting what ends with the process anyhow.
const spare = 64 << 20

// SpareCollecting keeps a provider that does little from collecting garbage, and one that does more from doing it all
// the time.
func SpareCollecting() {
	if os.Getenv("GOGC") == "" {
		collectFor(4 << 20) // the runtime takes the heap for this large at first
	}
}

// collectFor sets how eagerly garbage is collected by how much lives, and has that done again after each collection.
func collectFor(live uint64) {
	debug.SetGCPercent(int(max(100, 100*spare/max(live, 1<<20))))
	runtime.SetFinalizer(&watcher{}, func(*watcher) {
		heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(heap)
		collectFor(heap[0].Value.Uint64())
	})
}

// watcher is an object on its own, which the next collection finds unused: the runtime packs those without pointers
// together.
type watcher struct{ _ *watcher }

package base

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
)

func TestPercent(t *testing.T) {
	for _, heap := range []struct {
		live, scanned uint64
		want          int
	}{
		{0, 0, 1600},
		{4 << 20, 4 << 20, 400},
		{16 << 20, 8 << 20, 100},
		{32 << 20, 16 << 20, 75},
		{1 << 30, 400 << 20, 75},
		{1 << 30, 171 << 20, 50}, // a heap of mostly text, which the collector does not scan
		{350 << 20, 2 << 20, 5},  // one or two large texts
		{200 << 20, 2 << 20, 8},  // the constant room counts, because it is more than three times the scanned bytes
		{1 << 30, 1 << 30, 75},
	} {
		if got := percent(heap.live, heap.scanned); got != heap.want {
			t.Errorf("%d bytes, %d with pointers: %d%%, want %d%%", heap.live, heap.scanned, got, heap.want)
		}
	}
}

// Collect leaves the percentage of the garbage collector unchanged if the environment sets GOGC, and otherwise adjusts
// it to the heap.
func TestCollect(t *testing.T) {
	t.Setenv("GOGC", "77")
	defer debug.SetGCPercent(debug.SetGCPercent(77))
	Collect()
	if got := debug.SetGCPercent(77); got != 77 {
		t.Errorf("what the environment says does not count: %d%%", got)
	}
	t.Setenv("GOGC", "")
	Collect()
	heap := make([]byte, 512<<20)
	defer runtime.KeepAlive(heap)
	waittest.Until(t, "the setting follows the heap", func() bool { // the finalizer runs some time after a collection
		runtime.GC()
		got := debug.SetGCPercent(77)
		debug.SetGCPercent(got)
		return got == leastPercent
	})
}

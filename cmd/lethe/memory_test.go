package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestPercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 1600, 4 << 20: 400, 16 << 20: 100, 32 << 20: 75, 1 << 30: 75} {
		if got := percent(live); got != want {
			t.Errorf("%d bytes: %d%%, want %d%%", live, got, want)
		}
	}
}

// The setting follows the heap.
func TestCollect(t *testing.T) {
	t.Setenv("GOGC", "77")
	defer debug.SetGCPercent(debug.SetGCPercent(77))
	collect()
	if got := debug.SetGCPercent(77); got != 77 {
		t.Errorf("what the environment says does not count: %d%%", got)
	}
	t.Setenv("GOGC", "")
	collect()
	heap := make([]byte, 256<<20)
	defer runtime.KeepAlive(heap)
	for range 1000 { // the finalizer runs some time after a collection
		runtime.GC()
		got := debug.SetGCPercent(77)
		if got == leastPercent {
			return
		}
		debug.SetGCPercent(got)
		time.Sleep(time.Millisecond)
	}
	t.Error("the setting does not follow the heap")
}

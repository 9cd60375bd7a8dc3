package limits

import (
	"bytes"
	"fmt"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// ownMemory is half of what the machine has, or the control group that the process is in, and four gigabytes where
// neither can be found out: garbage comes on top of what lives.
var ownMemory = max(min(systemMemory("/proc/meminfo"), groupMemory("/sys/fs/cgroup/memory.max")), 512<<20) / 2

const unknownMemory = 8 << 30

func systemMemory(file string) int64 {
	text, _ := os.ReadFile(file)
	_, rest, _ := bytes.Cut(text, []byte("MemTotal:"))
	if parts := bytes.Fields(rest); len(parts) > 0 {
		if kilobytes, err := strconv.ParseInt(string(parts[0]), 10, 64); err == nil {
			return kilobytes << 10
		}
	}
	return unknownMemory
}

func groupMemory(file string) int64 {
	text, _ := os.ReadFile(file)
	if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
		return n
	}
	return 1 << 62 // there is no group, or it may have all
}

// Exceeded says which limit of the whole run an evaluation has passed, "" if none: memory that lives since the last
// collection, or time since it began. It takes about a microsecond.
func (l Limits) Exceeded(began time.Time) string {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	switch {
	case int64(live[0].Value.Uint64()) > l.Memory:
		return fmt.Sprintf("more memory is in use than the limit of %d MB", l.Memory>>20)
	case time.Since(began) > l.Seconds():
		return fmt.Sprintf("it takes longer than the limit of %s", l.Seconds())
	}
	return ""
}

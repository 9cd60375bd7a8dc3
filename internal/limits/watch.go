package limits

import (
	"fmt"
	"runtime/metrics"
	"time"
)

// Live is how many bytes lived on the heap when garbage was last collected.
func Live() int64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return int64(live[0].Value.Uint64())
}

// Exceeded says which limit of the whole run an evaluation has passed, "" if none: memory that lives beyond what is
// spared, in bytes, or time since it began. It takes about a microsecond.
func (l Limits) Exceeded(spared int64, began time.Time) string {
	switch {
	case Live()-spared > l.Memory:
		return fmt.Sprintf("more memory is in use than the limit of %d MB", l.Memory>>20)
	case time.Since(began) > l.Seconds():
		return fmt.Sprintf("it takes longer than the limit of %s", l.Seconds())
	}
	return ""
}

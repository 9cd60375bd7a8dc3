// Package waittest waits in tests for other processes and goroutines.
package waittest

import (
	"testing"
	"time"
)

// limit is longer than any condition takes on a busy machine.
const limit = 2 * time.Minute

// Until returns as soon as a condition holds. It fails the test with the text of the condition if that takes longer
// than two minutes. holds is called again and again in the goroutine of the caller.
func Until(t testing.TB, condition string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %s in vain until %s", limit, condition)
		}
	}
}

package store

import (
	"fmt"
	"strings"
	"testing"
)

// FuzzLockInfo checks that ParseLockInfo returns an error or information that is unchanged after it is written and read
// again.
func FuzzLockInfo(f *testing.F) {
	f.Add(NewLockInfo("OperationTypeApply", "1.11.4").Marshal())
	f.Add([]byte(`{"ID":"a","Created":"2026-01-02T03:04:05.6+23:59","Path":"\ud800"}`))
	f.Add([]byte(`{"id":1,"Created":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		i, err := ParseLockInfo(data)
		if err != nil {
			return
		}
		again, err := ParseLockInfo(i.Marshal())
		if err != nil || again.String() != i.String() {
			t.Errorf("%v\n%v%v", err, i, again)
		}
	})
}

// TestLockOfAnotherWorkspace checks that a store with one state does not recommend to break a lock.
func TestLockOfAnotherWorkspace(t *testing.T) {
	if d := LockDiagnostic(fmt.Errorf("http: %w", ErrOnly), "Lethe"); d.Summary != "Workspaces not supported" || strings.Contains(d.Detail, "force-unlock") {
		t.Error(d)
	}
}

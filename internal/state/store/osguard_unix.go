//go:build unix

package store

import (
	"os"
	"time"

	"github.com/lethe-iac/lethe/internal/state/disk"
)

// guardDir keeps the writers of one directory apart for the moment between looking at a state and
// replacing it, also those that work without a lock. It is a lock on the directory itself, which
// leaves no file behind; where the file system has none, nothing is guarded.
//
// Scripts take the same lock around whole commands (flock DIR lethe apply), which then would wait for their own parents.
// guardDir waits for at most the given time. Without the guard it returns false, and the writer goes on: the lock of the
// state and its version still protect it.
func guardDir(dir string, longest time.Duration) (release func(), ok bool) {
	none := func() {}
	d, err := os.Open(dir)
	if err != nil {
		return none, true
	}
	for end := time.Now().Add(longest); ; time.Sleep(10 * time.Millisecond) {
		held, err := disk.TryLock(d)
		if held || err != nil {
			return func() { d.Close() }, true
		}
		if !time.Now().Before(end) {
			d.Close()
			return none, false
		}
	}
}

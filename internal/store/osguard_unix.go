//go:build unix

package store

import (
	"os"
	"time"

	"github.com/lethe-iac/lethe/internal/disk"
)

// guardDir locks a directory, so that only one writer at a time reads a state in it and replaces the state. Writers
// that do not lock the state itself take this lock, too. The lock is a flock on the directory, so no file remains. If
// the directory cannot be opened, or the file system has no such locks, guardDir locks nothing and returns true.
//
// Scripts take the same lock around whole commands (flock DIR lethe apply). Such a command would wait for its parent
// process. So guardDir waits at most for the duration longest, and then returns false. The writer then continues
// without this lock, because the lock and the version of the state still protect the state.
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

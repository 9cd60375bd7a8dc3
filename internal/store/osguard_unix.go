//go:build unix

package store

import (
	"os"
	"time"

	"github.com/lethe-iac/lethe/internal/disk"
)

// guardDir keeps the writers of one directory apart between reading a state and replacing it, also writers without a
// lock. It locks the directory itself, which leaves no file behind. If the directory cannot be opened, or the file
// system has no such locks, guardDir guards nothing and returns true.
//
// Scripts take the same lock around whole commands (flock DIR lethe apply), and such commands would wait for their own
// parents. So guardDir waits for at most the given time. If another process still has the lock then, it returns false.
// A writer continues without the guard: the lock of the state and its version still protect it.
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

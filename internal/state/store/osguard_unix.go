//go:build unix

package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// guardDir keeps the writers of one directory apart for the moment between looking at a state and
// replacing it, also those that work without a lock. It is a lock on the directory itself, which
// leaves no file behind; where the file system has none, nothing is guarded.
func guardDir(dir string) func() {
	d, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	for unix.Flock(int(d.Fd()), unix.LOCK_EX) == unix.EINTR {
	}
	return func() { d.Close() }
}

//go:build unix

package store

import (
	"os"

	"github.com/lethe-iac/lethe/internal/state/disk"
)

// guardDir keeps the writers of one directory apart for the moment between looking at a state and
// replacing it, also those that work without a lock. It is a lock on the directory itself, which
// leaves no file behind; where the file system has none, nothing is guarded.
func guardDir(dir string) func() {
	d, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	_ = disk.Lock(d)
	return func() { d.Close() }
}

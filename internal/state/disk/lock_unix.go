//go:build unix

package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// Lock waits for a lock on an open file or directory, which ends when f is closed. It keeps only those processes apart
// that ask for it.
func Lock(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != unix.EINTR {
			return err
		}
	}
}

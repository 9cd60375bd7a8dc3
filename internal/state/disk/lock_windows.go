package disk

import (
	"os"

	"golang.org/x/sys/windows"
)

// Lock waits for a lock on an open file, which ends when f is closed.
func Lock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, new(windows.Overlapped))
}

// Share does nothing: locks of this system keep other programs from reading, too.
func Share(File) error { return nil }

// Held reports false.
func Held(File) bool { return false }

package disk

import (
	"os"

	"golang.org/x/sys/windows"
)

// Lock waits for an exclusive lock on an open file. Closing f ends the lock.
func Lock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, new(windows.Overlapped))
}

// Share does nothing, because on this system a lock would prevent other programs from reading the file.
func Share(File) error { return nil }

// Held reports false.
func Held(File) bool { return false }

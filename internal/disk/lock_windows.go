package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockedByte is the byte of a file that the functions of this file lock. No other process can write a locked byte, and
// no other process can read it if the lock is exclusive. So the byte is far beyond the end of any file.
const lockedByte = 1<<31 - 1

// Lock waits for an exclusive lock on an open file. Closing f ends the lock.
func Lock(f *os.File) error { return lock(f.Fd(), windows.LOCKFILE_EXCLUSIVE_LOCK) }

// Share locks an open file with a shared lock, without waiting. It returns an error if another process has an exclusive
// lock. The lock ends when all processes that share it have closed the file.
func Share(f File) error { return lock(f.Fd(), windows.LOCKFILE_FAIL_IMMEDIATELY) }

// Held reports whether another process has a lock on an open file. If not, Held locks the file exclusively until f is
// closed.
func Held(f File) bool {
	err := lock(f.Fd(), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
	return errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING)
}

func lock(handle uintptr, flags uint32) error {
	return windows.LockFileEx(windows.Handle(handle), flags, 0, 1, 0, &windows.Overlapped{Offset: lockedByte})
}

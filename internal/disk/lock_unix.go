//go:build unix

package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Lock waits for an exclusive lock on an open file or directory (flock). Closing f ends the lock. Programs that do not
// call Lock can still use the file.
func Lock(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != unix.EINTR {
			return err
		}
	}
}

// TryLock locks f exclusively, without waiting. held is false without an error if another process has the lock, or if a
// signal interrupted the call. TryLock returns an error if the file system has no such locks.
func TryLock(f *os.File) (held bool, err error) {
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// Share locks an open file with a shared lock, without waiting. It returns an error if another process has an exclusive
// lock. The lock ends when all processes that share it have closed the file.
func Share(f File) error { return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) }

// Held reports whether another process has a lock on an open file. If not, Held locks the file exclusively until f is
// closed. It returns false if the file system has no locks.
func Held(f File) bool {
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}

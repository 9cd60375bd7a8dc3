//go:build unix && !linux

package store

import (
	"errors"

	"github.com/lethe-iac/lethe/internal/disk"
	"golang.org/x/sys/unix"
)

// lockFile takes a lock that belongs to the open file. The BSD kernels, including Darwin, keep one list for both kinds
// of locks. So this lock excludes the POSIX locks of Terraform and OpenTofu. In the mode shared, it is a read lock.
// lockFile does not wait: if a conflicting lock exists, the error is a *LockError.
func lockFile(f disk.File, m lockMode) error {
	how := unix.LOCK_EX
	if m == shared {
		how = unix.LOCK_SH
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return &LockError{Err: err}
		}
		return err
	}
}

// unlockFile releases the lock explicitly, because closing may not suffice: a child process that is being started may
// have the file open for a moment.
func unlockFile(f disk.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }

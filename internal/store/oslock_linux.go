package store

import (
	"errors"

	"github.com/lethe-iac/lethe/internal/disk"
	"golang.org/x/sys/unix"
)

// lockFile locks the whole state file with an OFD lock, which belongs to the open file, not to the process. Terraform
// and OpenTofu take a POSIX lock, which belongs to the process. The two kinds exclude each other. The OFD lock survives
// if the process opens and closes the state elsewhere, and two stores in one process exclude each other, too. The lock
// ends when the last descriptor of the open file is closed. In the mode shared, it is a read lock. lockFile does not
// wait: if a conflicting lock exists, the error is a *LockError.
func lockFile(f disk.File, m lockMode) error {
	lk := unix.Flock_t{Type: unix.F_WRLCK, Whence: 0, Start: 0, Len: 0}
	if m == shared {
		lk.Type = unix.F_RDLCK
	}
	for {
		err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lk)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
			return &LockError{Err: err}
		}
		return err
	}
}

// unlockFile releases the lock explicitly, because closing may not suffice: a child process that is being started may
// have the file open for a moment.
func unlockFile(f disk.File) {
	lk := unix.Flock_t{Type: unix.F_UNLCK, Whence: 0, Start: 0, Len: 0}
	_ = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lk)
}

package store

import (
	"errors"

	"github.com/lethe-iac/lethe/internal/state/disk"
	"golang.org/x/sys/windows"
)

// Locks of this system are on bytes, and no other process can read those that are locked. Terraform and OpenTofu lock the
// state from its first byte on, as far as a number goes. We lock one byte of that which no state reaches:
// so they and we keep each other out, and others can read.
const lockedByte = 1<<31 - 1

func lockFile(f disk.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{Offset: lockedByte})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return &LockError{Err: err}
	}
	return err
}

func unlockFile(f disk.File) {
	_ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{Offset: lockedByte})
}

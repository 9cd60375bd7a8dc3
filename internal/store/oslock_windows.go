package store

import (
	"errors"

	"github.com/lethe-iac/lethe/internal/disk"
	"golang.org/x/sys/windows"
)

// Locks of this system are on bytes, and no other process can read locked bytes. Terraform and OpenTofu lock the state
// from its first byte up to the largest offset. We lock one byte in that range that no state reaches. So all three
// programs exclude each other, and others can read the state.
const lockedByte = 1<<31 - 1

func lockFile(f disk.File, m lockMode) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if m == exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{Offset: lockedByte})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return &LockError{Err: err}
	}
	return err
}

func unlockFile(f disk.File) {
	_ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{Offset: lockedByte})
}

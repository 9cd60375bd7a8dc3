package store

import (
	"errors"

	"github.com/lethe-iac/lethe/internal/disk"
	"golang.org/x/sys/windows"
)

// lockedByte is the offset of the byte that Lethe locks in a state file on Windows. A lock there covers a range of
// bytes, and no other process can read locked bytes. Terraform and OpenTofu lock all bytes up to the largest offset.
// Lethe locks one byte in that range, beyond the end of any state. So the three programs exclude each other, and other
// programs can read the state.
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

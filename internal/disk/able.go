package disk

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"
)

// File systems differ in the operations that they support. Some have no hard links, and some cannot make a directory
// durable. A mount point can be written, but not replaced. The functions in this file distinguish missing operations
// from errors of the disk.

// unsyncable are the errors of file systems that cannot synchronise a file or a directory at all, or that forbid it.
var unsyncable = []error{errors.ErrUnsupported, fs.ErrPermission, syscall.EINVAL, syscall.EBADF, syscall.EISDIR, syscall.ENOTTY}

// Synced converts the error of a synchronisation (fsync). It returns nil if the file system cannot synchronise such a
// file, because the content is then as durable as possible. It returns any other error unchanged.
func Synced(err error) error {
	if slices.ContainsFunc(unsyncable, func(no error) bool { return errors.Is(err, no) }) {
		return nil
	}
	return err
}

// SyncDir makes the names in a directory durable. It returns nil if the file system cannot make names durable.
func SyncDir(fsys FS, dir string) error { return Synced(fsys.SyncDir(dir)) }

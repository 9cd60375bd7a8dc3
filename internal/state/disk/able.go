package disk

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"
)

// File systems differ in what they support. Some have no hard links, some cannot make a directory durable, and a mount
// point can be written but not replaced. The functions here tell these cases from errors of the disk.

// unsyncable are the errors of file systems, or of permissions, that cannot synchronise a file or a directory at all.
var unsyncable = []error{errors.ErrUnsupported, fs.ErrPermission, syscall.EINVAL, syscall.EBADF, syscall.EISDIR, syscall.ENOTTY}

// Synced returns the error of a synchronisation, and nil if the file system has none for such files: the content then is
// as durable as it can be there.
func Synced(err error) error {
	if slices.ContainsFunc(unsyncable, func(no error) bool { return errors.Is(err, no) }) {
		return nil
	}
	return err
}

// SyncDir makes the names in a directory durable, where the file system can do that.
func SyncDir(fsys FS, dir string) error { return Synced(fsys.SyncDir(dir)) }

// fixed reports whether a rename failed because the target cannot be replaced, only written: it is a mount point.
func fixed(err error) bool {
	return errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV)
}

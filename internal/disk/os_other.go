//go:build !windows

package disk

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

func openFile(name string, flag int, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, mode)
}

func readFile(name string) ([]byte, error) { return os.ReadFile(name) }

func rename(from, to string) error { return os.Rename(from, to) }

func remove(name string) error { return os.Remove(name) }

func removeAll(name string) error { return os.RemoveAll(name) }

// unreplaceable reports whether a rename failed because the target is a mount point.
func unreplaceable(err error) bool {
	return errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV)
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A state is replaced and removed while it is open and locked. Windows permits that only for files that were opened in a
// sharing mode. The methods of os.Root open, rename and remove files in this mode.

func openFile(name string, flag int, mode fs.FileMode) (f *os.File, err error) {
	err = within(filepath.Dir(name), func(dir *os.Root) error {
		f, err = dir.OpenFile(filepath.Base(name), flag, mode)
		return err
	})
	return f, err
}

func rename(from, to string) error {
	if filepath.Dir(from) != filepath.Dir(to) {
		return os.Rename(from, to)
	}
	return within(filepath.Dir(from), func(dir *os.Root) error { return dir.Rename(filepath.Base(from), filepath.Base(to)) })
}

func remove(name string) error {
	return within(filepath.Dir(name), func(dir *os.Root) error { return dir.Remove(filepath.Base(name)) })
}

// syncDir does nothing, because Windows cannot synchronise directories, and the file system keeps a journal of names.
func syncDir(string) error { return nil }

func within(dir string, f func(*os.Root) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(f(root), root.Close())
}

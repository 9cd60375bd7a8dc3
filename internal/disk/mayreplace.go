package disk

import (
	"os"
	"path/filepath"
	"syscall"
)

// MayReplace returns an error if it is already certain that the file at path cannot be written: path is a directory, or
// the directory of the file does not exist or cannot be examined. A nil error does not mean that the file can be
// written: for example, permissions are not checked. Commands call MayReplace before long work, to fail early.
func MayReplace(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return syscall.EISDIR
	}
	_, err := os.Stat(filepath.Dir(path))
	return err
}

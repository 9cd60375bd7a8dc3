package disk

import (
	"os"
	"path/filepath"
	"syscall"
)

// MayReplace returns an error if it is certain that the file at path cannot be written: path is a directory, or the
// directory of the file does not exist. Commands call it before long work.
func MayReplace(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return syscall.EISDIR
	}
	_, err := os.Stat(filepath.Dir(path))
	return err
}

package disk

import (
	"os"
	"path/filepath"
	"syscall"
)

// MayReplace returns an error if a file certainly cannot be written: it is a directory, or its directory does not exist.
// Commands call it before long work.
func MayReplace(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return syscall.EISDIR
	}
	_, err := os.Stat(filepath.Dir(path))
	return err
}

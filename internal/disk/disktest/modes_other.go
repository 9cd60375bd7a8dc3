//go:build !windows

package disktest

import (
	"fmt"
	"os"
)

// Modes is true if files have the modes of Unix.
const Modes = true

// Private returns an error if another user than the owner can read the file at path.
func Private(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm() != 0o600 {
		err = fmt.Errorf("%s has the mode %s", path, info.Mode())
	}
	return err
}

//go:build !windows

package disktest

import (
	"fmt"
	"os"
)

// Modes reports whether files have the permission bits of Unix.
const Modes = true

// Private returns an error if the mode of the file at path is not 0600.
func Private(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm() != 0o600 {
		err = fmt.Errorf("%s has the mode %s", path, info.Mode())
	}
	return err
}

//go:build unix && !linux

package keeper

import "os"

// program is what is run: this one.
func program() (string, error) { return os.Executable() }

//go:build unix && !linux

package keeper

import "os"

// program returns the path of the running program.
func program() (string, error) { return os.Executable() }

//go:build unix && !linux

package keeper

import "os"

// program returns the program to run: this one.
func program() (string, error) { return os.Executable() }

//go:build !unix

package subprocess

import "os"

// Alive reports false, because Terminate kills the program on this system.
func Alive(*os.Process) bool { return false }

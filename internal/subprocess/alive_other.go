//go:build !unix

package subprocess

import "os"

// Alive reports false: here Terminate has killed the program.
func Alive(*os.Process) bool { return false }

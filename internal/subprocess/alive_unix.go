//go:build unix

package subprocess

import (
	"os"
	"syscall"
)

// Alive reports whether a program or another process in its group is still running.
func Alive(p *os.Process) bool { return p.Pid > 1 && syscall.Kill(-p.Pid, 0) == nil }

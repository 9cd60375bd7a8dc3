//go:build unix

package subprocess

import (
	"os"
	"syscall"
)

// Terminate asks a program, and what it started, to end.
func Terminate(p *os.Process) { signal(p, syscall.SIGTERM) }

// Ask asks a program to end, and leaves it to the program to end what it started.
func Ask(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// Kill ends them.
func Kill(p *os.Process) {
	signal(p, syscall.SIGKILL)
	_ = p.Kill() // where it has no group of its own
}

func signal(p *os.Process, s syscall.Signal) {
	if p.Pid > 1 {
		_ = syscall.Kill(-p.Pid, s)
	}
}

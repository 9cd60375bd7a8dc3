//go:build unix

package provision

import (
	"os"
	"syscall"
)

// terminate asks a command, and what it started, to end.
func terminate(p *os.Process) { signal(p, syscall.SIGTERM) }

// kill ends them.
func kill(p *os.Process) { signal(p, syscall.SIGKILL) }

func signal(p *os.Process, s syscall.Signal) {
	if p.Pid > 1 {
		_ = syscall.Kill(-p.Pid, s)
	}
}

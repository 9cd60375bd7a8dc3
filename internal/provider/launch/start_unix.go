//go:build unix

package launch

import (
	"errors"
	"os"
	"syscall"
)

// killAll ends a process and those it started that are still in its group.
func killAll(p *os.Process) {
	if p.Pid > 1 {
		_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	}
	_ = p.Kill()
}

// busy reports that the program's file is open for writing.
func busy(err error) bool { return errors.Is(err, syscall.ETXTBSY) }

// foreign reports that the file is no program that can run here.
func foreign(err error) bool { return errors.Is(err, syscall.ENOEXEC) }

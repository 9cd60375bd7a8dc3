//go:build !unix

package subprocess

import (
	"os"
	"os/exec"
	"syscall"
)

// Hide does nothing on this system.
func Hide() {}

// NoCore does nothing on this system.
func NoCore(*os.Process) {}

// Attributes returns nil: no attributes are needed on this system.
func Attributes() *syscall.SysProcAttr { return nil }

// OnTerminal returns nil: no attributes are needed on this system.
func OnTerminal(syscall.Signal) *syscall.SysProcAttr { return nil }

// HasTerminal reports false, because every program can reach the console.
func HasTerminal() bool { return false }

// Family is a program with its child processes.
type Family struct{ Root *os.Process }

// Terminate kills the program, because this system has no signal to request its end.
func (f *Family) Terminate() { Kill(f.Root) }

// Kill kills the program.
func (f *Family) Kill() { Kill(f.Root) }

// Start starts cmd.
func Start(cmd *exec.Cmd) error { return cmd.Start() }

// Terminate kills a program, because this system has no signal to request its end.
func Terminate(p *os.Process) { Kill(p) }

// Ask kills a program, because this system has no signal to request its end.
func Ask(p *os.Process) error { return p.Kill() }

// Kill kills a program.
func Kill(p *os.Process) { _ = p.Kill() }

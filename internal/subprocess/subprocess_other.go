//go:build !unix

package subprocess

import (
	"os"
	"os/exec"
	"syscall"
)

// Hide does nothing here.
func Hide() {}

// NoCore does nothing here.
func NoCore(*os.Process) {}

// Attributes are what a program is started with: nothing that matters here.
func Attributes() *syscall.SysProcAttr { return nil }

// OnTerminal returns the attributes of a program that shares our terminal: none.
func OnTerminal(syscall.Signal) *syscall.SysProcAttr { return nil }

// HasTerminal reports false: every program can reach the console.
func HasTerminal() bool { return false }

// Family is a program and what it started.
type Family struct{ Root *os.Process }

// Terminate kills, because there is no signal that asks.
func (f *Family) Terminate() { Kill(f.Root) }

// Kill ends the program.
func (f *Family) Kill() { Kill(f.Root) }

// Start starts cmd.
func Start(cmd *exec.Cmd) error { return cmd.Start() }

// Terminate kills, because there is no signal that asks.
func Terminate(p *os.Process) { Kill(p) }

// Ask ends a program, because there is no signal that asks.
func Ask(p *os.Process) error { return p.Kill() }

// Kill ends a program.
func Kill(p *os.Process) { _ = p.Kill() }

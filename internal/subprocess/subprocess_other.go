//go:build !unix

package subprocess

import (
	"os"
	"os/exec"
	"syscall"
)

// Hide does nothing here.
func Hide() {}

// Attributes are what a program is started with: nothing that matters here.
func Attributes() *syscall.SysProcAttr { return nil }

// Start starts cmd.
func Start(cmd *exec.Cmd) error { return cmd.Start() }

// Terminate kills, because there is no signal that asks.
func Terminate(p *os.Process) { Kill(p) }

// Kill ends a program.
func Kill(p *os.Process) { _ = p.Kill() }

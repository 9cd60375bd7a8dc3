//go:build unix && !linux

package subprocess

import (
	"os/exec"
	"syscall"
)

// Attributes are what a program is started with. Nothing ends it when we die without ending it.
func Attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Start starts cmd.
func Start(cmd *exec.Cmd) error { return cmd.Start() }

//go:build unix && !linux

package provision

import (
	"os/exec"
	"syscall"
)

// attributes: a session of its own, which can be ended as a whole and has no terminal to ask
// questions at.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func start(cmd *exec.Cmd) error { return cmd.Start() }

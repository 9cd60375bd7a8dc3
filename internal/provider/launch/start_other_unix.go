//go:build unix && !linux

package launch

import (
	"os/exec"
	"syscall"
)

// attributes: a session of its own. Nothing ends the process when we die without ending it.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func start(cmd *exec.Cmd) error { return cmd.Start() }

//go:build !unix

package provision

import (
	"os"
	"os/exec"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

func start(cmd *exec.Cmd) error { return cmd.Start() }

// terminate kills, because there is no signal that asks.
func terminate(p *os.Process) { kill(p) }

func kill(p *os.Process) { _ = p.Kill() }

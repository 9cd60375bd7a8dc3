//go:build !unix

package launch

import (
	"os"
	"os/exec"
	"syscall"
)

// attributes: none that matter here.
func attributes() *syscall.SysProcAttr { return nil }

func start(cmd *exec.Cmd) error { return cmd.Start() }

func killAll(p *os.Process) { _ = p.Kill() }

func busy(error) bool { return false }

// foreign reports that the file is no program that can run here.
func foreign(error) bool { return false }

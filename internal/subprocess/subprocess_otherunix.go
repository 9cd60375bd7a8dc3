//go:build unix && !linux

package subprocess

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Hide has no image of our memory made after a crash. Who may look into it while we run is the system's affair.
func Hide() {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &l) == nil {
		l.Cur = 0
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &l)
	}
}

// Lock does nothing here.
func Lock() {}

// Attributes are what a program is started with. Nothing ends it when we die without ending it.
func Attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// OnTerminal returns the attributes of a program that may ask its own questions on our terminal.
func OnTerminal() *syscall.SysProcAttr { return nil }

// Start starts cmd.
func Start(cmd *exec.Cmd) error { return cmd.Start() }

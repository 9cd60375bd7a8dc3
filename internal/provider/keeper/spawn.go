//go:build linux

package keeper

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Argument is the only argument of a process that is to be a keeper. No command has that name.
const Argument = "_keep"

// socket is the number of the descriptor that a keeper finds its engine at.
const socket = 3

// Spawn starts a keeper: this program again. name is what the process is called.
func Spawn(name string, env []string) (*Keeper, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("no socket could be made: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(ends[0]), "keeper"), os.NewFile(uintptr(ends[1]), "engine")
	defer ours.Close()
	defer theirs.Close()
	cmd := exec.Command(self, Argument)
	cmd.Args[0] = name
	cmd.Env = env
	cmd.ExtraFiles = []*os.File{theirs} // the first is number 3
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c, err := net.FileConn(ours)
	if err != nil {
		return nil, err
	}
	k := New(c)
	go func() {
		_ = cmd.Wait()
		close(k.ended)
	}()
	return k, nil
}

// Main is a keeper's process.
func Main() error {
	// Nothing but the engine ends a keeper. The signals are taken and left alone, and not ignored: providers would
	// ignore them, too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGQUIT)
	guarded()
	c, err := net.FileConn(os.NewFile(socket, "engine"))
	if err != nil {
		return err
	}
	unix.CloseOnExec(socket)
	return Serve(c)
}

// guarded keeps other processes of the user out of the memory, and the memory out of files.
func guarded() {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}

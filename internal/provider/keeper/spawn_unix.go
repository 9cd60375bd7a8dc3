//go:build unix

package keeper

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/lethe-iac/lethe/internal/subprocess"
)

// Supported is true if a keeper can run on this system.
const Supported = true

// Argument is the only argument of a process that is to be a keeper. No command has that name.
const Argument = "_keep"

// socket is the descriptor of a keeper's connection to the engine.
const socket = 3

// needed has the environment variables that a keeper gets. The variables of a provider are in the frame that starts it.
var needed = []string{"PATH", "HOME", "TMPDIR", "GODEBUG", "GOMEMLIMIT"}

// Spawn starts a keeper process with this program. name is the name of the process, and env is the engine's
// environment.
func Spawn(name string, env []string) (*Process, error) {
	self, err := program()
	if err != nil {
		return nil, err
	}
	ours, theirs, err := pair()
	if err != nil {
		return nil, fmt.Errorf("no socket could be made: %w", err)
	}
	defer ours.Close()
	defer theirs.Close()
	cmd := exec.Command(self, Argument)
	cmd.Args[0] = name
	cmd.Env = subprocess.Environ(env, func(name string) bool { return !slices.Contains(needed, name) })
	cmd.ExtraFiles = []*os.File{theirs} // the first extra file has the descriptor 3
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	c, err := net.FileConn(ours)
	return &Process{Conn: c, ID: cmd.Process.Pid, Ended: ended}, err
}

// pair returns the ends of a socket pair. A child process inherits only the end that it is given.
func pair() (a, b *os.File, err error) {
	syscall.ForkLock.RLock()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(ends[0])
		unix.CloseOnExec(ends[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(ends[0]), "keeper"), os.NewFile(uintptr(ends[1]), "engine"), nil
}

// Main is the main function of a keeper process. It serves the engine through an inherited socket, as Serve describes,
// and returns the error of Serve.
func Main(recovered NewRecorder) error {
	// Only the end of the engine ends a keeper. The signals are received, and not ignored, because child processes
	// inherit ignored signals.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGQUIT)
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	subprocess.Hide()
	subprocess.Lock()
	// A call needs little work, but several goroutines. With one processor, they do not wake other threads.
	runtime.GOMAXPROCS(1)
	file := os.NewFile(socket, "engine")
	c, err := net.FileConn(file)
	if err != nil {
		return err
	}
	file.Close()
	return Serve(c, recovered, stop)
}

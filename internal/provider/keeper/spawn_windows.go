package keeper

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/lethe-iac/lethe/internal/subprocess"
)

// Supported is true if a keeper can run on this system.
const Supported = true

// Argument is the only argument of a process that is to be a keeper. No command has that name.
const Argument = "_keep"

// needed has the environment variables that a keeper gets. The variables of a provider are in the frame that starts it.
var needed = []string{"PATH", "USERPROFILE", "LOCALAPPDATA", "TEMP", "TMP", "SYSTEMROOT", "GODEBUG", "GOMEMLIMIT"}

// separate are the flags with which a keeper survives the engine. The keeper gets a new console without a window. In
// the console of the engine, the keeper would end when the user closes the window. Without a console, each provider
// that the keeper starts would open a window.
const separate = windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW

// Spawn starts a keeper process with this program. name is the name of the process, and env is the engine's
// environment.
func Spawn(name string, env []string) (*Process, error) {
	// A job can end its processes together with the engine, as some terminals and services do. The keeper leaves the
	// jobs of the engine, if they permit it.
	p, err := spawn(name, env, separate|windows.CREATE_BREAKAWAY_FROM_JOB)
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		p, err = spawn(name, env, separate)
	}
	return p, err
}

func spawn(name string, env []string, flags uint32) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, Argument)
	cmd.Args[0] = name
	cmd.Env = subprocess.Environ(env, func(name string) bool { return !slices.Contains(needed, name) })
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: flags}
	theirs, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	from, back, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, to.Close())
	}
	defer back.Close()
	cmd.Stdin, cmd.Stdout = theirs, back
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, to.Close(), from.Close())
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	return &Process{Conn: pipes{from, to}, ID: cmd.Process.Pid, Ended: ended}, nil
}

// pipes is a connection of two pipes. The other process reads the end of its input when this process closes the
// connection, or ends.
type pipes struct{ from, to *os.File }

func (p pipes) Read(b []byte) (int, error)  { return p.from.Read(b) }
func (p pipes) Write(b []byte) (int, error) { return p.to.Write(b) }

// Close closes the connection. A Read in progress ends when the other process has closed its end.
func (p pipes) Close() error { return errors.Join(p.to.Close(), p.from.Close()) }

// Main is the main function of a keeper process. It serves the engine through standard input and output, as Serve
// describes, and returns the error of Serve.
func Main(recovered NewRecorder) error {
	// Only the end of the engine ends a keeper. SIGTERM reports that the user logs off, or that the system shuts down.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	// A call needs little work, but several goroutines. With one processor, they do not wake other threads.
	runtime.GOMAXPROCS(1)
	return Serve(pipes{os.Stdin, os.Stdout}, recovered, stop)
}

package launch

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// process is one run of a provider's program. go-plugin uses it as its runner (interface runner.Runner), and gets from
// it only the first line of output and the end of the process.
type process struct {
	addr    addr.Provider
	path    string
	version string
	env     []string
	log     func(level, line string) // gets the lines of the output; nil: the lines are dropped
	trace   trace                    // the part of standard error that explains a crash
	first   *firstLine
	dir     string // directory of the process's socket; removed when the process ends

	mu     sync.Mutex
	cmd    *exec.Cmd
	killed bool
	failed error // the error of the start; nil if the process has started

	done  chan struct{} // closed when the process has ended; afterwards how and alone may be read
	how   string        // a text that describes how the process ended
	alone bool          // the process was not killed before it ended
}

// startTime is the default time limit for a program's first line. endTime is the time limit for the end of the program
// after Lethe asked it to end.
var (
	startTime = 60 * time.Second
	endTime   = 5 * time.Second
	graceTime = 2 * time.Second // the time limit for the end of the program after it has answered the request to end; endTime applies, too
)

// Start starts the program, and does not wait for its end. It returns an error if the start fails, or if kill was
// called before.
func (p *process) Start(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		p.failed = context.Canceled
		return p.failed
	}
	if p.failed = p.run(); p.failed != nil {
		return p.failed
	}
	go p.wait(p.cmd)
	return nil
}

// run starts the process. A program file that was just written may still be open for writing in a child process that
// another goroutine is starting. The error passes after a moment, so run tries again.
func (p *process) run() error {
	for try := 0; ; try++ {
		p.cmd = exec.Command(p.path)
		p.cmd.Env = p.env
		p.cmd.Stdout = p.first
		p.cmd.Stderr = &lines{log: p.log, trace: &p.trace}
		p.cmd.WaitDelay = time.Second // limits the wait for child processes that keep the output open
		p.cmd.SysProcAttr = subprocess.Attributes()
		err := subprocess.Start(p.cmd)
		if err == nil {
			subprocess.NoCore(p.cmd.Process) // no core file, because the process receives secrets
		}
		if err == nil || !busy(err) || try == 5 {
			return err
		}
		time.Sleep(10 * time.Millisecond << try)
	}
}

func (p *process) wait(cmd *exec.Cmd) {
	err := cmd.Wait()
	if cmd.ProcessState != nil {
		p.how = cmd.ProcessState.String()
	} else {
		p.how = err.Error()
	}
	p.mu.Lock()
	p.alone = !p.killed
	p.mu.Unlock()
	if p.log != nil {
		level := "warn"
		if p.how == "exit status 0" {
			level = "debug"
		}
		p.log(level, "the process ended: "+p.how)
	}
	p.first.Close()
	close(p.done)
}

// kill ends the process at once. If the process was not started yet, kill prevents its start.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killed = true
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	select {
	case <-p.done:
	default:
		subprocess.Kill(p.cmd.Process)
	}
}

// ended returns a text that describes how the process has ended, or "" if it is running. Further lines of the text have
// the reason, if the process printed a reason. ended waits up to half a second, because the connection breaks before
// the process ends.
func (p *process) ended() string {
	select {
	case <-p.done:
		return strings.TrimSpace(p.how + "\n" + p.trace.String())
	case <-time.After(500 * time.Millisecond):
		return ""
	}
}

// The following methods are the rest of go-plugin's interface runner.Runner.

func (p *process) Wait(context.Context) error                       { <-p.done; return nil }
func (p *process) Kill(context.Context) error                       { p.kill(); return nil }
func (p *process) Stdout() io.ReadCloser                            { return p.first }
func (p *process) Stderr() io.ReadCloser                            { return io.NopCloser(bytes.NewReader(nil)) }
func (p *process) Name() string                                     { return p.path }
func (p *process) Diagnose(context.Context) string                  { return "" }
func (p *process) PluginToHost(n, a string) (string, string, error) { return n, a, nil }
func (p *process) HostToPlugin(n, a string) (string, string, error) { return n, a, nil }

// ID returns the process ID, or "none" before the start. It must not be empty, because go-plugin would not clean up
// then.
func (p *process) ID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil || p.cmd.Process == nil {
		return "none"
	}
	return strconv.Itoa(p.cmd.Process.Pid)
}

// socketDir returns the directory for sockets. This is the directory for temporary files. If its path is too long for
// the path of a socket (at most 107 bytes), it is /tmp.
func socketDir(temp string) string {
	const room = 64 // for the names in the directory
	if len(temp)+room <= 107 {
		return temp
	}
	if info, err := os.Stat("/tmp"); err == nil && info.IsDir() {
		return "/tmp"
	}
	return temp
}

// firstLine receives the standard output of the process, and keeps the first line, the handshake. Readers get this line
// when it is complete, and then io.EOF.
type firstLine struct {
	rest io.Writer // receives the lines after the first

	mu      sync.Mutex
	buf     []byte
	newline bool          // the line is complete
	done    chan struct{} // closed when the first line is complete, or when the output has ended
	closed  bool
	read    int
}

// lineMax is the maximum length of a handshake in bytes. A handshake with a certificate has about 1 KiB.
const lineMax = 16 << 10

func (f *firstLine) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(b)
	if !f.closed {
		var line []byte
		line, b, f.newline = bytes.Cut(b, []byte("\n"))
		f.buf = append(f.buf, line[:min(len(line), lineMax-len(f.buf))]...)
		if f.newline || len(f.buf) == lineMax {
			f.finish()
		}
	}
	_, _ = f.rest.Write(b) // rest never returns an error
	return n, nil
}

// finish makes the first line readable, even if the line is incomplete.
func (f *firstLine) finish() {
	if !f.closed {
		f.closed = true
		close(f.done)
	}
}

// Close ends the output: a reader gets the part of the first line that was received.
func (f *firstLine) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finish()
	return nil
}

// Read waits for the first line, and returns it with its line end.
func (f *firstLine) Read(b []byte) (int, error) {
	<-f.done
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.buf) == 0 && !f.newline || f.read > len(f.buf) {
		return 0, io.EOF
	}
	n := copy(b, f.buf[f.read:])
	if n == 0 && len(b) > 0 {
		b[0], n = '\n', 1
	}
	f.read += n
	return n, nil
}

// text returns the part of the first line that was received. It returns true if the line is complete or too long.
func (f *firstLine) text() (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(bytes.TrimRight(f.buf, "\r")), f.newline || len(f.buf) == lineMax
}

// Program is a program to start. It has all data that another process (the keeper, which starts providers) needs to
// start it.
type Program struct {
	Provider addr.Provider
	Path     string
	Version  string        // the version of the provider in messages; "" if it is unknown
	Env      []string      // variables of its environment, "name=value"
	Plain    bool          // the connection has no TLS
	Complete bool          // make calls with grpc-go instead of package rpc, as Processes.Complete
	Timeout  time.Duration // time limit for the handshake

	Running  string // address of a process that another program has started, such as "unix:/path"; else ""
	Protocol int    // major protocol version of that process
}

// Running is a running provider process with the connection to it.
type Running struct {
	Conn     grpc.ClientConnInterface
	Protocol int             // major version of the protocol: 5 or 6
	Ended    func() string   // how the process has ended, or "" if it is running; nil: unknown
	Done     <-chan struct{} // closed when the process has ended; nil: unknown
	Address  func() Address  // the address at which another process can connect; nil: not available
	Close    func()          // asks the process to end, and kills it if it does not end in time
}

// Reattach is a running provider process that another program started and will end.
type Reattach struct {
	Named addr.Provider // the provider in TF_REATTACH_PROVIDERS, with the registry host that the user wrote
	Test  bool          // a test program runs the process to observe it
	Major int           // the major version of the protocol: 5 or 6
	Addr  net.Addr      // address of the process, without TLS
}

// Processes starts providers as processes. Its fields must not change after the first Start.
type Processes struct {
	// Find returns the path of a provider's program. Start returns its errors unchanged.
	Find func(addr.Provider) (path string, err error)
	// VersionOf returns the version of a provider, for messages. If it is nil, the version comes from the name of the
	// program's file.
	VersionOf func(addr.Provider) string
	// Kept returns the cache for the schemas of a provider, which earlier commands may have filled. It returns nil if the
	// provider has no cache. Kept may be nil.
	Kept func(addr.Provider) wire.Kept
	// Reattach has running processes to use instead of programs, by the result of addr.Provider.Canon.
	Reattach map[addr.Provider]Reattach
	// Log receives the output of a process, one line at a time without its line end, with its level ("trace", "debug",
	// "info", "warn", "error"). It is called from several goroutines. nil drops the output.
	Log func(p addr.Provider, level, line string)
	// Called is called after each call to a provider, and after its start with the method "start". It is called from
	// several goroutines. It may be nil.
	Called func(addr.Provider, wire.Call)
	// Env is Lethe's environment as "name=value". nil means the environment of the process.
	Env []string
	// Silent asks providers not to write log lines. By default, SDKs write several lines for every call, which take
	// more time than the call.
	Silent bool
	// Complete makes calls with grpc-go, a complete implementation of gRPC, instead of package rpc.
	Complete bool
	// Version is the version of Terraform that providers get, such as "1.12.0".
	Version string
	// Deadlines are the time limits for providers. If Deadlines.Start is 0, the handshake may take a minute.
	Deadlines provider.Deadlines
	// Through starts programs. nil means the function Start.
	Through func(ctx context.Context, program Program, log func(level, line string)) (*Running, error)
	// Shutdown is called after the last start. It returns when the processes that Through started have ended, or after
	// a time limit. It may be nil.
	Shutdown func() error
}

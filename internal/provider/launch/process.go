package launch

import (
	"bytes"
	"context"
	"io"
	"net"
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

// process is one run of a provider's program. It is a runner.Runner of go-plugin, which gets from
// it the first line of output and the news of its end, and nothing else.
type process struct {
	addr    addr.Provider
	path    string
	version string
	env     []string
	log     func(level, line string) // nil: its lines are dropped
	trace   trace                    // of its standard error
	first   *firstLine
	dir     string // for its socket; it goes when the process does

	mu     sync.Mutex
	cmd    *exec.Cmd
	killed bool
	failed error // of the start

	done  chan struct{} // closed when the process has ended; afterwards these are set:
	how   string        // it ended
	alone bool          // it was not killed before
}

// The time limit for a program's first line, unless Processes sets another, and the time limit for its end after it was
// asked to end.
var (
	startTime = 60 * time.Second
	endTime   = 5 * time.Second
	graceTime = 2 * time.Second // the part of it after the program has confirmed
)

// Start runs the program.
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

// run starts the process. A program that was written a moment ago may still be open for writing
// in a process that is being started at this very moment; that passes.
func (p *process) run() error {
	for try := 0; ; try++ {
		p.cmd = exec.Command(p.path)
		p.cmd.Env = p.env
		p.cmd.Stdout = p.first
		p.cmd.Stderr = &lines{log: p.log, trace: &p.trace}
		p.cmd.WaitDelay = time.Second // for its children that keep its output open
		p.cmd.SysProcAttr = subprocess.Attributes()
		err := subprocess.Start(p.cmd)
		if err == nil {
			subprocess.NoCore(p.cmd.Process) // it receives secrets
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

// kill ends the process at once, and prevents the start of a process that has not started.
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

// ended returns how the process ended, "" if it has not. Further lines have the reason, if it printed one. A connection
// breaks a moment before the process ends, so ended waits that moment.
func (p *process) ended() string {
	select {
	case <-p.done:
		return strings.TrimSpace(p.how + "\n" + p.trace.String())
	case <-time.After(500 * time.Millisecond):
		return ""
	}
}

// The following methods implement go-plugin's runner.

func (p *process) Wait(context.Context) error                       { <-p.done; return nil }
func (p *process) Kill(context.Context) error                       { p.kill(); return nil }
func (p *process) Stdout() io.ReadCloser                            { return p.first }
func (p *process) Stderr() io.ReadCloser                            { return io.NopCloser(bytes.NewReader(nil)) }
func (p *process) Name() string                                     { return p.path }
func (p *process) Diagnose(context.Context) string                  { return "" }
func (p *process) PluginToHost(n, a string) (string, string, error) { return n, a, nil }
func (p *process) HostToPlugin(n, a string) (string, string, error) { return n, a, nil }

// ID must not be empty, also before the start, or go-plugin would not clean up.
func (p *process) ID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil || p.cmd.Process == nil {
		return "none"
	}
	return strconv.Itoa(p.cmd.Process.Pid)
}

// firstLine takes the standard output of the process and keeps the first line, the handshake. Readers get that line
// when it is complete, and then the end.
type firstLine struct {
	rest io.Writer // gets the later lines

	mu      sync.Mutex
	buf     []byte
	newline bool          // the line is whole
	done    chan struct{} // closed when it is, or nothing more will come
	closed  bool
	read    int
}

// lineMax is the maximum length of a handshake in bytes. With a certificate it has about 1 KiB.
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
	_, _ = f.rest.Write(b) // never fails
	return n, nil
}

// finish makes the line readable, as far as there is one.
func (f *firstLine) finish() {
	if !f.closed {
		f.closed = true
		close(f.done)
	}
}

// Close ends the output.
func (f *firstLine) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finish()
	return nil
}

// Read returns the line with its end.
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

// text is the line as far as it has come, and whether that is all or more than there should be.
func (f *firstLine) text() (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(bytes.TrimRight(f.buf, "\r")), f.newline || len(f.buf) == lineMax
}

// Program is one to start: all that another process needs to know to start it in the place of this one.
type Program struct {
	Provider addr.Provider
	Path     string
	Version  string        // for messages, "" if it is not known
	Env      []string      // its variables, "name=value"
	Plain    bool          // the connection has no TLS
	Complete bool          // as in Processes
	Timeout  time.Duration // for the program to make itself known

	Running  string // its address without TLS, if another program has started it, as "unix:/path"; else ""
	Protocol int    // major version that it speaks then
}

// Running is the process of a provider, and the connection to it.
type Running struct {
	Conn     grpc.ClientConnInterface
	Protocol int             // major version
	Ended    func() string   // as in wire.Options; nil: unknown
	Done     <-chan struct{} // closed when it has ended; nil: unknown
	Address  func() Address  // for another process; nil: not available
	Close    func()          // asks it to end, and kills it if it does not
}

// Reattach is a running provider process that another program started and will end.
type Reattach struct {
	Named addr.Provider // as the key has it, with the registry host that its user writes
	Test  bool          // a test program runs it, to observe it
	Major int           // of the protocol: 5 or 6
	Addr  net.Addr      // its address, without TLS
}

// Processes starts providers as processes. Its fields are set before the first Start and not
// changed afterwards.
type Processes struct {
	// Find returns the path of a provider's program. Its errors are passed on unchanged.
	Find func(addr.Provider) (path string, err error)
	// VersionOf returns the version of that provider, for messages. May be nil: then the file's name is searched for
	// it.
	VersionOf func(addr.Provider) string
	// Kept returns the schemas that a provider sent to an earlier command; nil if nothing may be kept. May be nil
	// itself.
	Kept func(addr.Provider) wire.Kept
	// Reattach are running processes to use instead, by the canonical address of the provider.
	Reattach map[addr.Provider]Reattach
	// Log gets the output of a process, one line at a time without its end, with its level ("trace", "debug", "info",
	// "warn", "error"). It is called from several goroutines. nil drops the output.
	Log func(p addr.Provider, level, line string)
	// Called is called after each call to a provider, and after its start, with the call "start", from many goroutines.
	// May be nil.
	Called func(addr.Provider, wire.Call)
	// Env is our environment as "name=value"; nil: the environment of the process.
	Env []string
	// Silent asks providers not to write log lines. SDKs write some for every call by default, which costs the provider
	// and us more than the call.
	Silent bool
	// Complete makes calls with grpc-go, a complete implementation of gRPC, instead of package rpc.
	Complete bool
	// Version is the version of the program that providers are to work for, such as "1.12.0".
	Version string
	// Deadlines are how long providers may take to answer. Without, they have a minute to make themselves known.
	Deadlines provider.Deadlines
	// Through starts programs; nil: Start does.
	Through func(ctx context.Context, program Program, log func(level, line string)) (*Running, error)
	// Shutdown is called after the last start. It returns when the processes that Through has started have ended, or
	// after a time limit. May be nil.
	Shutdown func() error
}

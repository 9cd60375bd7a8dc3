package launch

import (
	"bytes"
	"context"
	"io"
	"net"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/lethe-iac/lethe/internal/addr"
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
	first   *firstLine
	dir     string // for its socket; it goes when the process does

	mu     sync.Mutex
	cmd    *exec.Cmd
	killed bool
	failed error // of the start

	done  chan struct{} // closed when the process is gone; then there are:
	how   string        // it ended
	alone bool          // it was not killed before
}

// The time a program has to make itself known, unless Processes says otherwise, and the time it
// has to end once it is asked to.
var (
	startTime = 60 * time.Second
	endTime   = 5 * time.Second
	graceTime = 2 * time.Second // of that, when it has said that it will
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
		if p.log != nil {
			p.cmd.Stderr = newLines(p.log) // else it is the null device's
		}
		p.cmd.WaitDelay = time.Second // for children of its own that keep its output open
		p.cmd.SysProcAttr = subprocess.Attributes()
		err := subprocess.Start(p.cmd)
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

// kill ends the process at once, and keeps one that has not started from starting.
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

// ended says how the process ended, "" if it has not. A connection breaks a moment before the
// process is gone, so it waits that moment.
func (p *process) ended() string {
	select {
	case <-p.done:
		return p.how
	case <-time.After(500 * time.Millisecond):
		return ""
	}
}

// What follows is what go-plugin asks of a runner.

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

// firstLine takes what the process writes to standard output and keeps the first line, which is
// the handshake. Readers get that line, once it is there, and then the end.
type firstLine struct {
	rest io.Writer // gets what follows

	mu      sync.Mutex
	buf     []byte
	newline bool          // the line is whole
	over    chan struct{} // closed when it is, or nothing more will come
	closed  bool
	read    int
}

// lineMax is what a handshake may be long. With a certificate in it, it is about 1 KiB.
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
		close(f.over)
	}
}

// Close says that nothing more comes.
func (f *firstLine) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finish()
	return nil
}

// Read gives the line, ended.
func (f *firstLine) Read(b []byte) (int, error) {
	<-f.over
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

	Running  string // where it listens, without TLS, if another program has started it: as "unix:/path"; "" if not
	Protocol int    // major version that it speaks then
}

// Running is the process of a provider, and the connection to it.
type Running struct {
	Conn     grpc.ClientConnInterface
	Protocol int             // major version
	Ended    func() string   // as in wire.Options; nil: it cannot be said
	Gone     <-chan struct{} // closed when it has ended; nil: it cannot be said
	Way      Way             // for another process
	Close    func()          // asks it to end, and kills it if it does not
}

// Reattach is a running provider process that another program started and will end.
type Reattach struct {
	Named addr.Provider // as the key has it, with the registry host that its user writes
	Test  bool          // a test program runs it, to look at what it does
	Major int           // of the protocol: 5 or 6
	Addr  net.Addr      // where it listens, without TLS
}

// Processes starts providers as processes. Its fields are set before the first Start and not
// changed afterwards.
type Processes struct {
	// Find says where the program of a provider is. Its errors are passed on as they are.
	Find func(addr.Provider) (path string, err error)
	// VersionOf says which version of the provider that is, for messages. May be nil: then it is
	// read off the file's name, where it is in there.
	VersionOf func(addr.Provider) string
	// Kept has what a provider said of its schemas to an earlier command; nil if nothing may be kept.
	// May be nil itself.
	Kept func(addr.Provider) wire.Kept
	// Reattach are running processes to use instead, by the canonical address of the provider.
	Reattach map[addr.Provider]Reattach
	// Log takes what a process writes, one line at a time without its end, with the level it has
	// ("trace", "debug", "info", "warn", "error"). It is called from several goroutines. Nil: it is
	// thrown away.
	Log func(p addr.Provider, level, line string)
	// Called gets each call to a provider when it is over, and its start, as the call "start", from many goroutines. May
	// be nil.
	Called func(addr.Provider, wire.Call)
	// Env is our environment as "name=value"; nil: that of the process.
	Env []string
	// Quiet tells providers not to write log lines. SDKs write some for every call unless told
	// otherwise, which costs the provider and us more than the call.
	Quiet bool
	// Complete makes calls with grpc-go, a complete implementation of gRPC, instead of package rpc.
	Complete bool
	// Version is the version of the program that providers are to work for, such as
	// "1.12.0".
	Version string
	// StartTime is how long a program may take to make itself known; 0: a minute.
	StartTime time.Duration
	// Through starts programs; nil: Start does.
	Through func(ctx context.Context, program Program, log func(level, line string)) (*Running, error)
	// Over says that no more are started, and all that Through has started have ended. May be nil.
	Over func() error
}

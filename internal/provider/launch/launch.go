// Package launch starts provider processes, or finds those that another program started.
//
// Processes is the provider.Launcher of every day: it asks where a provider's program is, starts
// it, agrees on a protocol version over the program's first line of output, and hands the
// connection to package wire. The handshake itself is go-plugin's, but for our certificate
// (cert.go): both sides have one, for once, unless TF_DISABLE_PLUGIN_TLS is set. What becomes of
// the process is ours:
//
//   - it runs in a session of its own, so that a closed terminal or an interrupt meant for us does
//     not take it away while we still have leases to close;
//   - on Linux the kernel ends it when we die without ending it ourselves;
//   - it reads nothing (standard input is empty), and what it writes goes to the log, line by
//     line, and never to the screen;
//   - it inherits our environment but for TF_VAR_*: those are values of variables, often secrets,
//     and no provider's business. Everything else stays, TF_TOKEN_* and cloud credentials too:
//     providers are configured that way;
//   - its socket lies in a directory of its own, which goes when it goes.
//
// A process that another program started (TF_REATTACH_PROVIDERS) is used and left alone.
//
// Errors name the provider and say what it did instead of starting; they are diag.Diagnostic
// values, ready to be shown.
package launch

import (
	"cmp"
	"context"
	"crypto/tls"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/rpc"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// handshake tells a program that it was started as a plugin, by a client that speaks the protocol.
// The cookie is the protocol's and the same for all clients; it is no secret.
var handshake = plugin.HandshakeConfig{
	MagicCookieKey:   "TF_PLUGIN_MAGIC_COOKIE",
	MagicCookieValue: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
}

// Start starts the provider's program, or connects to a process that runs already.
func (ps *Processes) Start(ctx context.Context, p addr.Provider) (provider.Provider, error) {
	program, err := ps.program(p)
	if err != nil {
		return nil, err
	}
	start := ps.Through
	if start == nil {
		start = Start
	}
	var log func(level, line string)
	if ps.Log != nil {
		log = func(level, line string) { ps.Log(p, level, line) }
	}
	var called func(wire.Call)
	if ps.Called != nil {
		called = func(c wire.Call) { ps.Called(p, c) }
	}
	begun := time.Now()
	r, err := start(ctx, program, log)
	if called != nil {
		called(wire.Call{Method: "start", Took: time.Since(begun), Failed: err != nil})
	}
	if err != nil {
		return nil, err
	}
	options := wire.Options{
		Version:   program.Version,
		Terraform: ps.Version,
		Ended:     r.Ended,
		Called:    called,
		Close:     func() error { r.Close(); return nil },
	}
	if ps.Kept != nil && program.Running == "" {
		options.Kept = ps.Kept(p)
	}
	return wire.Client(r.Conn, r.Protocol, p, options), nil
}

// Close says that no more are started.
func (ps *Processes) Close() error {
	if ps.Over == nil {
		return nil
	}
	return ps.Over()
}

// program is what is to be started for a provider.
func (ps *Processes) program(p addr.Provider) (Program, error) {
	if r, ok := ps.Reattach[p.Canon()]; ok {
		return Program{Provider: p, Running: r.Addr.Network() + ":" + r.Addr.String(), Protocol: r.Major}, nil
	}
	path, err := ps.Find(p)
	if err != nil {
		return Program{}, err
	}
	out := Program{
		Provider: p, Path: path, Version: versionIn(path), Complete: ps.Complete, Timeout: cmp.Or(ps.StartTime, startTime),
		Plain: subprocess.Getenv(ps.environ(), "TF_DISABLE_PLUGIN_TLS") != "",
		Env:   subprocess.Environ(ps.environ(), func(name string) bool { return slices.Contains(handedDown, name) }),
	}
	if ps.VersionOf != nil {
		out.Version = ps.VersionOf(p)
	}
	if ps.Quiet {
		out.Env = quiet(out.Env, p)
	}
	return out, nil
}

// Start starts a program and connects to it. What it writes goes to log, with a level, line by line without its
// end, from several goroutines; nil: it is thrown away.
func Start(ctx context.Context, program Program, log func(level, line string)) (*Running, error) {
	if program.Running != "" {
		return attach(ctx, program)
	}
	proc := newProcess(program, log)
	config, err := configure(program, proc)
	if err != nil {
		return nil, err
	}
	client := plugin.NewClient(config)
	stop := context.AfterFunc(ctx, proc.kill)
	conn, way, end, err := connect(ctx, client, config, proc, program.Complete)
	if cancelled := !stop(); err != nil || cancelled {
		if end != nil {
			end()
		}
		client.Kill()
		return nil, proc.explain(ctx, err)
	}
	return &Running{Conn: conn, Protocol: client.NegotiatedVersion(), Ended: proc.ended, Gone: proc.done, Way: way, Close: end}, nil
}

// attach connects to a running process, which is left running.
func attach(ctx context.Context, program Program) (*Running, error) {
	within, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	network, address, _ := strings.Cut(program.Running, ":")
	conn, err := rpc.Dial(within, listens{network, address}, nil, wire.MaxMessage)
	if err != nil {
		return nil, diag.Errorf(title, "TF_REATTACH_PROVIDERS says that the provider %s is running, but it cannot be reached (%s). It may have ended since.", program.Provider, err)
	}
	// There is no Way: a program may configure itself anew for each connection, so all calls have to take one.
	return &Running{Conn: conn, Protocol: program.Protocol, Close: func() { conn.Close() }}, nil
}

// connect starts the process and connects to it. end asks it to end, and kills it if it does not;
// it is nil after an error.
func connect(ctx context.Context, client *plugin.Client, config *plugin.ClientConfig, proc *process, complete bool) (conn grpc.ClientConnInterface, way Way, end func(), err error) {
	if !complete {
		return dial(ctx, client, config, proc)
	}
	c, err := client.Client()
	if err != nil {
		return nil, Way{}, nil, err
	}
	return c.(*plugin.GRPCClient).Conn, Way{}, func() {
		defer time.AfterFunc(endTime, proc.kill).Stop()
		client.Kill()
	}, nil
}

// configure is what go-plugin is set up with. It runs the process through ours (process.go) and never sees
// what it writes but for the first line.
func configure(program Program, proc *process) (*plugin.ClientConfig, error) {
	var secure *tls.Config
	var own []string // variables of the program alone
	if !program.Plain {
		config, certificate, err := identify()
		if err != nil {
			return nil, err
		}
		secure, own = config, []string{certVariable + "=" + certificate}
	}
	return &plugin.ClientConfig{
		HandshakeConfig:  handshake,
		VersionedPlugins: map[int]plugin.PluginSet{5: {}, 6: {}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		TLSConfig:        secure,
		SkipHostEnv:      true,
		StartTimeout:     program.Timeout,
		GRPCDialOptions:  wire.DialOptions(),
		Logger:           hclog.New(&hclog.LoggerOptions{Name: "launch", Output: newLines(proc.log), Level: hclog.Trace, JSONFormat: true}),
		SyncStdout:       newLines(proc.log),
		SyncStderr:       newLines(proc.log),
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: socketDir(os.TempDir())},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, dir string) (runner.Runner, error) {
			proc.dir = dir
			proc.env = append(append(program.Env[:len(program.Env):len(program.Env)], own...), cmd.Env...)
			return proc, nil
		},
	}, nil
}

// socketDir is where sockets are put: the directory for temporary files, or the system's where the
// path of that is so long that the path of a socket, 107 bytes at most, has no room in it.
func socketDir(temp string) string {
	const room = 64 // for what is made below it
	if len(temp)+room <= 107 {
		return temp
	}
	if info, err := os.Stat("/tmp"); err == nil && info.IsDir() {
		return "/tmp"
	}
	return temp
}

func (ps *Processes) environ() []string {
	if ps.Env != nil {
		return ps.Env
	}
	return os.Environ()
}

// newProcess is a program, not started.
func newProcess(program Program, log func(level, line string)) *process {
	proc := &process{addr: program.Provider, path: program.Path, version: program.Version, done: make(chan struct{})}
	if log != nil {
		proc.log = unfailing(log)
	}
	proc.first = &firstLine{rest: newLines(proc.log), over: make(chan struct{})}
	return proc
}

// versionIn is the version in a file name such as terraform-provider-time_v0.14.2_x5; "" if there
// is none.
func versionIn(path string) string {
	_, rest, ok := strings.Cut(filepath.Base(path), "_v")
	if !ok {
		return ""
	}
	version, _, _ := strings.Cut(strings.TrimSuffix(rest, ".exe"), "_")
	return version
}

// handedDown are the variables that a handshake of our own parent may have left: a provider has its
// own.
var handedDown = []string{certVariable, "PLUGIN_MULTIPLEX_GRPC", "PLUGIN_UNIX_SOCKET_DIR", "PLUGIN_UNIX_SOCKET_GROUP"}

// sdkLogs are the variables that say which lines of its own a provider's SDK writes, by part of the
// SDK. There is one more for what the provider itself writes, which has the provider's name.
var sdkLogs = []string{
	"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK", "TF_LOG_SDK_MUX",
	"TF_LOG_SDK_HELPER_RESOURCE", "TF_LOG_SDK_HELPER_SCHEMA",
}

// quiet switches the log of a provider off, but for what the environment says about it.
func quiet(env []string, p addr.Provider) []string {
	own := "TF_LOG_PROVIDER_" + strings.ToUpper(strings.ReplaceAll(p.Type, "-", "_"))
	for _, name := range append(sdkLogs[:len(sdkLogs):len(sdkLogs)], own) {
		if subprocess.Getenv(env, name) == "" {
			env = append(env, name+"=off")
		}
	}
	return env
}

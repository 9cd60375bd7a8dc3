// Package launch starts provider processes, or connects to processes that another program started.
//
// Processes is the usual provider.Launcher. It finds a provider's program, starts it, reads the protocol version from
// the program's first line of output, and passes the connection to package wire. The handshake is go-plugin's, except
// for Lethe's certificate (cert.go): unless TF_DISABLE_PLUGIN_TLS is set, both sides have a certificate for one
// connection. The package sets up the process as follows:
//
//   - it runs in a separate session, so that a closed terminal or an interrupt for Lethe does not end it while leases
//     (open ephemeral resources) must be closed;
//   - on Linux the kernel ends it when Lethe ends without ending it;
//   - its standard input is empty, and its output goes to the log, line by line, and never to the screen;
//   - it inherits Lethe's environment except TF_VAR_*: these are values of input variables, often secrets, and no
//     provider needs them. All other variables stay, also TF_TOKEN_* and cloud credentials, because they configure
//     providers;
//   - its socket is in a separate directory, which is deleted with it.
//
// A process that another program started (TF_REATTACH_PROVIDERS) is used, but not ended.
//
// An error names the provider and describes the behaviour of its program. Errors are diag.Diagnostic values.
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
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// Handshake is the environment variable that tells a program that a client of the protocol has started it as a plugin.
// The value, the cookie, is part of the protocol and the same for all clients, so it is not secret.
var Handshake = plugin.HandshakeConfig{
	MagicCookieKey:   "TF_PLUGIN_MAGIC_COOKIE",
	MagicCookieValue: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
}

// Start starts the provider's program, or connects to a running process in Reattach.
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
	started := time.Now()
	r, err := start(ctx, program, log)
	if called != nil {
		called(wire.Call{Method: "start", Took: time.Since(started), Failed: err != nil})
	}
	if err != nil {
		return nil, err
	}
	options := wire.Options{
		Version:   program.Version,
		Terraform: ps.Version,
		Ended:     r.Ended,
		Attached:  program.Running != "",
		Deadlines: ps.Deadlines,
		Called:    called,
		Close:     func() error { r.Close(); return nil },
	}
	if ps.Kept != nil && program.Running == "" {
		options.Kept = ps.Kept(p)
	}
	return wire.Client(r.Conn, r.Protocol, p, options), nil
}

// Close calls Shutdown, if that is set.
func (ps *Processes) Close() error {
	if ps.Shutdown == nil {
		return nil
	}
	return ps.Shutdown()
}

// program returns the program to start for a provider.
func (ps *Processes) program(p addr.Provider) (Program, error) {
	if r, ok := ps.Reattach[p.Canon()]; ok {
		return Program{Provider: p, Running: r.Addr.Network() + ":" + r.Addr.String(), Protocol: r.Major}, nil
	}
	path, err := ps.Find(p)
	if err != nil {
		return Program{}, err
	}
	out := Program{
		Provider: p, Path: path, Version: versionIn(path), Complete: ps.Complete, Timeout: cmp.Or(ps.Deadlines.Start, startTime),
		Plain: subprocess.Getenv(ps.environ(), "TF_DISABLE_PLUGIN_TLS") != "",
		Env:   subprocess.Environ(ps.environ(), func(name string) bool { return slices.Contains(inherited, name) }),
	}
	if ps.VersionOf != nil {
		out.Version = ps.VersionOf(p)
	}
	if ps.Silent {
		out.Env = silenced(out.Env, p)
	}
	return out, nil
}

// Start starts a program and connects to it. log receives the output, line by line without line ends, with a level. It
// is called from several goroutines. A nil log drops the output.
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
	conn, address, end, err := connect(ctx, client, config, proc, program.Complete)
	if cancelled := !stop(); err != nil || cancelled {
		if end != nil {
			end()
		}
		client.Kill()
		return nil, proc.explain(ctx, err)
	}
	return &Running{Conn: conn, Protocol: client.NegotiatedVersion(), Ended: proc.ended, Done: proc.done, Address: address, Close: end}, nil
}

// attachTime is the time limit for the connection to a running process.
var attachTime = 10 * time.Second

// attach connects to the running process program.Running. Close of the result does not end that process.
func attach(ctx context.Context, program Program) (*Running, error) {
	network, address, _ := strings.Cut(program.Running, ":")
	conn, err := dialWithin(ctx, attachTime, listens{network, address}, nil)
	if err != nil {
		return nil, diag.Errorf(title, "The provider %s in TF_REATTACH_PROVIDERS cannot be reached (%s). It may have exited.", program.Provider, err)
	}
	// The field Address of Running stays empty: a program may lose its configuration with each new connection, so all
	// calls must use this connection.
	return &Running{Conn: conn, Protocol: program.Protocol, Close: func() { conn.Close() }}, nil
}

// connect starts the process and connects to it. If complete is true, the connection is a connection of grpc-go, which
// go-plugin makes. Otherwise it is a connection of package rpc (see dial). end asks the process to end, and kills it if
// it does not end in time. address returns the address at which the process listens; it may be nil. After an error, end
// is nil.
func connect(ctx context.Context, client *plugin.Client, config *plugin.ClientConfig, proc *process, complete bool) (conn grpc.ClientConnInterface, address func() Address, end func(), err error) {
	if !complete {
		return dial(ctx, client, config, proc)
	}
	c, err := client.Client()
	if err != nil {
		return nil, nil, nil, err
	}
	return c.(*plugin.GRPCClient).Conn, nil, func() {
		defer time.AfterFunc(endTime, proc.kill).Stop()
		client.Kill()
	}, nil
}

// configure returns the settings for go-plugin. With them, go-plugin runs the program through proc, and gets only the
// first line of its output.
func configure(program Program, proc *process) (*plugin.ClientConfig, error) {
	var secure *tls.Config
	var own []string // variables that only this program gets
	if !program.Plain {
		config, certificate, err := Identify()
		if err != nil {
			return nil, err
		}
		secure, own = config, []string{CertVariable + "=" + certificate}
	}
	return &plugin.ClientConfig{
		HandshakeConfig:  Handshake,
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

func (ps *Processes) environ() []string {
	if ps.Env != nil {
		return ps.Env
	}
	return os.Environ()
}

// newProcess returns a process that is not started yet. log receives the lines of its output; nil drops them.
func newProcess(program Program, log func(level, line string)) *process {
	proc := &process{addr: program.Provider, path: program.Path, version: program.Version, done: make(chan struct{})}
	if log != nil {
		proc.log = unfailing(log)
	}
	proc.first = &firstLine{rest: newLines(proc.log), done: make(chan struct{})}
	return proc
}

// versionIn returns the version in the name of a program file, such as 0.14.2 for terraform-provider-time_v0.14.2_x5.
// It returns "" if the name has no version.
func versionIn(path string) string {
	_, rest, ok := strings.Cut(filepath.Base(path), "_v")
	if !ok {
		return ""
	}
	version, _, _ := strings.Cut(strings.TrimSuffix(rest, ".exe"), "_")
	return version
}

// inherited has variables that a provider must not inherit. They may come from the handshake of a program that started
// Lethe as a plugin.
var inherited = []string{CertVariable, "PLUGIN_MULTIPLEX_GRPC", "PLUGIN_UNIX_SOCKET_DIR", "PLUGIN_UNIX_SOCKET_GROUP"}

// sdkLogs has the variables that set the log levels of the parts of a provider's SDK. Another variable, with the
// provider's name, sets the level of the provider's own lines.
var sdkLogs = []string{
	"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK", "TF_LOG_SDK_MUX",
	"TF_LOG_SDK_HELPER_RESOURCE", "TF_LOG_SDK_HELPER_SCHEMA",
}

// silenced returns the environment of a provider with variables that disable its log. A level that env sets stays.
func silenced(env []string, p addr.Provider) []string {
	own := "TF_LOG_PROVIDER_" + strings.ToUpper(strings.ReplaceAll(p.Type, "-", "_"))
	for _, name := range append(sdkLogs[:len(sdkLogs):len(sdkLogs)], own) {
		if subprocess.Getenv(env, name) == "" {
			env = append(env, name+"=off")
		}
	}
	return env
}

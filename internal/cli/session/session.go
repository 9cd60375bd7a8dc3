// Package session opens the providers, the engine and a locked state for a command that evaluates the configuration or
// calls providers. A command that only reads files uses package loader. A command that only works on states uses
// package states.
//
//	ask.go      questions about arguments of providers
//	prepare.go  loading and compiling a configuration with the values of its variables
//	judge.go    all errors of a configuration
//	session.go  Session: providers, engine, program, locked state, and the order of closing them
package session

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/loader"
	"github.com/lethe-iac/lethe/internal/cli/plugins"
	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/cli/timed"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin/lethe"
	"github.com/lethe-iac/lethe/internal/provider/builtin/terraform"
	"github.com/lethe-iac/lethe/internal/provider/keeper"
	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/subprocess"
	"github.com/lethe-iac/lethe/internal/timing"
	"github.com/lethe-iac/lethe/internal/workspace"
	"github.com/zclconf/go-cty/cty"
)

// Session holds everything that a command has opened: its configuration, its states, its providers and the engine.
type Session struct {
	Dir       *workdir.Directory
	Loader    *loader.Loader
	States    *states.States
	Plugins   *plugins.Installation // the installed provider plugins
	Pool      *provider.Pool        // starts the providers, and has their schemas
	Engine    *engine.Engine
	Operation operation.Operation // operation.None for a command that locks no state
	Program   *program.Program    // the compiled configuration; nil before Compile
	Locked    *states.Locked      // nil before Lock
}

// Open opens a session in the working directory for an operation. It does not read the configuration, lock a state or
// start a provider. The session is closed at the end of the command. If the working directory or the settings cannot be
// used, Open reports an error and returns false.
func Open(c *base.Call, o *workdir.Options, of operation.Operation) (*Session, bool) {
	if !timed.Begin(c, o.Timings, o.Parallelism) {
		return nil, false
	}
	d, ok := workdir.Open(c, o)
	if !ok {
		return nil, false
	}
	l := loader.New(d)
	s := &Session{Dir: d, Loader: l, States: states.New(l), Plugins: plugins.New(d), Operation: of}
	s.Pool = s.newPool()
	s.Engine = s.newEngine()
	c.Work.Store(s.Engine)
	c.AtEnd(s.close)
	return s, true
}

// close closes everything that the session has opened. It unlocks states first, while the keeper (a second process,
// which starts the providers) still runs, because it stores the journal of the run if this process dies. Then the
// providers end, and after them the keeper.
func (s *Session) close() {
	s.States.Unlock()
	_ = s.Pool.Close()
}

// Lock locks the state of the selected workspace for the operation of the session, and reads it. part selects the part
// of the state that the command needs; nil selects the whole state. The engine records leases (opened ephemeral
// resources) in the journal of that state. Lock reports an error and returns false if the state cannot be locked or
// read.
func (s *Session) Lock(ctx context.Context, part workspace.Selecting) (*workspace.State, bool) {
	// A command shares the lock with other commands only if it opens no leases, because the journal of a state records
	// the leases of only one command. Commands with Makes may open leases even if the loaded configuration has no
	// ephemeral resources: the edits of secrets move may add ephemeral resources.
	return s.lock(ctx, states.Locking{Operation: s.Operation, Part: part, Shared: !s.Dir.Call.Command.Makes && !s.opens()})
}

// LockToSettle locks and reads the whole state of the selected workspace, for an operation that settles the unknown
// outcomes of interrupted provider calls for the instance i. If the state cannot be locked or read, it reports an error
// and returns false.
func (s *Session) LockToSettle(ctx context.Context, i addr.Instance) (*workspace.State, bool) {
	return s.lock(ctx, states.Locking{Operation: s.Operation, Settles: i})
}

func (s *Session) lock(ctx context.Context, l states.Locking) (_ *workspace.State, ok bool) {
	defer s.Dir.Call.Times.Phase("lock and read the state")()
	if s.Locked, ok = s.States.Lock(ctx, l); !ok {
		return nil, false
	}
	s.Engine.Leases = s.Locked.State
	return s.Locked.State, true
}

// FrameOptions returns the options of frames (evaluators of expressions) for the session's operation.
func (s *Session) FrameOptions() frame.Options { return s.Loader.Vars.FrameOptions(s.Operation) }

// Schemas returns a function that returns the schemas of a provider. The function starts the provider if its schemas
// are unknown, and adds errors to the bag of the command.
func (s *Session) Schemas() provider.Lookup {
	return s.Pool.Lookup(context.Background(), &s.Dir.Call.Bag)
}

// SchemasOf returns the schemas of a provider, or an error if they are not available. It uses the schemas that the
// installed provider returned to an earlier command, and otherwise starts the provider.
func (s *Session) SchemasOf(ctx context.Context, a addr.Provider) (*provider.Schemas, error) {
	if !a.IsBuiltin() && s.Plugins.Providers.Verify(a, s.Dir.Lock) == nil && s.Pool.Known()[a.Canon()] == nil {
		s.remember(a)
	}
	schemas, ds := s.Pool.Schemas(ctx, a)
	for _, d := range ds {
		if d.Severity == diag.Error {
			return nil, errors.New(d.Summary + ": " + d.Detail)
		}
	}
	return schemas, nil
}

// Installed checks that the providers of the configuration are installed, in the versions of the lock file, and that
// the configuration permits these versions. If not, it adds errors and returns false. The engine does not start the
// providers that the errors name.
func (s *Session) Installed() (ok bool) {
	s.Engine.Providers.Absent, ok = s.Plugins.Check(s.Loader.Tree, s.Loader.Needs(), s.Pool.Known(), &s.Dir.Call.Bag)
	return ok
}

// Compile compiles the loaded configuration into s.Program, and checks everything that can be checked without the
// values of objects. It returns false after an error.
func (s *Session) Compile(ctx context.Context, o vet.CheckOptions) bool {
	s.Plugins.WarnOverrides()
	installed := s.Installed()
	var ok bool
	o.Options = s.Loader.Vars.StaticOptions()
	s.Program, ok = s.Engine.Compile(ctx, s.Loader.Tree, o, &s.Dir.Call.Bag)
	return ok && installed
}

// PlanRequest returns the request of a plan that first refreshes the objects of a state. It contains the settings of
// the environment and of the CLI configuration. It reports an error and returns false if a setting is invalid.
func (s *Session) PlanRequest(prior *state.Snapshot) (engine.Request, bool) {
	skip, ok := s.skipsDeposed()
	req := engine.Request{
		Operation: s.Operation, Program: s.Program, Options: s.FrameOptions(), State: prior, Refresh: true,
		DeferEphemerals: s.Dir.Settings.CLI.DeferEphemerals, Provisioners: plan.ProvisionerSettings{SkipDeposed: skip},
	}
	if s.Locked != nil {
		req.Backend = s.Locked.Type
	}
	return req, ok
}

// skipsDeposed reports whether destroy-time provisioners skip deposed objects (skip). The environment overrides the CLI
// configuration. If the value in the environment is invalid, skipsDeposed reports an error, and ok is false.
func (s *Session) skipsDeposed() (skip, ok bool) {
	const name = "LETHE_SKIP_DEPOSED_PROVISIONERS"
	given := s.Dir.Call.Getenv(name)
	if given == "" {
		return s.Dir.Settings.CLI.SkipDeposed, true
	}
	skip, err := strconv.ParseBool(given)
	if err != nil {
		s.Dir.Call.Bag.Add(diag.Errorf("Invalid CLI configuration", "The environment variable %s must be true or false, not %q.", name, given))
	}
	return skip, err == nil
}

// Remember makes the session use the schemas that installed providers returned to earlier commands, so that a command
// that only shows schemas starts no provider. Remember must be called after Installed, which compares the providers
// with the lock file.
func (s *Session) Remember() {
	for _, n := range s.Loader.Needs() {
		s.remember(n.Provider)
	}
}

// remember makes the session use the schemas that a provider returned to an earlier command, if this machine has stored
// such schemas.
func (s *Session) remember(a addr.Provider) {
	d := s.Plugins.Providers.Described(a, s.Dir.Call.Environ)
	if d == nil {
		return
	}
	if schemas := wire.Described(d.Load(), a); schemas != nil {
		s.Pool.Know(a, schemas)
	}
}

func (s *Session) newEngine() *engine.Engine {
	d, c := s.Dir, s.Dir.Call
	sink, times := d.Log.Sink(c.UI), event.Sink(nil)
	if c.Times != nil {
		sink, times = recorded{sink, c.Times}, c.Times
	}
	return &engine.Engine{Settings: engine.Settings{
		Pool: s.Pool, Secrets: c.Secrets, Parallelism: d.Options.Parallelism, Closed: d.Settings.Disabled, ForgetData: d.Settings.ForgetData, Now: c.Now, Sink: sink, Times: times,
		Timeouts: run.Timeouts{
			Close: cmp.Or(d.Options.CloseTimeout, d.Settings.CLI.CloseTimeout, d.Settings.Deadlines.Close), Renew: d.Settings.Deadlines.Renew, Stop: d.Settings.Deadlines.Stop,
		},
		Shutdown:     run.Shutdown{Abandon: c.Stops.Abandon, Leave: c.Stops.Leave},
		Provisioners: run.Programs{Dir: c.Dir, Env: c.Environ},
		Providers:    run.Providers{Echoes: func(a addr.Provider) bool { return d.Reattached[a.Canon()].Test }, Retries: d.Settings.CLI.Retries},
		HostNames:    run.HostNames{Default: c.Registry(), Attached: s.Plugins.Named},
	}}
}

// recorded is a sink of events that also passes them to times, which records the times of a command.
type recorded struct {
	event.Sink
	times *timing.Recorder
}

// Send passes an event to the recorder and to the sink. It implements event.Sink.
func (r recorded) Send(e event.Event) {
	r.times.Send(e)
	r.Sink.Send(e)
}

// start starts the program of a provider. log receives the lines of its log. If the command may change objects or open
// leases, the keeper (the process that closes leases if Lethe is killed) starts the program.
func (s *Session) start(ctx context.Context, program launch.Program, log func(level, line string)) (*launch.Running, error) {
	if !s.Dir.Call.Command.Makes && !s.opens() {
		return launch.Start(ctx, program, log)
	}
	return s.Dir.Call.Keeps.Load().Start(ctx, program, log)
}

// opens reports whether the loaded configuration has ephemeral resources, which a command opens.
func (s *Session) opens() bool {
	found := false
	if s.Loader.Tree != nil && s.Loader.Tree.Root != nil {
		s.Loader.Tree.Root.Walk(func(n *config.Node) {
			for name := range n.Module.Resources {
				found = found || name.Mode == addr.Ephemeral
			}
		})
	}
	return found
}

// keeperFailed warns that the keeper could not be started because of err, or, if err is nil, that it has ended.
func (s *Session) keeperFailed(err error) {
	if err != nil {
		s.Dir.Call.Bag.Add(diag.Warningf("Providers run without a keeper", "Lethe could not start the keeper, a second process that closes ephemeral resources if Lethe is killed: %s. To turn off the keeper and this warning, set %s=off.", err, keeper.Variable))
		return
	}
	s.Dir.Call.Bag.Add(diag.Warningf("The keeper was lost", "The keeper, the process that runs the providers, was killed or crashed, so calls in progress have no answer. Lethe starts another keeper, which also closes the ephemeral resources that were open."))
}

// newPool creates the pool of providers: plugins, attached providers, and built-in providers. It also creates the
// keeper of the command, unless LETHE_KEEPER=off turns it off or the system does not support it.
func (s *Session) newPool() *provider.Pool {
	d := s.Dir
	processes := s.Plugins.Processes()
	if times := d.Call.Times; times != nil {
		log := processes.Called
		processes.Called = func(a addr.Provider, c wire.Call) {
			if c.Method == "start" {
				times.Started(a.ForDisplay(), c.Took)
			}
			if log != nil {
				log(a, c)
			}
		}
	}
	if d.Call.Keeper != nil && keeper.Supported && d.Call.Getenv(keeper.Variable) != "off" {
		keeps := keeper.New(keeper.Options{Spawn: d.Call.Keeper, Secrets: d.Call.Secrets, Failed: s.keeperFailed})
		d.Call.Keeps.Store(keeps)
		processes.Through, processes.Shutdown = s.start, keeps.Close
	}
	pool := provider.NewPool(processes)
	pool.Builtin(addr.Builtin("terraform"), terraform.New(func(ctx context.Context, object, backend, workspace string, config cty.Value) (map[string]cty.Value, provider.Diags) {
		return s.States.Backend.Outputs(ctx, object, backend, workspace, config)
	}, func(backend string, config cty.Value) provider.Diags { return s.States.Backend.Check(backend, config) }))
	if key := d.Call.Getenv(subprocess.VersionKey); key != "" {
		d.Call.Secrets.Add(key, secret.Origin{Addr: subprocess.VersionKey, Kind: secret.Setting})
	}
	for _, a := range s.ownAddresses() {
		pool.Builtin(a, lethe.New(lethe.Options{Address: a, Dir: d.Path, Env: d.Call.Environ, Now: d.Call.Now}))
	}
	return pool
}

// ownAddresses returns the addresses under which the pool serves the built-in provider lethe. A development override or
// an attached process replaces the provider at its addresses in the registries.
func (s *Session) ownAddresses() []addr.Provider {
	own, published := addr.Builtin("lethe"), addr.Published()
	if s.Plugins.Developed(published) {
		return []addr.Provider{own}
	}
	other, _ := published.Counterpart()
	return []addr.Provider{own, published, other}
}

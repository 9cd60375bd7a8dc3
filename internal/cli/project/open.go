package project

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/bucket"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/fetch"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin/lethe"
	"github.com/lethe-iac/lethe/internal/provider/builtin/terraform"
	"github.com/lethe-iac/lethe/internal/provider/keeper"
	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/lethe-iac/lethe/internal/workspace"
	"github.com/zclconf/go-cty/cty"
)

// Open makes a project of the working directory, reading no configuration yet. Its providers end with the
// command.
func Open(c *base.Call, o *Options) (*Project, bool) {
	if !o.inRange(c) {
		return nil, false
	}
	if o.Parallelism == 0 { // programs give it for "as if nothing was said"
		o.Parallelism = defaultParallelism
	}
	warnUnhonoured(c)
	if w := c.Getenv(workspace.Variable); w != "" && !Workspaces(c).CheckName(w) { // before anything is done with the others
		return nil, false
	}
	p := &Project{Call: c, Bag: &c.Bag, UI: c.UI, Options: o, Dir: c.Dir, Root: cmp.Or(c.Path(o.Config), c.Dir), Data: dataDir(c.Env)}
	p.Vars = &Variables{p: p}
	if _, err := os.Lstat(p.Data); err != nil {
		c.AtEnd(p.tidy)
	}
	if info, err := os.Stat(p.Data); err == nil && !info.IsDir() {
		c.Bag.Add(diag.Errorf("Invalid data directory", "What the program keeps for this directory belongs in %s, which is a file. Remove it, or name a directory in TF_DATA_DIR.", p.Data))
		return nil, false
	}
	p.log = newLogger(c)
	p.log.begin(c)
	if c.Flags.Lookup("input") == nil {
		o.Input = base.IsTerminal(c.Stdin) && base.IsTerminal(c.Stdout) && asking(c) // a program that reads the output knows no questions
	}
	if p.PlanKey = newPlanKey(c); p.PlanKey == nil {
		return nil, false
	}
	p.states = sync.OnceValue(p.newStates)
	if !p.configure() || !p.installers() {
		return nil, false
	}
	p.Pool = p.newPool()
	c.AtEnd(func() { _ = p.Pool.Close() })
	p.Engine = p.newEngine()
	c.Work.Store(p.Engine)
	return p, true
}

// inRange refuses numbers that make no sense.
func (o *Options) inRange(c *base.Call) bool {
	switch {
	case o.CloseTimeout < 0:
		c.Bag.Add(diag.Errorf("Invalid close timeout", "The option -close-timeout takes a time above zero, such as 30s or 5m, and not %s.", o.CloseTimeout))
	case o.Parallelism < 0 && c.Flags.Lookup("parallelism") != nil:
		c.Bag.Add(diag.Errorf("Invalid parallelism value", "The parallelism must be a positive value, and not %d.", o.Parallelism))
	default:
		return true
	}
	return false
}

// configure reads what the environment, the CLI configuration and the lock file say.
func (p *Project) configure() bool {
	c := p.Call
	var err error
	if p.closed, err = shortcut.Parse(c.Getenv(shortcut.Variable)); err != nil {
		c.Bag.Add(diag.Errorf("Invalid "+shortcut.Variable, "The environment variable %s must name shortcuts that are not to be taken: %s.", shortcut.Variable, err))
		return false
	}
	p.deadlines = provider.DefaultDeadlines()
	if err := p.deadlines.Parse(c.Getenv(provider.DeadlinesVariable)); err != nil {
		c.Bag.Add(diag.Errorf("Invalid "+provider.DeadlinesVariable, "The environment variable %s says how long providers may take: %s.", provider.DeadlinesVariable, err))
		return false
	}
	if keeps := c.Getenv(keeper.Variable); keeps != "" && keeps != "on" && keeps != "off" {
		c.Bag.Add(diag.Errorf("Invalid "+keeper.Variable, "The environment variable %s must be on or off, and not %q. It says whether a second process, the keeper, closes ephemeral resources should Lethe be killed; it is on if not set.", keeper.Variable, keeps))
		return false
	}
	var ok bool
	if p.interval, ok = readInterval(c); !ok {
		return false
	}
	if p.Limits, ok = ReadLimits(c); !ok {
		return false
	}
	if p.Settings, ok = cliConfig(c, p.Limits); !ok {
		return false
	}
	if p.Settings.CacheMayBreak {
		c.Bag.Add(diag.Warningf("Invalid CLI configuration", "The setting plugin_cache_may_break_dependency_lock_file has no effect: %s.", cacheKeepsLock))
	}
	if p.language, ok = languageVersion(c, p.Settings); !ok {
		return false
	}
	if p.unasked, ok = withoutInit(c, p.Settings); !ok {
		return false
	}
	config.ShowEncryption(c.Getenv(config.EncryptionVariable), c.Sources)
	p.Lock, ok = fetch.ReadLockfile(p.Dir, p.Limits, c.Sources, &c.Bag)
	return ok
}

// installers makes what finds providers and modules, and asks registries; of providers it says which run already.
func (p *Project) installers() bool {
	c := p.Call
	credentials := credentialsOf(c, p.Settings)
	asks, ok := newRegistry(c, p.Settings, credentials)
	if !ok {
		return false
	}
	p.hosts = hosts{asks, credentials}
	often, ok := number(c, "TF_PROVIDER_DOWNLOAD_RETRY", retries)
	if !ok {
		return false
	}
	p.Providers = &fetch.Providers{
		Registry: asks, OCI: newImages(asks, often, credentials), Retries: often, StoreDir: cacheDir(c, "packages"),
		Settings: p.Settings, WorkDir: p.Dir, DataDir: p.Data, CacheDir: p.pluginCache(), Getenv: c.Getenv, Closed: p.closed,
		Note: func(n event.Note) { c.UI.Tell(n) }, Moved: func(t event.Transfer) { c.UI.Tell(t) },
	}
	p.Modules = &fetch.Installer{
		Registry: asks, OCI: p.Providers.OCI, Buckets: &bucket.Access{Getenv: c.Getenv, Learned: credentials.Learned}, Host: c.Registry(), WorkDir: p.Dir, DataDir: p.Data, CacheDir: cacheDir(c, "git"), Environ: c.Environ,
		Lock: p.Lock, Store: &fetch.Store{Cache: cacheDir(c, "modules")},
	}
	if dir := p.vendored(); dir != "" {
		p.Providers.OnlyDir(filepath.Join(dir, "providers"))
		p.Modules.Store.Vendor = filepath.Join(dir, "modules")
		asks.Client.Offline = true
	}
	var err error
	if p.reattach, err = launch.ParseReattach(c.Getenv("TF_REATTACH_PROVIDERS")); err != nil {
		c.Bag.Add(diag.Errorf("Invalid TF_REATTACH_PROVIDERS", "%s.", err))
	}
	return err == nil
}

// tidy removes directories that were made for what did not come about.
func (p *Project) tidy() {
	for _, name := range []string{"modules", "providers", ""} {
		_ = os.Remove(filepath.Join(p.Data, name)) // unless there is something in it
	}
}

func (p *Project) newEngine() *engine.Engine {
	c := p.Call
	e := &engine.Engine{Settings: engine.Settings{
		Tested: func(a addr.Provider) bool { return p.reattach[a.Canon()].Test },
		Named: func(a addr.Provider) (addr.Provider, bool) {
			r, ok := p.reattach[a.Canon()]
			return r.Named, ok && r.Named.Namespace != addr.LegacyNamespace
		},
		Host: c.Registry(), Pool: p.Pool, Secrets: c.Secrets, Parallelism: p.Options.Parallelism, Closed: p.closed, Now: c.Now,
		Sink: event.Discard, Dir: c.Dir, Env: c.Environ, Abandon: c.Stops.Abandon, Leave: c.Stops.Leave,
		CloseTimeout: cmp.Or(p.Options.CloseTimeout, p.Settings.CloseTimeout, p.deadlines.Close), RenewTimeout: p.deadlines.Renew, StopTimeout: p.deadlines.Stop,
	}}
	if c.UI != nil {
		e.Sink = p.log.overhear(c.UI)
	}
	return e
}

func (p *Project) pluginCache() string {
	if d := p.Call.Getenv("TF_PLUGIN_CACHE_DIR"); d != "" {
		return p.Call.Path(d)
	}
	return p.Call.Path(os.Expand(p.Settings.PluginCacheDir, p.Call.Getenv))
}

// vendored is the directory that has all that is installed; "" where servers may be asked.
func (p *Project) vendored() string {
	if d := p.Call.Getenv("LETHE_VENDOR_DIR"); d != "" {
		return p.Call.Path(d)
	}
	if d := os.Expand(p.Settings.VendorDir, p.Call.Getenv); d != "" {
		return p.Call.Path(d)
	}
	return ""
}

// start starts a provider, through the keeper where the command may change or open something.
func (p *Project) start(ctx context.Context, program launch.Program, log func(level, line string)) (*launch.Running, error) {
	if !p.Call.Command.Makes && !p.opens() {
		return launch.Start(ctx, program, log)
	}
	return p.Call.Keeps.Load().Start(ctx, program, log)
}

// opens reports whether there is an ephemeral resource in the configuration.
func (p *Project) opens() bool {
	found := false
	if p.Tree != nil && p.Tree.Root != nil {
		p.Tree.Root.Walk(func(n *config.Node) {
			for name := range n.Module.Resources {
				found = found || name.Mode == addr.Ephemeral
			}
		})
	}
	return found
}

// keeperLost reports that there is no keeper.
func (p *Project) keeperLost(err error) {
	if err != nil {
		p.Bag.Add(diag.Warningf("Providers run without a keeper", "Beside itself, Lethe starts a second process, the keeper, which closes ephemeral resources should Lethe be killed. It could not be started: %s. Providers run without it. To do without a keeper on purpose, set %s=off.", err, keeper.Variable))
		return
	}
	p.Bag.Add(diag.Warningf("The keeper was lost", "The second process, which runs the providers, was killed or has crashed, and the providers ended with it: calls that were in progress have no answer. Lethe starts another one, which also closes the ephemeral resources that were open."))
}

// newPool makes the pool of providers: plugins, reattached ones, built-in ones.
func (p *Project) newPool() *provider.Pool {
	processes := &launch.Processes{
		Deadlines: p.deadlines,
		Find: func(a addr.Provider) (string, error) {
			return p.Providers.Program(a, p.Lock)
		},
		VersionOf: func(a addr.Provider) string {
			lock, _ := p.Lock.Get(a)
			return lock.Version
		},
		Kept: func(a addr.Provider) wire.Kept {
			if d := p.Providers.Described(a, p.Call.Environ); d != nil {
				return d
			}
			return nil
		},
		Reattach: p.reattach,
		Env:      p.Call.Environ,
		Quiet:    !p.closed.Has(shortcut.Logs),
		Complete: p.closed.Has(shortcut.Calls),
		Version:  base.Version,
	}
	if p.log.hearsProviders() {
		processes.Log, processes.Quiet = p.log.fromProvider, false
	}
	if p.log.hears("DEBUG") {
		processes.Called = p.log.called
	}
	if p.Call.Keeper != nil && keeper.Supported && p.Call.Getenv(keeper.Variable) != "off" {
		keeps := keeper.New(keeper.Options{Spawn: p.Call.Keeper, Secrets: p.Call.Secrets, Lost: p.keeperLost})
		p.Call.Keeps.Store(keeps)
		processes.Through, processes.Over = p.start, keeps.Close
	}
	pool := provider.NewPool(processes)
	pool.Builtin(addr.Builtin("terraform"), terraform.New(func(ctx context.Context, object, backend, workspace string, config cty.Value) (map[string]cty.Value, provider.Diags) {
		return p.States().Outputs(ctx, object, backend, workspace, config)
	}, func(backend string, config cty.Value) provider.Diags { return p.States().Check(backend, config) }))
	pool.Builtin(addr.Builtin("lethe"), lethe.New(lethe.Options{Dir: p.Dir, Env: p.Call.Environ, Now: p.Call.Now}))
	return pool
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cliconfig"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/fetch"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin/lethe"
	"github.com/lethe-iac/lethe/internal/provider/builtin/terraform"
	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/zclconf/go-cty/cty"
)

// project is a working directory as a command uses it: its configuration, its providers, its
// state.
type project struct {
	*call
	dir       string // the working directory
	root      string // of the root module: the working directory, but for import -config
	data      string // .terraform
	settings  *cliconfig.Settings
	lock      *fetch.Lockfile
	providers *fetch.Providers
	pool      *provider.Pool
	reattach  map[addr.Provider]launch.Reattach
	tree      *config.Tree
	program   *lang.Program
	vars      map[string]lang.Given
	answers   map[string]lang.Given // what was asked for
	applying  bool                  // the command changes things
	closed    shortcut.Set
	limits    limits

	modules   func() fetch.Modules // that a peer installed
	storeType string               // of the store that is open
}

// open makes a project of the working directory, reading no configuration yet.
func (c *call) open() (*project, bool) {
	if c.opts.closeTimeout < 0 {
		c.bag.Add(diag.Errorf("Invalid close timeout", "Closing a lease may take some time, such as 30s or 5m. Not %s.", c.opts.closeTimeout))
		return nil, false
	}
	if c.opts.parallelism < 1 && c.flags.Lookup("parallelism") != nil {
		c.bag.Add(diag.Errorf("Invalid parallelism value", "The parallelism must be a positive value. Not %d.", c.opts.parallelism))
		return nil, false
	}
	c.warnUnhonoured()
	p := &project{call: c, dir: c.Dir, root: c.Dir, data: c.dataDir()}
	p.modules = sync.OnceValue(func() fetch.Modules { return fetch.ReadModules(p.data) })
	if c.configDir != "" {
		p.root = c.path(c.configDir)
	}
	var err error
	if p.closed, err = shortcut.Parse(c.Getenv(shortcut.Variable)); err != nil {
		c.bag.Add(diag.Errorf("Invalid "+shortcut.Variable, "The environment variable %s names shortcuts not to take: %s.", shortcut.Variable, err))
		return nil, false
	}
	var ok bool
	if p.limits, ok = c.readLimits(); !ok {
		return nil, false
	}
	if p.settings, ok = c.cliConfig(p.limits.config); !ok {
		return nil, false
	}
	if p.lock, ok = fetch.ReadLockfile(p.dir, p.limits.config, c.sources, &c.bag); !ok {
		return nil, false
	}
	p.providers = &fetch.Providers{
		Settings: p.settings, WorkDir: p.dir, DataDir: p.data, CacheDir: p.cacheDir(), Getenv: c.Getenv, Closed: p.closed,
		Note: func(s string) { c.ui.line(s) },
	}
	if p.pool, ok = p.newPool(); !ok {
		return nil, false
	}
	tested := func(a addr.Provider) bool { return p.reattach[a.Canon()].Test }
	named := func(a addr.Provider) (addr.Provider, bool) {
		r, ok := p.reattach[a.Canon()]
		return r.Named, ok && r.Named.Namespace != addr.LegacyNamespace
	}
	p.engine = &engine.Engine{Settings: engine.Settings{Tested: tested, Named: named, Host: c.registry(), Pool: p.pool, Secrets: p.secrets, Parallelism: c.opts.parallelism, Closed: p.closed, Now: c.Now, Sink: event.Discard, Dir: c.Dir, Env: c.Environ, Abandon: c.stops.abandon, Leave: c.stops.leave, CloseTimeout: cmp.Or(c.opts.closeTimeout, p.settings.CloseTimeout)}}
	if c.ui != nil {
		p.engine.Sink = c.ui
	}
	return p, true
}

// dataDir is where the program keeps what belongs to the working directory.
func (c *call) dataDir() string {
	if d := c.Getenv("TF_DATA_DIR"); d != "" {
		if filepath.IsAbs(d) {
			return d
		}
		return filepath.Join(c.Dir, d)
	}
	return filepath.Join(c.Dir, ".terraform")
}

func (p *project) cacheDir() string {
	if d := p.Getenv("TF_PLUGIN_CACHE_DIR"); d != "" {
		return d
	}
	return os.Expand(p.settings.PluginCacheDir, p.Getenv)
}

// cliConfig reads the CLI configuration files. One that cannot be opened is warned of on standard
// error, also by commands that print a document.
func (c *call) cliConfig(l config.Limits) (*cliconfig.Settings, bool) {
	return cliconfig.Load(c.Getenv, l, c.sources, &c.bag, func(file string, err error) {
		human := view.NewHuman(c.Stderr, c.Stderr, c.viewOptions())
		human.Diagnostics([]diag.Diagnostic{diag.Warningf("Unable to open CLI configuration file", "The CLI configuration file at %q is left out: %s.", file, disk.Reason(err))})
	})
}

// newPool makes the pool of providers: plugins, reattached ones, built-in ones.
func (p *project) newPool() (*provider.Pool, bool) {
	log := p.newLogger()
	log.line("INFO", "Lethe version: %s", Version)
	reattach, err := launch.ParseReattach(p.Getenv("TF_REATTACH_PROVIDERS"))
	if err != nil {
		p.bag.Add(diag.Errorf("Invalid TF_REATTACH_PROVIDERS", "%s.", err))
		return nil, false
	}
	p.reattach = reattach
	processes := &launch.Processes{
		Find: func(a addr.Provider) (string, error) {
			path, _, err := p.providers.Find(a, p.lock)
			return path, err
		},
		VersionOf: func(a addr.Provider) string {
			lock, _ := p.lock.Get(a)
			return lock.Version
		},
		Kept: func(a addr.Provider) wire.Kept {
			if d := p.providers.Described(a, p.Environ); d != nil {
				return d
			}
			return nil
		},
		Reattach: reattach,
		Env:      p.Environ,
		Quiet:    !p.closed.Has(shortcut.Logs),
		Complete: p.closed.Has(shortcut.Calls),
		Version:  Version,
	}
	if log.hearsProviders() {
		processes.Log, processes.Quiet = log.fromProvider, false
	}
	pool := provider.NewPool(processes)
	pool.Builtin(addr.Builtin("terraform"), terraform.New(func(ctx context.Context, backend, workspace string, config cty.Value) (map[string]cty.Value, provider.Diags) {
		return p.stores().Outputs(ctx, backend, workspace, config)
	}))
	pool.Builtin(addr.Builtin("lethe"), lethe.New(lethe.Options{Dir: p.dir, Env: p.Environ, Now: p.Now}))
	return pool, true
}

// attached reports whether a provider runs already, started by somebody else.
func (p *project) attached(a addr.Provider) bool {
	_, ok := p.reattach[a.Canon()]
	return ok
}

// load reads the configuration of the working directory.
func (p *project) load() bool {
	return p.loadFrom(p.root, p.loadOptions(), p.resolve)
}

// loadFrom reads a configuration from wherever it is.
func (p *project) loadFrom(root string, o config.Options, resolve config.Resolve) bool {
	var ok bool
	p.tree, ok = config.LoadTree(root, o, resolve, &p.bag)
	p.sources.Adopt(p.tree.Sources)
	return ok
}

func (p *project) loadOptions() config.Options {
	return config.Options{
		Display: p.display, Version: Version, Limits: p.limits.config,
		Hushed: p.opts.deprecation == deprecationNone, HushedFar: p.opts.deprecation == deprecationLocal,
	}
}

// display is a path as messages show it: relative to the working directory.
func (p *project) display(path string) string {
	if rel, err := filepath.Rel(p.dir, path); err == nil {
		return rel
	}
	return path
}

// resolve finds the directory of a called module.
func (p *project) resolve(path addr.Module, call *config.Call, parent *config.Node, bag *diag.Bag) (dir, source, version string, ok bool) {
	if p.vars == nil && len(path.Path()) == 1 {
		p.rootOnly(parent.Module) // a source may name variables
		if !p.collectVariables() {
			return "", "", "", false
		}
	}
	source, ok = lang.StaticSource(parent, call, p.staticOptions(), bag)
	if !ok {
		return "", "", "", false
	}
	if !config.IsLocal(source) {
		return p.installedModule(path, source, call, parent, bag)
	}
	if call.Versions != nil {
		bag.Add(diag.Errorf("Invalid registry module source address", "The module %s is local, and a local module has no versions. Remove the version argument.", path).At(call.Range))
		return "", source, "", false
	}
	dir, err := fetch.LocalDir(source, parent.Module.Dir)
	if err != nil {
		bag.Add(diag.Errorf("Unreadable module directory", "Unable to evaluate directory symlink or read the module %s: %s.", path, err).At(call.SourceRange))
		return "", source, "", false
	}
	return dir, source, "", true
}

// installedModule finds a module that comes from elsewhere. Nothing is installed from elsewhere here, but what
// a peer's init has installed in this directory is there.
func (p *project) installedModule(path addr.Module, source string, call *config.Call, parent *config.Node, bag *diag.Bag) (dir, from, version string, ok bool) {
	wanted, ok := lang.StaticVersion(parent, call, p.staticOptions(), bag)
	if !ok {
		return "", source, "", false
	}
	dir, from, version, err := p.modules().Find(p.dir, strings.Join(path.Path(), "."), source, wanted)
	switch {
	case err != nil:
		bag.Add(diag.Errorf("Module not installed", "The module %s comes from %q, and is not in %s as it should be: %s. Run the init of Terraform or OpenTofu, which install it again.", path, source, p.display(filepath.Join(p.data, "modules")), err).At(call.SourceRange))
	case dir == "":
		bag.Add(diag.Errorf("Module not installed", "The module %s comes from %q, and only local paths beginning with ./ or ../ can be installed. What the init of Terraform or OpenTofu has installed in this directory is used.", path, source).At(call.SourceRange))
	default:
		return dir, from, version, true
	}
	return "", source, "", false
}

// compile makes the program: names, references, schemas, and all that can be wrong without values.
func (p *project) compile(ctx context.Context) bool {
	importing := p.command.Name == "import" // which asks for blocks that may have yet to be written
	return p.compileAs(ctx, lang.CheckOptions{BodiesOnly: importing, Incomplete: importing})
}

func (p *project) compileAs(ctx context.Context, o lang.CheckOptions) bool {
	p.warnOverrides()
	installed := p.installed()
	var ok bool
	o.Options = p.staticOptions()
	p.program, ok = p.engine.Compile(ctx, p.tree, o, &p.bag)
	return ok && installed
}

// warnOverrides says that development overrides are in effect.
func (p *project) warnOverrides() {
	over := p.providers.Overridden()
	if len(over) == 0 {
		return
	}
	var lines []string
	for _, a := range over {
		lines = append(lines, " - "+a.ForDisplay()+" in "+p.settings.Overrides[a])
	}
	p.bag.Add(diag.Warningf("Provider development overrides are in effect",
		"The following provider development overrides are set in the CLI configuration:\n%s\n\nThe behavior may therefore not match any released version of the provider and applying changes may cause the state to become incompatible with published releases.", strings.Join(lines, "\n")))
}

// installed checks that every provider is there before any is started. One that was never selected
// is a message of its own; those that were selected and cannot be started are one together, as are
// those of which the configuration wants another version by now. Those that are not there, and those
// that may be others than they seem, are left out of what follows.
func (p *project) installed() bool {
	ok, list, changed := true, "", ""
	var broken, unfit []addr.Provider
	absent := p.doubtful()
	p.engine.Absent = absent
	known := p.pool.Known()
	for _, n := range p.needs() {
		if known[n.Provider] != nil || absent[n.Provider] || n.Provider.IsBuiltin() || p.attached(n.Provider) {
			continue
		}
		if err := p.providers.Fits(n, p.lock); err != nil {
			changed += fmt.Sprintf("\n  - provider %s: %s", n.Provider, err)
			unfit = append(unfit, n.Provider)
			absent[n.Provider], ok = true, false
			continue
		}
		err := p.providers.Verify(n.Provider, p.lock)
		switch {
		case err == nil:
			continue
		case errors.Is(err, fetch.ErrNotSelected):
			p.bag.Add(p.neededBy(n.Provider, diag.Errorf("Missing required provider", "This configuration requires provider %s, but that provider isn't available. You may be able to install it automatically by running:\n  lethe init", n.Provider)))
		default:
			list += fmt.Sprintf("\n  - %s: %s", n.Provider, err)
			broken = append(broken, n.Provider)
		}
		absent[n.Provider], ok = true, false
	}
	about := func(list []addr.Provider, d diag.Diagnostic) {
		for _, a := range list {
			d = p.neededBy(a, d)
		}
		p.bag.Add(d)
	}
	if len(unfit) > 0 {
		about(unfit, diag.Errorf("Inconsistent dependency lock file", "The following dependency selections recorded in the lock file are inconsistent with the current configuration:%s\n\nTo update the locked dependency selections to match a changed configuration, run:\n  lethe init -upgrade", changed))
	}
	if len(broken) > 0 {
		about(broken, diag.Errorf("Required plugins are not installed", "The installed provider plugins are not consistent with the packages selected in the dependency lock file:%s\n\nLethe uses external plugins to integrate with a variety of different infrastructure services. To download the plugins required for this configuration, run:\n  lethe init", list))
	}
	return ok
}

// doubtful are the providers that are only taken to be required because the entry that says otherwise
// may stand where the configuration could not be read.
func (p *project) doubtful() map[addr.Provider]bool {
	out := map[addr.Provider]bool{}
	p.tree.Root.Walk(func(n *config.Node) {
		for _, r := range n.Module.Required {
			before, seen := out[r.Source]
			out[r.Source] = r.Doubtful && (before || !seen)
		}
	})
	return out
}

// needs are the providers that the configuration requires.
func (p *project) needs() []fetch.Need {
	by := map[addr.Provider]*fetch.Need{}
	var order []addr.Provider
	p.tree.Root.Walk(func(n *config.Node) {
		for _, local := range sortedNames(n.Module.Required) {
			r := n.Module.Required[local]
			if by[r.Source] == nil {
				by[r.Source] = &fetch.Need{Provider: r.Source}
				order = append(order, r.Source)
			}
			by[r.Source].Host = by[r.Source].Host || r.HostGiven
			by[r.Source].Versions = append(by[r.Source].Versions, r.Versions...)
		}
	})
	var out []fetch.Need
	for _, a := range order {
		out = append(out, *by[a])
	}
	return out
}

// langOptions are the frame options that all commands share.
func (p *project) langOptions(applying bool) lang.Options {
	return lang.Options{
		Variables: p.vars, Workspace: p.workspaces().Selected(), Applying: applying,
		RootDir: p.root, Cwd: cmp.Or(p.called, p.dir), BaseDir: p.dir,
		Limits: p.limits.lang, Functions: p.limits.functions, Closed: p.closed,
	}
}

// staticOptions are those of what is evaluated before there is a program.
func (p *project) staticOptions() lang.Options {
	o := p.langOptions(false)
	if p.mayAsk() {
		o.Ask = p.askVariable
	}
	return o
}

// close ends all provider processes.
func (p *project) close() { p.pool.Close() }

// Package workdir defines a working directory for all commands: its paths and the user's settings.
//
//	workdir.go  Directory: paths, settings, the lock file; no configuration
//	options.go  Options: the flags for a working directory
//
// Package workdir reads no configuration and opens nothing that must be closed.
package workdir

import (
	"cmp"
	"flag"
	"os"
	"path/filepath"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/logging"
	"github.com/lethe-iac/lethe/internal/cli/plankey"
	"github.com/lethe-iac/lethe/internal/cli/settings"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/fetch"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// Directory is a working directory during one command. After Open, only the lock file changes: init and the commands
// for packages edit it.
type Directory struct {
	Call       *base.Call
	Options    *Options
	Path       string                            // the working directory
	Root       string                            // the directory of the root module
	Data       string                            // the data directory: .terraform, or TF_DATA_DIR
	Settings   *settings.Settings                // the CLI configuration and the settings in the environment
	Network    *settings.Network                 // the clients for registries and other servers
	Lock       *fetch.Lockfile                   // the dependency lock file of the working directory
	Log        *logging.Log                      // nil if no log is written
	PlanKey    *plankey.Key                      // seals saved plans
	Reattached map[addr.Provider]launch.Reattach // provider processes that another program has started
}

// Open reads the settings and the lock file, and finds the paths. At the first invalid setting, it reports an error and
// returns false.
func Open(c *base.Call, o *Options) (*Directory, bool) {
	if !o.inRange(c) {
		return nil, false
	}
	if o.Parallelism == 0 { // the flag is not set or 0
		o.Parallelism = defaultParallelism
	}
	settings.WarnUnhonoured(c)
	if w := c.Getenv(workspace.Variable); w != "" && !Workspaces(c).CheckName(w) { // check the name of TF_WORKSPACE before a command uses another workspace
		return nil, false
	}
	d := &Directory{Call: c, Options: o, Path: c.Dir, Root: cmp.Or(c.Path(o.Config), c.Dir), Data: dataDir(c.Env)}
	if _, err := os.Lstat(d.Data); err != nil {
		c.AtEnd(d.tidy)
	}
	if info, err := os.Stat(d.Data); err == nil && !info.IsDir() {
		c.Bag.Add(diag.Errorf("Invalid data directory", "Lethe keeps data of this directory in %s, but that is a file. Remove it, or set TF_DATA_DIR to another directory.", d.Data))
		return nil, false
	}
	if env := Workspaces(c); env.Selected() == "" && !env.CheckName("") {
		return nil, false
	}
	d.Log = logging.New(c)
	d.Log.Begin(c)
	if c.Flags.Lookup("input") == nil {
		o.Input = base.IsTerminal(c.Stdin) && base.IsTerminal(c.Stdout) && base.Asks(c) // for a command without -input: if a program reads the output, no user answers questions
	}
	if d.PlanKey = plankey.New(c); d.PlanKey == nil {
		return nil, false
	}
	return d, d.read()
}

// read reads the settings and the lock file. At the first error, it reports the error and returns false.
func (d *Directory) read() (ok bool) {
	c := d.Call
	if d.Settings, ok = settings.Read(c); !ok {
		return false
	}
	config.ShowEncryption(c.Getenv(config.EncryptionVariable), c.Sources)
	if d.Lock, ok = fetch.ReadLockfile(d.Path, d.Settings.Limits, c.Sources, &c.Bag); !ok {
		return false
	}
	if d.Network, ok = d.Settings.ReadNetwork(c); !ok {
		return false
	}
	if d.Vendored() != "" {
		d.Network.Registry.Client.Offline = true
	}
	d.Reattached, ok = settings.ReadReattached(c)
	return ok
}

// inRange adds an error and returns false if -close-timeout is not above zero, or -parallelism is negative.
func (o *Options) inRange(c *base.Call) bool {
	given := false // without the option, CloseTimeout is 0
	c.Flags.Visit(func(f *flag.Flag) { given = given || f.Name == "close-timeout" })
	switch {
	case given && o.CloseTimeout <= 0:
		c.Bag.Add(diag.Errorf("Invalid close timeout", "The option -close-timeout takes a time above zero, such as 30s or 5m, not %s.", o.CloseTimeout))
	case o.Parallelism < 0 && c.Flags.Lookup("parallelism") != nil:
		c.Bag.Add(diag.Errorf("Invalid parallelism value", "The option -parallelism takes a positive number, not %d.", o.Parallelism))
	default:
		return true
	}
	return false
}

// Workspaces returns the environment for opening the workspaces of the working directory.
func Workspaces(c *base.Call) *workspace.Env {
	return &workspace.Env{FS: c.FS(), Now: c.Now, Getenv: c.Getenv, Dir: c.Dir, Data: dataDir(c.Env), Version: base.Version, Bag: &c.Bag, Log: c.Log, Other: c.Other}
}

// dataDir returns the data directory of a working directory, .terraform or TF_DATA_DIR.
func dataDir(e *base.Env) string {
	return paths.Text(e.Dir, cmp.Or(e.Getenv("TF_DATA_DIR"), ".terraform"))
}

// tidy removes the data directory and its standard subdirectories if they are empty, because a failed command may have
// created them.
func (d *Directory) tidy() {
	for _, name := range []string{"modules", "providers", ""} {
		_ = os.Remove(filepath.Join(d.Data, name)) // os.Remove fails if the directory has files
	}
}

// SaveLock writes the lock file. If it cannot be written, SaveLock adds an error and returns false.
func (d *Directory) SaveLock() bool {
	err := d.Lock.Write()
	if err != nil {
		d.Call.Bag.Add(diag.Errorf("Failed to save dependency lock file", "The file %s cannot be written: %s.", fetch.LockName, disk.Reason(err)))
	}
	return err == nil
}

// MayAsk reports whether the command may ask the user questions. It returns false with -input=false, with -json, after
// the end of the input, and for a command without the flag -input if a program reads its output.
func (d *Directory) MayAsk() bool { return d.Options.Input && d.Call.UI.MayAsk() }

// Cache returns the directory of the cache called name that all working directories of the user share, or "" if the
// user has no directory for caches.
func (d *Directory) Cache(name string) string {
	if dir := paths.Cache(d.Call.Getenv); dir != "" {
		return filepath.Join(dir, name)
	}
	return ""
}

// PluginCache returns the directory of the plugin cache, or "" if there is no plugin cache.
func (d *Directory) PluginCache() string {
	return d.setting("TF_PLUGIN_CACHE_DIR", d.Settings.CLI.PluginCacheDir)
}

// Vendored returns the directory from which init installs all providers and modules. It returns "" if init may use
// servers.
func (d *Directory) Vendored() string {
	return d.setting("LETHE_VENDOR_DIR", d.Settings.CLI.VendorDir)
}

// setting returns an absolute path from an environment variable, or else from the CLI configuration, in which it
// replaces variables such as $HOME. It returns "" if neither is set.
func (d *Directory) setting(variable, configured string) string {
	if dir := d.Call.Getenv(variable); dir != "" {
		return d.Call.Path(dir)
	}
	return d.Call.Path(os.Expand(configured, d.Call.Getenv))
}

// LoadOptions returns the options for reading configuration.
func (d *Directory) LoadOptions() config.Options {
	return config.Options{
		Display: d.Display, Follow: d.follow, Version: base.Version, Claimed: d.Settings.Language, Limits: d.Settings.Limits, Experiments: d.Settings.Experiments,
		NoDeprecations: d.Options.Deprecation == Deprecations[2], NoFarDeprecations: d.Options.Deprecation == Deprecations[1],
	}
}

// follow returns the directory of a local module without symbolic links if its path contains symbolic links, and ""
// otherwise.
func (d *Directory) follow(n *config.Node) string {
	trail := n.SourceDir(d.Display)
	if to := paths.Follow(d.Path, trail); to != trail {
		return to
	}
	return ""
}

// Display returns a path for messages, relative to the working directory. A path without such a form, as on another
// drive of Windows, is returned unchanged.
func (d *Directory) Display(path string) string {
	if rel, err := filepath.Rel(d.Path, path); err == nil {
		return rel
	}
	return path
}

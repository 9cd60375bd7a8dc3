// Package loader reads the configuration of a working directory: the root module, the modules that it calls, and the
// modules that test files call. It finds or installs modules, and knows which providers they require. It opens no store
// and starts no provider.
//
//	tests.go    test files and their modules
//	load.go     reads the tree of modules
//	modules.go  finds and installs called modules
//	loader.go   Loader: the root module, the tree of modules, required providers
package loader

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/bucket"
	"github.com/lethe-iac/lethe/internal/cli/variables"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/fetch"
)

// Loader reads the configuration of a working directory.
type Loader struct {
	Dir     *workdir.Directory
	Vars    *variables.Values
	Modules *fetch.Installer // installs modules from registries and other remote sources
	Tree    *config.Tree     // the loaded configuration, which may be only the root module (see Root); nil before anything is loaded
	Queries bool             // Load reads query files, too

	unsure  *diag.Bag    // the errors of a root module that hide its backend; nil if the backend is known
	tested  *config.Node // the root module with its calls and with the modules of tests; nil before LoadTests
	install install      // installs a module; nil: only modules that are already installed are used
}

// install installs a module. key is the key of the module: the names of its calls, joined by dots. source is its
// source, and wanted has the constraints on its version. install returns the directory of the module, the source from
// which it comes, and its version.
type install func(key, source, wanted string) (dir, from, version string, err error)

// New returns a loader for a working directory. It reads no configuration.
func New(d *workdir.Directory) *Loader {
	l := &Loader{Dir: d, Vars: variables.New(d)}
	c, net := d.Call, d.Network
	l.Modules = &fetch.Installer{
		Registry: net.Registry, OCI: net.OCI, Buckets: &bucket.Access{Getenv: c.Getenv, Learned: net.Credentials.Learned}, Host: c.Registry(),
		WorkDir: d.Path, DataDir: d.Data, CacheDir: d.Cache("git"), Environ: c.Environ,
		Lock: d.Lock, Store: &fetch.Store{Cache: d.Cache("modules")},
	}
	if dir := d.Vendored(); dir != "" {
		l.Modules.Store.Vendor = filepath.Join(dir, "modules")
	}
	return l
}

// Empty reports whether the root module has no files. The caller must have called Load.
func (l *Loader) Empty() bool { return len(l.Tree.Root.Module.Files) == 0 }

// RequireFiles returns false and adds an error if the root module has no files. The error message begins with the given
// reason.
func (l *Loader) RequireFiles(why string) bool {
	if l.Empty() {
		l.Dir.Call.Bag.Add(diag.Errorf("No configuration files", "%s Otherwise, create a Lethe configuration file (.tf file) and try again.", why))
	}
	return !l.Empty()
}

// Root returns the root module, or nil if it does not exist. If nothing was loaded, Root reads the root module, but not
// its module calls: commands about states need only its backend block.
func (l *Loader) Root() *config.Module {
	if l.Tree == nil {
		var bag diag.Bag
		if root, ok := config.Load(l.Dir.Path, l.Dir.LoadOptions(), l.Dir.Call.Sources, &bag); root != nil {
			l.rootOnly(root)
			if !ok && (root.Unreadable() || root.Stored() == nil) {
				l.unsure = &bag
			}
		}
	}
	if l.Tree == nil || l.Tree.Root == nil {
		return nil
	}
	return l.Tree.Root.Module
}

// Unsure returns the errors of the root module if they hide which backend the module declares. It returns nil if the
// backend is known.
func (l *Loader) Unsure() *diag.Bag {
	l.Root()
	return l.unsure
}

// rootOnly sets the configuration to the root module, without its calls. That suffices to find the backend.
func (l *Loader) rootOnly(root *config.Module) {
	l.Tree = &config.Tree{Root: &config.Node{Module: root}, Sources: l.Dir.Call.Sources}
	l.declare()
}

// declare passes the variable declarations of the root module to the loader's values of variables.
func (l *Loader) declare() {
	if l.Tree.Root != nil {
		l.Vars.Declare(l.Tree.Root.Module)
	}
}

// All returns the root module with all modules that it calls. After LoadTests, it includes the modules that tests call.
func (l *Loader) All() *config.Node {
	if l.tested != nil {
		return l.tested
	}
	return l.Tree.Root
}

// Needs returns the providers that the modules in All require.
func (l *Loader) Needs() []fetch.Need { return Needs(l.All()) }

// Needs returns the providers that a module and all modules below it require, each provider once, with the constraints
// on its version of all these modules.
func Needs(root *config.Node) []fetch.Need {
	by := map[addr.Provider]*fetch.Need{}
	var order []addr.Provider
	root.Walk(func(n *config.Node) {
		for _, local := range slices.Sorted(maps.Keys(n.Module.Required)) {
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

// ModuleKey returns the key of a module in plan files and manifests: the names of its calls, joined by dots.
func ModuleKey(m addr.Module) string { return strings.Join(m.Path(), ".") }

// Package plugins manages the installed provider plugins of a working directory. It reports which plugins are
// installed, whether they match the lock file and the configuration, and which plugins another program has started. It
// starts no plugin, but makes the launcher that does.
package plugins

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/fetch"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/lethe-iac/lethe/internal/state"
)

// Installation is the installed provider plugins of a working directory.
type Installation struct {
	Providers *fetch.Providers // finds and installs plugins
	dir       *workdir.Directory
}

// New returns the installation for a working directory.
func New(d *workdir.Directory) *Installation {
	c := d.Call
	i := &Installation{dir: d, Providers: &fetch.Providers{
		Sources: fetch.Sources{
			Settings: d.Settings.CLI, WorkDir: d.Path, Getenv: c.Getenv,
			Registry: d.Network.Registry, OCI: d.Network.OCI, Retries: d.Network.Retries,
		},
		Progress: fetch.Progress{Note: func(n event.Note) { c.UI.Send(n) }, Transfer: func(t event.Transfer) { c.UI.Send(t) }},
		DataDir:  d.Data, CacheDir: d.PluginCache(), StoreDir: d.Cache("packages"), Disabled: d.Settings.Disabled,
	}}
	if dir := d.Vendored(); dir != "" {
		i.Providers.Sources.OnlyDir(filepath.Join(dir, "providers"))
	}
	return i
}

// Named returns the address of provider a in TF_REATTACH_PROVIDERS, whose registry host may differ from the host in a.
// It returns false if the variable does not have the provider, or has it without a namespace.
func (i *Installation) Named(a addr.Provider) (addr.Provider, bool) {
	r, ok := i.dir.Reattached[a.Canon()]
	return r.Named, ok && r.Named.Namespace != addr.LegacyNamespace
}

// Hosts returns the registry hosts of the providers of a configuration and of a state. tree and s may be nil.
func (i *Installation) Hosts(tree *config.Tree, s *state.Snapshot) engine.Hosts {
	e := engine.Engine{Settings: engine.Settings{HostNames: run.HostNames{Default: i.dir.Call.Registry(), Attached: i.Named}}}
	return e.Hosts(tree, s)
}

// Attached reports whether another program has started the provider (TF_REATTACH_PROVIDERS).
func (i *Installation) Attached(a addr.Provider) bool {
	_, ok := i.dir.Reattached[a.Canon()]
	return ok
}

// Developed reports whether the program of a provider may change without a new version, because it has a development
// override or is attached.
func (i *Installation) Developed(a addr.Provider) bool {
	counterpart, has := a.Counterpart()
	overrides := i.dir.Settings.CLI.Overrides
	return i.Attached(a) || overrides[a] != "" || has && overrides[counterpart] != ""
}

// WarnOverrides warns if the CLI configuration replaces providers by development overrides. The warning lists them.
func (i *Installation) WarnOverrides() {
	overrides := i.Providers.Sources.Overridden()
	if len(overrides) == 0 {
		return
	}
	var lines []string
	for _, a := range overrides {
		name, dir := a.ForDisplay(), i.dir.Settings.CLI.Overrides[a]
		if counterpart, _ := a.Counterpart(); i.dir.Settings.CLI.Overrides[counterpart] != "" && i.dir.Settings.CLI.Overrides[counterpart] != dir {
			name = a.String()
		}
		if line := " - " + name + " in " + dir; !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	i.dir.Call.Bag.Add(diag.Warningf("Provider development overrides are in effect",
		"The following provider development overrides are set in the CLI configuration:\n%s\n\nThe behavior may therefore not match any released version of the provider and applying changes may cause the state to become incompatible with published releases.", strings.Join(lines, "\n")))
}

// Check checks that all needed providers are installed, before any is started, and reports errors to bag. Providers in
// known, whose schemas the caller has, need not be installed. Check reports:
//
//   - a separate error for each built-in provider of which the configuration needs another version;
//   - a separate error for each provider that was never selected;
//   - one error for all selected providers that cannot be started;
//   - one error for all providers of which the configuration needs another version.
//
// absent has the providers that must not be started, because they are not installed or the configuration may mean other
// providers. ok is false if an error was reported.
func (i *Installation) Check(tree *config.Tree, needs []fetch.Need, known map[addr.Provider]*provider.Schemas, bag *diag.Bag) (absent map[addr.Provider]bool, ok bool) {
	list, changed := "", ""
	var broken, unfit []addr.Provider
	absent, ok = doubtful(tree), true
	for _, n := range needs {
		if !n.Provider.IsPublished() || i.Developed(n.Provider) {
			continue
		}
		if err := n.Allows(base.Release); err != nil {
			bag.Add(neededBy(tree, n.Provider, diag.Errorf("Invalid dependency on built-in provider", "Provider %s is built in to Lethe and has the version of Lethe: %s. Change the constraint, or use another version of Lethe.", n.Provider.ForDisplay(), err)))
			ok = false
		}
	}
	needs = slices.DeleteFunc(needs, func(n fetch.Need) bool {
		return known[n.Provider] != nil || absent[n.Provider] || n.Provider.IsBuiltin() || i.Attached(n.Provider)
	})
	i.link(needs)
	for _, n := range needs {
		if err := i.Providers.Fits(n, i.dir.Lock); err != nil {
			changed += fmt.Sprintf("\n  - provider %s: %s", n.Provider, err)
			unfit = append(unfit, n.Provider)
			absent[n.Provider], ok = true, false
			continue
		}
		err := i.Providers.Verify(n.Provider, i.dir.Lock)
		switch {
		case err == nil:
			continue
		case errors.Is(err, fetch.ErrNotSelected):
			bag.Add(neededBy(tree, n.Provider, diag.Errorf("Missing required provider", "This configuration requires provider %s, but that provider isn't available. You may be able to install it automatically by running:\n  lethe init", n.Provider)))
		default:
			list += fmt.Sprintf("\n  - %s: %s", n.Provider, err)
			broken = append(broken, n.Provider)
		}
		absent[n.Provider], ok = true, false
	}
	about := func(list []addr.Provider, d diag.Diagnostic) {
		for _, a := range list {
			d = neededBy(tree, a, d)
		}
		bag.Add(d)
	}
	if len(unfit) > 0 {
		about(unfit, diag.Errorf("Inconsistent dependency lock file", "The following dependency selections recorded in the lock file are inconsistent with the current configuration:%s\n\nTo update the locked dependency selections to match a changed configuration, run:\n  lethe init -upgrade", changed))
	}
	if len(broken) > 0 {
		about(broken, diag.Errorf("Required plugins are not installed", "The installed provider plugins are not consistent with the packages selected in the dependency lock file:%s\n\nLethe uses external plugins to integrate with a variety of different infrastructure services. To download the plugins required for this configuration, run:\n  lethe init", list))
	}
	return absent, ok
}

// Selected returns the version of an installed provider that the lock file selects. It returns "" if the user develops
// the provider (a development override or a process of another program), because its program may then change without a
// new version. The error is the reason why the provider, which stores the state, must not be started.
func (i *Installation) Selected(a addr.Provider) (version string, err error) {
	if i.Developed(a) {
		return "", nil
	}
	i.link([]fetch.Need{{Provider: a}})
	switch err := i.Providers.Verify(a, i.dir.Lock); {
	case errors.Is(err, fetch.ErrNotSelected):
		return "", diag.Errorf("Missing required provider", "The state is stored by provider %s, but that provider isn't available. You may be able to install it automatically by running:\n  lethe init", a)
	case err != nil:
		return "", diag.Errorf("Required plugins are not installed", "The provider %s stores the state, and its installed package cannot be used: %s.\n\nTo install the package that the lock file selects, run:\n  lethe init", a, err)
	}
	lock, _ := i.dir.Lock.Get(a)
	return lock.Version, nil
}

// Processes returns the launcher of the installed providers, with the settings and the log of the command.
func (i *Installation) Processes() *launch.Processes {
	d := i.dir
	out := &launch.Processes{
		Deadlines: d.Settings.Deadlines,
		Find:      func(a addr.Provider) (string, error) { return i.Providers.Program(a, d.Lock) },
		VersionOf: func(a addr.Provider) string {
			lock, _ := d.Lock.Get(a)
			return lock.Version
		},
		Kept: func(a addr.Provider) wire.Kept {
			if d := i.Providers.Described(a, d.Call.Environ); d != nil {
				return d
			}
			return nil
		},
		Reattach: d.Reattached,
		Env:      d.Call.Environ,
		Silent:   !d.Settings.Disabled.Has(shortcut.Logs),
		Complete: d.Settings.Disabled.Has(shortcut.Calls),
		Version:  base.Version,
	}
	if d.Log.HasProviders() {
		out.Log, out.Silent = d.Log.FromProvider, false
	}
	if d.Log.Has("DEBUG") {
		out.Called = d.Log.Called
	}
	return out
}

// link installs the plugins in needs that the lock file selects and that are in the caches of this machine, so that no
// init is needed. It prints the names of the plugins that it installed.
func (i *Installation) link(needs []fetch.Need) {
	var names []string
	for _, lock := range i.Providers.Link(needs, i.dir.Lock) {
		names = append(names, lock.Provider.ForDisplay()+" v"+lock.Version)
	}
	if len(names) > 0 {
		i.dir.Call.UI.Line("Installed from this machine what " + fetch.LockName + " selects: " + strings.Join(names, ", "))
	}
}

// doubtful returns a map that has true for each provider that the configuration perhaps does not need. If a part of a
// module could not be read, this part may map a local name to another provider. A provider is doubtful only if all
// modules that require the provider have such an unread part.
func doubtful(tree *config.Tree) map[addr.Provider]bool {
	out := map[addr.Provider]bool{}
	tree.Root.Walk(func(n *config.Node) {
		for _, r := range n.Module.Required {
			before, seen := out[r.Source]
			out[r.Source] = r.Uncertain && (before || !seen)
		}
	})
	return out
}

// StateNeeds returns the providers that the state needs, except for the providers in the given list.
func StateNeeds(s *state.Snapshot, have []fetch.Need) []fetch.Need {
	known := map[string]bool{}
	for _, n := range have {
		known[n.Provider.Canon().String()] = true
	}
	var out []fetch.Need
	for _, r := range s.Resources() {
		if a := r.Provider.Provider; !known[a.Canon().String()] {
			known[a.Canon().String()] = true
			out = append(out, fetch.Need{Provider: a})
		}
	}
	return out
}

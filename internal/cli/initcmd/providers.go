package initcmd

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/plugins"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/fetch"
)

// initProviders installs the providers that the configuration and the state need, and updates the lock file. With
// -backend=false, it does not read the state. It returns false after an error.
func (i *initialization) initProviders(ctx context.Context) bool {
	i.c.UI.Step("initializing_provider_plugin_message", "Initializing provider plugins...")
	needs := i.loader.Needs()
	if i.f.backend {
		s, ok := i.states.Read(ctx)
		if !ok {
			return false
		}
		hosts := i.plugins.Hosts(i.loader.Tree, s)
		for i, n := range needs {
			needs[i].Provider = hosts.Of(n.Provider)
		}
		needs = append(needs, plugins.StateNeeds(s, needs)...)
	}
	var install []fetch.Need
	for _, n := range needs {
		switch {
		case n.Provider.Namespace == addr.LegacyNamespace:
			i.c.Bag.Add(diag.Errorf("Invalid legacy provider address", "The state refers to the provider %q by an address from before Terraform 0.13, which registries no longer have. Replace it with the provider's current address, such as hashicorp/%s: lethe state replace-provider %s NEW", n.Provider.Type, n.Provider.Type, n.Provider))
			return false
		case n.Provider.IsBuiltin():
			text := n.Provider.String() + " is built in to " + i.c.Product()
			i.c.UI.Send(event.Note{Text: "- " + text, Record: text})
		case !i.plugins.Attached(n.Provider):
			install = append(install, n)
		}
	}
	if !i.onlyDirs() || !i.locked(install) {
		return false
	}
	if !i.plugins.Providers.Install(ctx, install, i.dir.Lock, i.f.upgrade, &i.c.Bag) {
		return false
	}
	if i.f.backend { // without the backend, the providers that the state needs are unknown
		i.dir.Lock.Keep(func(a addr.Provider) bool {
			return slices.ContainsFunc(needs, func(n fetch.Need) bool { return n.Provider.Canon() == a.Canon() })
		})
	}
	if !i.writeLock() {
		return false
	}
	i.warnUnheld()
	return true
}

// installStores installs the providers of state stores, which must run before a state can be read. It also writes the
// lock file, so that later commands read the state with the same versions. It returns false after an error.
func (i *initialization) installStores(ctx context.Context) bool {
	var install []fetch.Need
	for _, a := range i.states.Backend.StoreProviders(!i.f.reconfigure) {
		n := fetch.Need{Provider: a}
		for _, need := range i.loader.Needs() {
			if need.Provider == a {
				n = need
			}
		}
		if !i.plugins.Attached(a) && !a.IsBuiltin() {
			install = append(install, n)
		}
	}
	if len(install) == 0 {
		return true
	}
	i.c.UI.Step("initializing_state_store_provider_message", "Initializing the provider of the state store...")
	if !i.onlyDirs() || !i.locked(install) || !i.plugins.Providers.Install(ctx, install, i.dir.Lock, i.f.upgrade, &i.c.Bag) {
		return false
	}
	return i.f.lockfile == "readonly" || i.dir.SaveLock() // writeLock reports the error if a read-only lock file would have to change
}

// locked reports an error and returns false if the lock file is read-only and lacks one of the providers to install.
// Providers with a development override need not be in the lock file. The caller calls locked before it installs a
// provider.
func (i *initialization) locked(install []fetch.Need) bool {
	missing := slices.ContainsFunc(install, func(n fetch.Need) bool {
		_, ok := i.dir.Lock.Get(n.Provider)
		return !ok && !slices.ContainsFunc(i.plugins.Providers.Sources.Overridden(), func(o addr.Provider) bool { return o.Canon() == n.Provider.Canon() })
	})
	return i.f.lockfile != "readonly" || !missing || i.changed()
}

// changed reports the error that the read-only lock file would have to change. It always returns false.
func (i *initialization) changed() bool {
	i.c.Bag.Add(diag.Errorf("Provider dependency changes detected", "Changes to the required provider dependencies were detected, but the lock file is read-only. To use and record these requirements, run \"lethe init\" without the \"-lockfile=readonly\" flag."))
	return false
}

// onlyDirs restricts the search for providers to the directories of -plugin-dir. It stores the directories for later
// runs of init, in the same file as Terraform and OpenTofu. Without -plugin-dir, it uses the stored directories. An
// empty -plugin-dir deletes the file and lifts the restriction. If the file cannot be read or written, onlyDirs reports
// an error and returns false.
func (i *initialization) onlyDirs() bool {
	file := filepath.Join(i.dir.Data, "plugin_path")
	dirs := i.f.pluginDirs
	var err error
	switch {
	case len(dirs) == 0:
		var text []byte
		if text, err = config.ReadOne(file, i.dir.Settings.Limits); err == nil {
			err = json.Unmarshal(text, &dirs)
		}
	case len(dirs) == 1 && dirs[0] == "":
		dirs = nil
		err = os.Remove(file)
	default:
		var text []byte
		if text, err = json.MarshalIndent(dirs, "", "  "); err == nil {
			err = errors.Join(workdir.Workspaces(i.c).MakeData(), disk.Replace(i.c.FS(), file, text))
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		i.c.Bag.Add(diag.Errorf("Failed to remember the plugin directories", "The file %s, which keeps the directories of -plugin-dir, cannot be used: %s.", i.dir.Display(file), disk.Reason(err)))
		return false
	}
	for _, dir := range dirs {
		i.plugins.Providers.Sources.OnlyDir(i.c.Path(dir))
	}
	return true
}

// warnUnheld warns of installed providers for which the lock file has only checksums of packages for this platform. One
// warning lists all of them.
func (i *initialization) warnUnheld() {
	if len(i.plugins.Providers.Unverified) == 0 {
		return
	}
	list := ""
	for _, a := range i.plugins.Providers.Unverified {
		list += "\n  - " + a.ForDisplay()
	}
	i.c.Bag.Add(diag.Warningf("Incomplete lock file information for providers", "These providers were installed without checksums for other platforms:%s\n\nThe lock file %s has checksums for %s only, so init rejects their packages on other platforms. To add checksums for a platform, run:\n  lethe providers lock -platform=OS_ARCH", list, fetch.LockName, fetch.Platform()))
}

func (i *initialization) writeLock() bool {
	switch {
	case i.f.lockfile != "readonly":
		return writeLock(i.dir)
	case i.dir.Lock.SelectionsChanged():
		return i.changed()
	case i.dir.Lock.ProvidersChanged():
		i.c.Bag.Add(diag.Warningf("Provider lock file not updated", "Changes to the provider selections were detected, but not saved in the %s file. To record these selections, run \"lethe init\" without the \"-lockfile=readonly\" flag.", fetch.LockName))
	}
	return true
}

// writeLock writes the lock file if its contents in memory have changed, and prints a message. It returns false after
// an error.
func writeLock(d *workdir.Directory) bool {
	if !d.Lock.Changed() {
		return true
	}
	isNew, what := d.Lock.IsNew(), "provider\nselections"
	if !d.Lock.ProvidersChanged() {
		what = "module\nselections"
	}
	if !d.SaveLock() {
		return false
	}
	if isNew {
		d.Call.UI.Step("lock_info", "\nLethe has created a lock file .terraform.lock.hcl to record the "+what+" it made above. Include this file in your version control repository\nso that Lethe can guarantee to make the same selections by default when\nyou run \"lethe init\" in the future.")
	} else {
		d.Call.UI.Step("dependencies_lock_changes_info", "\nLethe has made some changes to the "+strings.ReplaceAll(what, "\n", " dependency ")+" recorded\nin the .terraform.lock.hcl file. Review those changes and commit them to your\nversion control system if they represent changes you intended to make.")
	}
	return true
}

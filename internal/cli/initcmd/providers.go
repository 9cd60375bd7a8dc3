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
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/fetch"
	"github.com/lethe-iac/lethe/internal/state/disk"
)

// initProviders installs what configuration and state need.
func (i *initialization) initProviders(ctx context.Context) bool {
	i.p.UI.Step("initializing_provider_plugin_message", "Initializing provider plugins...")
	needs := i.p.Needs()
	if i.f.backend {
		s, ok := i.p.ReadState(ctx)
		if !ok {
			return false
		}
		hosts := i.p.Engine.Hosts(i.p.Tree, s)
		for i, n := range needs {
			needs[i].Provider = hosts.Of(n.Provider)
		}
		needs = append(needs, project.StateNeeds(s, needs)...)
	}
	var install []fetch.Need
	for _, n := range needs {
		switch {
		case n.Provider.Namespace == addr.LegacyNamespace:
			i.p.Bag.Add(diag.Errorf("Invalid legacy provider address", "The state refers to the provider %q by an address from before Terraform 0.13, which no registry has any more. Replace it with the address that the provider has today, such as hashicorp/%s: lethe state replace-provider %s NEW", n.Provider.Type, n.Provider.Type, n.Provider))
			return false
		case n.Provider.IsBuiltin():
			text := n.Provider.String() + " is built in to " + i.p.Call.Product()
			i.p.UI.Tell(event.Note{Text: "- " + text, Record: text})
		case !i.p.Attached(n.Provider):
			install = append(install, n)
		}
	}
	if !i.onlyDirs() || !i.locked(install) {
		return false
	}
	if !i.p.Providers.Install(ctx, install, i.p.Lock, i.f.upgrade, i.p.Bag) {
		return false
	}
	if i.f.backend { // without it what the state needs is not known
		i.p.Lock.Keep(func(a addr.Provider) bool {
			return slices.ContainsFunc(needs, func(n fetch.Need) bool { return n.Provider.Canon() == a.Canon() })
		})
	}
	if !i.writeLock() {
		return false
	}
	i.warnUnheld()
	return true
}

// locked refuses providers that would have to be entered into a lock file that is read-only, before any is installed.
func (i *initialization) locked(install []fetch.Need) bool {
	missing := slices.ContainsFunc(install, func(n fetch.Need) bool {
		_, ok := i.p.Lock.Get(n.Provider)
		return !ok && !slices.ContainsFunc(i.p.Providers.Overridden(), func(o addr.Provider) bool { return o.Canon() == n.Provider.Canon() })
	})
	return i.f.lockfile != "readonly" || !missing || i.changed()
}

// changed refuses what a read-only lock file has not.
func (i *initialization) changed() bool {
	i.p.Bag.Add(diag.Errorf("Provider dependency changes detected", "Changes to the required provider dependencies were detected, but the lock file is read-only. To use and record these requirements, run \"lethe init\" without the \"-lockfile=readonly\" flag."))
	return false
}

// onlyDirs settles where init looks for providers: in the directories of -plugin-dir, which are remembered for
// the next time, in the file of Terraform and OpenTofu; an empty one forgets them.
func (i *initialization) onlyDirs() bool {
	file := filepath.Join(i.p.Data, "plugin_path")
	dirs := i.f.pluginDirs
	var err error
	switch {
	case len(dirs) == 0:
		var text []byte
		if text, err = config.ReadOne(file, i.p.Limits); err == nil {
			err = json.Unmarshal(text, &dirs)
		}
	case len(dirs) == 1 && dirs[0] == "":
		dirs = nil
		err = os.Remove(file)
	default:
		var text []byte
		if text, err = json.MarshalIndent(dirs, "", "  "); err == nil {
			err = errors.Join(project.Workspaces(i.p.Call).MakeData(), disk.Replace(i.p.Call.FS(), file, text))
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		i.p.Bag.Add(diag.Errorf("Failed to remember the plugin directories", "The file %s, which keeps the directories of -plugin-dir, cannot be used: %s.", i.p.Display(file), disk.Reason(err)))
		return false
	}
	for _, dir := range dirs {
		i.p.Providers.OnlyDir(i.p.Call.Path(dir))
	}
	return true
}

// warnUnheld says that what was written into the lock file is of no use on other platforms.
func (i *initialization) warnUnheld() {
	if len(i.p.Providers.Unheld) == 0 {
		return
	}
	list := ""
	for _, a := range i.p.Providers.Unheld {
		list += "\n  - " + a.ForDisplay()
	}
	i.p.Bag.Add(diag.Warningf("Incomplete lock file information for providers", "The checksums of these providers were computed from what was installed:%s\n\nThe lock file %s has those for %s only, so that on another platform init refuses their packages. To add those of another platform, run:\n  lethe providers lock -platform=OS_ARCH", list, fetch.LockName, fetch.Platform()))
}

func (i *initialization) writeLock() bool {
	switch {
	case i.f.lockfile != "readonly":
		return writeLock(i.p)
	case i.p.Lock.SelectionsChanged():
		return i.changed()
	case i.p.Lock.ProvidersChanged():
		i.p.Bag.Add(diag.Warningf("Provider lock file not updated", "Changes to the provider selections were detected, but not saved in the %s file. To record these selections, run \"lethe init\" without the \"-lockfile=readonly\" flag.", fetch.LockName))
	}
	return true
}

// writeLock writes the lock file if anything in it changed, and says so.
func writeLock(p *project.Project) bool {
	if !p.Lock.Changed() {
		return true
	}
	isNew, what := p.Lock.IsNew(), "provider\nselections"
	if !p.Lock.ProvidersChanged() {
		what = "module\nselections"
	}
	if err := p.Lock.Write(); err != nil {
		p.Bag.Add(diag.Errorf("Failed to save dependency lock file", "The file %s cannot be written: %s.", fetch.LockName, disk.Reason(err)))
		return false
	}
	if isNew {
		p.UI.Step("lock_info", "\nLethe has created a lock file .terraform.lock.hcl to record the "+what+" it made above. Include this file in your version control repository\nso that Lethe can guarantee to make the same selections by default when\nyou run \"lethe init\" in the future.")
	} else {
		p.UI.Step("dependencies_lock_changes_info", "\nLethe has made some changes to the "+strings.ReplaceAll(what, "\n", " dependency ")+" recorded\nin the .terraform.lock.hcl file. Review those changes and commit them to your\nversion control system if they represent changes you intended to make.")
	}
	return true
}

package initcmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/fetch"
)

// copyModule copies the module of -from-module into the working directory, which has to be empty. Names that
// begin with a dot are left out, as by Terraform and OpenTofu.
func (i *initialization) copyModule(ctx context.Context) bool {
	source := i.f.fromModule
	i.p.Mask(source)
	i.p.UI.Step("copying_configuration_message", fmt.Sprintf("Copying configuration from %q...", source))
	entries, err := os.ReadDir(i.p.Dir)
	switch {
	case err == nil && len(entries) > 0:
		i.p.Bag.Add(diag.Errorf("Can't populate non-empty directory", "The target directory %s is not empty, so it cannot be initialized with the -from-module=... option.", i.p.Display(i.p.Dir)))
		return false
	case err != nil:
	case config.IsLocal(source) || filepath.IsAbs(source):
		err = fetch.CopyModule(i.p.Call.Path(source), i.p.Dir)
	case !fetch.IsSource(source):
		i.p.Bag.Add(diag.Errorf("Invalid module source address", "The module of -from-module is %q, which is not the address of a module: local paths are absolute or begin with ./ or ../, those in registries are NAMESPACE/NAME/SYSTEM, and others have a scheme such as git::https:// or https://.", source))
		return false
	default:
		if err = project.Workspaces(i.p.Call).MakeData(); err == nil {
			i.p.Modules.Note = i.p.UI.Line
			err = i.p.Modules.Populate(ctx, source, i.p.Dir)
		}
		if err != nil { // the directory is as empty as it was, for the next try
			_ = os.RemoveAll(i.p.Data)
		}
	}
	if err != nil {
		i.p.Bag.Add(diag.Errorf("Failed to copy the module", "The module in %s cannot be copied: %s.", source, err))
	}
	return err == nil
}

// initModules writes down which modules are where, and lists those that are new, or all of them for an
// upgrade; title goes before.
func initModules(p *project.Project, upgrade bool, title func()) bool {
	if len(p.All().Children) == 0 {
		return true
	}
	title()
	list := func(n *config.Node) {
		p.UI.Line(fmt.Sprintf("- %s in %s", project.ModuleKey(n.Path), n.Way(p.Display)))
	}
	fresh := list
	if upgrade {
		p.All().Walk(func(n *config.Node) {
			if n.Parent != nil {
				list(n)
			}
		})
		fresh = func(*config.Node) {}
	}
	if err := p.Modules.WriteManifest(p.All(), fresh); err != nil {
		p.Bag.Add(diag.Errorf("Failed to write module manifest", "%s.", err))
		return false
	}
	return true
}

// lockModules enters the modules into the lock file, in memory. One that is read-only, and has no modules at all, is
// what Terraform or OpenTofu wrote, who lock none: there is nothing to hold them against.
func (i *initialization) lockModules() bool {
	locks := i.p.Modules.Locks()
	if i.f.lockfile == "readonly" && len(i.p.Lock.Modules()) == 0 {
		if len(locks) > 0 {
			i.p.Bag.Add(diag.Warningf("Modules are not locked", "The lock file %s has no modules, and with -lockfile=readonly none are entered. What was installed was not checked: run \"lethe init\" without it once.", fetch.LockName))
		}
		return true
	}
	same := func(l config.ModuleLock) bool {
		l.Constraints = ""
		return slices.ContainsFunc(i.p.Lock.Modules(), func(was config.ModuleLock) bool {
			was.Constraints = ""
			return was == l
		})
	}
	switch missing := slices.IndexFunc(locks, func(l config.ModuleLock) bool { return !same(l) }); {
	case i.f.lockfile != "readonly":
		i.p.Lock.SetModules(locks)
	case missing >= 0:
		i.p.Bag.Add(diag.Errorf("Module dependency changes detected", "The lock file %s does not have the module package %s as it was installed, and is read-only. To enter it, run \"lethe init\" without the \"-lockfile=readonly\" flag.", fetch.LockName, locks[missing].Source))
		return false
	}
	return true
}

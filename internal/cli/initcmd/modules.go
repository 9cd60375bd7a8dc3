package initcmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/lethe-iac/lethe/internal/config/lockfile"

	"github.com/lethe-iac/lethe/internal/cli/loader"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/fetch"
)

// copyModule copies the module of -from-module into the working directory, which must be empty. The module may be a
// local directory or a remote source. Like Terraform and OpenTofu, copyModule omits files whose names begin with a dot.
// After an error, which it reports, it returns false.
func (i *initialization) copyModule(ctx context.Context) bool {
	source := i.f.fromModule
	i.loader.Mask(source)
	i.c.UI.Step("copying_configuration_message", fmt.Sprintf("Copying configuration from %q...", source))
	entries, err := os.ReadDir(i.dir.Path)
	switch {
	case err == nil && len(entries) > 0:
		i.c.Bag.Add(diag.Errorf("Can't populate non-empty directory", "The target directory %s is not empty, so it cannot be initialized with the -from-module=... option.", i.dir.Display(i.dir.Path)))
		return false
	case err != nil:
	case config.IsLocal(source) || filepath.IsAbs(source):
		err = fetch.CopyModule(i.c.Path(source), i.dir.Path)
	case !fetch.IsSource(source):
		i.c.Bag.Add(diag.Errorf("Invalid module source address", "The value %q of -from-module is not the address of a module. Use a path that is absolute or begins with ./ or ../, a registry address NAMESPACE/NAME/SYSTEM, or an address with a scheme such as git::https:// or https://.", source))
		return false
	default:
		if err = workdir.Workspaces(i.c).MakeData(); err == nil {
			i.loader.Modules.Note = i.c.UI.Line
			err = i.loader.Modules.Populate(ctx, source, i.dir.Path)
		}
		if err != nil { // empty the directory again for the next attempt
			_ = disk.OS.RemoveAll(i.dir.Data)
		}
	}
	if err != nil {
		i.c.Bag.Add(diag.Errorf("Failed to copy the module", "The module in %s cannot be copied: %s.", source, err))
	}
	return err == nil
}

// initModules writes the module manifest, the file with the directories of installed modules. It prints the newly
// installed modules, or all modules if upgrade is true. It calls title before it prints modules. If the configuration
// calls no modules, it does nothing. After an error, which it reports, it returns false.
func initModules(l *loader.Loader, upgrade bool, title func()) bool {
	if len(l.All().Children) == 0 {
		return true
	}
	title()
	list := func(n *config.Node) {
		l.Dir.Call.UI.Line(fmt.Sprintf("- %s in %s", loader.ModuleKey(n.Path), n.SourceDir(l.Dir.Display)))
	}
	fresh := list
	if upgrade {
		l.All().Walk(func(n *config.Node) {
			if n.Parent != nil {
				list(n)
			}
		})
		fresh = func(*config.Node) {}
	}
	if err := l.Modules.WriteManifest(l.All(), fresh); err != nil {
		l.Dir.Call.Bag.Add(diag.Errorf("Failed to write module manifest", "%s.", err))
		return false
	}
	return true
}

// lockModules replaces the modules in the lock file in memory by the installed modules. It never changes a read-only
// lock file (-lockfile=readonly): if that lacks an installed module, lockModules reports an error and returns false. A
// read-only lock file without any modules was written by Terraform or OpenTofu, which do not lock modules: then
// lockModules only warns that the modules were not checked.
func (i *initialization) lockModules() bool {
	locks := i.loader.Modules.Locks()
	if i.f.lockfile == "readonly" && len(i.dir.Lock.Modules()) == 0 {
		if len(locks) > 0 {
			i.c.Bag.Add(diag.Warningf("Modules are not locked", "The lock file %s has no modules, and -lockfile=readonly keeps init from adding them. The installed modules were not checked. Run \"lethe init\" once without -lockfile=readonly.", fetch.LockName))
		}
		return true
	}
	same := func(l lockfile.Module) bool {
		l.Constraints = ""
		return slices.ContainsFunc(i.dir.Lock.Modules(), func(was lockfile.Module) bool {
			was.Constraints = ""
			return was == l
		})
	}
	switch missing := slices.IndexFunc(locks, func(l lockfile.Module) bool { return !same(l) }); {
	case i.f.lockfile != "readonly":
		i.dir.Lock.SetModules(locks)
	case missing >= 0:
		i.c.Bag.Add(diag.Errorf("Module dependency changes detected", "The lock file %s is read-only and does not have the installed module package %s. To add it, run \"lethe init\" without the \"-lockfile=readonly\" flag.", fetch.LockName, locks[missing].Source))
		return false
	}
	return true
}

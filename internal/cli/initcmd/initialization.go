package initcmd

import (
	"path/filepath"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/loader"
	"github.com/lethe-iac/lethe/internal/cli/plugins"
	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// initFlags are the flags of the command init.
type initFlags struct {
	workdir.Options
	backend, forceCopy, get, reconfigure, migrate, upgrade, offline bool
	backendConfig, pluginDirs                                       base.List
	fromModule, lockfile                                            string
}

// initialization is one run of the command init.
type initialization struct {
	c       *base.Call
	f       *initFlags
	dir     *workdir.Directory
	loader  *loader.Loader
	states  *states.States
	plugins *plugins.Installation
}

// fit reports an error and returns false if flags contradict each other, or if the value of -lockfile is not
// "readonly".
func (f *initFlags) fit(bag *diag.Bag) bool {
	switch {
	case f.migrate && f.reconfigure:
		bag.Add(diag.Errorf("Wrong combination of migration options", "The -migrate-state and -reconfigure options are mutually-exclusive."))
	case f.lockfile != "" && f.lockfile != "readonly":
		bag.Add(diag.Errorf("Invalid lock file mode", "The option -lockfile takes only \"readonly\", not %q.", f.lockfile))
	case f.lockfile == "readonly" && f.upgrade:
		bag.Add(diag.Errorf("Wrong combination of options", "The -upgrade flag conflicts with -lockfile=readonly."))
	}
	return !bag.HasErrors()
}

// emptyDir reports whether the directory has no configuration files. It returns false and an error if the path of the
// directory is not a valid pattern for file names.
func (i *initialization) emptyDir() (bool, error) {
	for _, suffix := range config.Suffixes() {
		found, err := filepath.Glob(filepath.Join(i.dir.Path, "*"+suffix))
		if err != nil || len(found) > 0 {
			return false, err
		}
	}
	return true, nil
}

const inStack = "It is part of a stack, which only HCP Terraform deploys."

// ignoredFiles has the suffixes of files that newer versions of Terraform read, but Lethe does not.
var ignoredFiles = []struct{ suffix, why string }{
	{".tfcomponent.hcl", inStack},
	{".tfdeploy.hcl", inStack},
	{".tfstack.hcl", inStack},
}

// warnIgnoredFiles warns about each file of the directory with a suffix in ignoredFiles.
func (i *initialization) warnIgnoredFiles() {
	for _, u := range ignoredFiles {
		found, _ := filepath.Glob(filepath.Join(i.dir.Path, "*"+u.suffix))
		for _, name := range found {
			i.c.Bag.Add(diag.Warningf("File without effect", "Lethe does not read the file %s. %s", filepath.Base(name), u.why))
		}
	}
}

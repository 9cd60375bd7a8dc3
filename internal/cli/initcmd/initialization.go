package initcmd

import (
	"path/filepath"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
)

// initFlags are what init is asked to do.
type initFlags struct {
	project.Options
	backend, forceCopy, get, reconfigure, migrate, upgrade, offline bool
	backendConfig, pluginDirs                                       base.List
	fromModule, lockfile                                            string
}

// initialization is init under way.
type initialization struct {
	p *project.Project
	f *initFlags
}

// fit refuses options that exclude one another.
func (f *initFlags) fit(bag *diag.Bag) bool {
	switch {
	case f.migrate && f.reconfigure:
		bag.Add(diag.Errorf("Wrong combination of migration options", "The -migrate-state and -reconfigure options are mutually-exclusive."))
	case f.lockfile != "" && f.lockfile != "readonly":
		bag.Add(diag.Errorf("Invalid lock file mode", "The only mode of -lockfile is \"readonly\", and %q was given.", f.lockfile))
	case f.lockfile == "readonly" && f.upgrade:
		bag.Add(diag.Errorf("Wrong combination of options", "The -upgrade flag conflicts with -lockfile=readonly."))
	}
	return !bag.HasErrors()
}

// emptyDir reports whether the directory has no configuration at all.
func (i *initialization) emptyDir() (bool, error) {
	for _, pattern := range []string{"*.tf", "*.tf.json", "*.tofu", "*.tofu.json"} {
		found, err := filepath.Glob(filepath.Join(i.p.Dir, pattern))
		if err != nil || len(found) > 0 {
			return false, err
		}
	}
	return true, nil
}

const inStack = "It is a part of a stack, which only HCP Terraform deploys."

// unread are the endings of files that newer versions of Terraform read, and Lethe does not.
var unread = []struct{ suffix, why string }{
	{".tfcomponent.hcl", inStack},
	{".tfdeploy.hcl", inStack},
	{".tfquery.hcl", "It has queries, which need the command \"query\" of Terraform 1.14."},
	{".tfstack.hcl", inStack},
}

// warnUnread warns about files of the directory that have no effect.
func (i *initialization) warnUnread() {
	for _, u := range unread {
		found, _ := filepath.Glob(filepath.Join(i.p.Dir, "*"+u.suffix))
		for _, name := range found {
			i.p.Bag.Add(diag.Warningf("File without effect", "Lethe does not read the file %s. %s", filepath.Base(name), u.why))
		}
	}
}

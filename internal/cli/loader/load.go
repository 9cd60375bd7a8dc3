package loader

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/queryfile"
	"github.com/lethe-iac/lethe/internal/config/rewrite"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/fetch"
)

// Load reads the configuration of the working directory, and sets Tree. It reports the errors of the configuration, and
// returns false if there are errors.
func (l *Loader) Load() bool {
	o := l.Dir.LoadOptions()
	if l.Queries {
		o.Amend = queryfile.Amend(o)
	}
	return l.LoadFrom(l.Dir.Root, o, l.resolve)
}

// RequireQueries adds the providers of query files to the loaded configuration, so that they are installed.
func (l *Loader) RequireQueries() { queryfile.Require(l.Tree.Root.Module, l.Dir.LoadOptions()) }

// LoadRoot reads only the root module, which contains the backend block. If the root module has errors, LoadRoot
// returns false without reporting them, because Load reports them later.
func (l *Loader) LoadRoot() bool {
	var bag diag.Bag
	root, ok := config.Load(l.Dir.Root, l.Dir.LoadOptions(), l.Dir.Call.Sources, &bag)
	if !ok || bag.HasErrors() {
		return false
	}
	l.rootOnly(root)
	return true
}

// LoadWith reads the configuration with one more file in the root module, which has the given name and text. It reports
// the errors of the configuration, and returns false if there are errors.
func (l *Loader) LoadWith(name string, text []byte) bool {
	o := l.Dir.LoadOptions()
	o.Files = config.With(l.Dir.Root, name, text)
	return l.LoadFrom(l.Dir.Root, o, l.resolve)
}

// LoadOver reads the configuration with other contents of some files: texts has the new contents, by the path of the
// file. It reports the errors of the configuration, and returns false if there are errors.
func (l *Loader) LoadOver(texts map[string][]byte) bool {
	o := l.Dir.LoadOptions()
	o.Files = rewrite.Over(texts)
	return l.LoadFrom(l.Dir.Root, o, l.resolve)
}

// LoadFrom reads the configuration with the given directory of the root module, and sets Tree. The function resolve
// returns the directory of a called module. LoadFrom adds errors to the bag of the command. It returns false if the
// configuration has errors.
func (l *Loader) LoadFrom(root string, o config.Options, resolve config.Resolve) bool {
	var ok bool
	l.Tree, ok = config.LoadTree(root, o, resolve, &l.Dir.Call.Bag)
	l.declare()
	l.Dir.Call.Sources.Adopt(l.Tree.Sources)
	if linked := l.Modules.Linked(); len(linked) > 0 {
		l.Dir.Call.UI.Line("Installed from this machine what " + fetch.LockName + " selects: module " + strings.Join(linked, ", module "))
	}
	if !ok || l.install == nil {
		if err := l.Modules.Remember(); err != nil {
			l.Dir.Call.Bag.Add(diag.Errorf("Failed to write module manifest", "%s.", err))
		}
	}
	return ok
}

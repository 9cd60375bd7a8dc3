package loader

import (
	"errors"
	"io/fs"
	"maps"
	"os"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
)

// TestDirs returns the directories of test files: the directory of the root module, and the directory for tests.
func (l *Loader) TestDirs() []string {
	return []string{l.Dir.Root, l.Dir.Call.Path(l.Dir.Options.Tests)}
}

// ReadTests reads the test files, and adds their errors to bag. If the user named another directory for tests than
// "tests", ReadTests also adds a warning if the directory does not exist, and an error if it cannot be read.
func (l *Loader) ReadTests(bag *diag.Bag) []*testfile.File {
	files, found := testfile.Read(l.TestDirs(), l.Dir.LoadOptions(), l.Dir.Call.Sources, bag)
	if name := l.Dir.Options.Tests; !found[1] && name != "tests" {
		switch _, err := os.ReadDir(l.TestDirs()[1]); {
		case errors.Is(err, fs.ErrNotExist):
			bag.Add(diag.Warningf("Test directory does not exist", "Requested test directory %s does not exist.", name))
		case err != nil:
			bag.Add(diag.Errorf("Failed to read test directory", "Test directory %s could not be read: %s.", name, disk.Reason(err)))
		}
	}
	return files
}

// LoadAllTests loads the modules of all test files, which are installed like other modules. It reports an error in a
// test file as a warning, because it must not prevent an apply. The commands validate and test report it as an error.
// LoadAllTests returns false if a module cannot be loaded.
func (l *Loader) LoadAllTests() bool {
	var found diag.Bag
	files := l.ReadTests(&found)
	for _, d := range found.List() {
		d.Severity = diag.Warning
		l.Dir.Call.Bag.Add(d)
	}
	return l.LoadTests(files)
}

// LoadTests loads the modules that runs (run blocks of test files) test in place of the root module. Afterwards, All
// and Needs include these modules. LoadTests adds errors to the bag of the command. It returns false if a module cannot
// be loaded, or if the bag had errors before.
func (l *Loader) LoadTests(files []*testfile.File) bool {
	root := *l.Tree.Root
	root.Children = maps.Clone(root.Children)
	ok := !l.Dir.Call.Bag.HasErrors()
	for _, f := range files {
		for _, r := range f.Runs {
			if r.Module == nil {
				continue
			}
			key := testfile.Key(f, r)
			tree, good := l.LoadTestModule(key, r.Module, &l.Dir.Call.Bag)
			if ok = ok && good; good {
				root.Children[key] = below(tree.Root, &root, addr.Module{}.Child(key))
			}
		}
	}
	l.tested = &root
	return ok
}

// below returns a copy of a module and of the modules that it calls. parent is the module that contains the copy, and
// at is the address of the copy.
func below(n, parent *config.Node, at addr.Module) *config.Node {
	moved := *n
	moved.Path, moved.Parent, moved.Children = at, parent, map[string]*config.Node{}
	for name, child := range n.Children {
		moved.Children[name] = below(child, &moved, at.Child(name))
	}
	return &moved
}

// LoadTestModule loads the module that a run tests in place of the root module, and the modules that it calls. key is
// the name of the module among the installed modules. LoadTestModule adds errors to bag, and returns false after an
// error. The tree is nil if the module cannot be found or installed.
func (l *Loader) LoadTestModule(key string, call *config.Call, bag *diag.Bag) (*config.Tree, bool) {
	top := addr.Module{}.Child(key)
	dir, source, version, ok := l.resolve(top, call, l.Tree.Root, bag)
	if !ok {
		return nil, false
	}
	tree, ok := config.LoadTree(dir, l.Dir.LoadOptions(), func(path addr.Module, call *config.Call, parent *config.Node, bag *diag.Bag) (string, string, string, bool) {
		return l.resolve(top.Join(path), call, parent, bag)
	}, bag)
	tree.Root.Source, tree.Root.Version = source, version
	l.Dir.Call.Sources.Adopt(tree.Sources)
	return tree, ok
}

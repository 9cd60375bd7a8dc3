package project

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/state/disk"
)

// Tests is what tests need of a working directory: other modules than its own, as they say, and places for what they leave
// behind (teststates.go).
type Tests struct{ p *Project }

// Tests gives that of the project.
func (p *Project) Tests() Tests { return Tests{p} }

// Expect says that test files will be read, which may want values of variables that the root module does not declare:
// until Collect, those pass that are given to such.
func (t Tests) Expect() { t.p.Vars.undecided = true }

// Collect gathers the values of root variables and of those that test files and their modules want beside them, and gives
// them by the directory of test files that they are for: the files of values that lie beside tests are for these alone.
// What nothing declares is read as a value if it is one, else as text.
func (t Tests) Collect(files []*testfile.File) (given map[string]map[string]frame.Given, ok bool) {
	v := t.p.Vars
	v.wanted = map[string]*config.Variable{}
	for _, f := range files {
		maps.Copy(v.wanted, f.Wanted())
	}
	undeclared := maps.Clone(v.wanted)
	for _, f := range files {
		for _, r := range f.Runs {
			if n := t.p.tested.Children[testfile.Key(f, r)]; n != nil {
				maps.Copy(v.wanted, n.Module.Variables)
			}
		}
		maps.Copy(v.wanted, f.Declared)
	}
	v.undecided = false
	ok = v.Collect()
	for name, g := range v.Given {
		if of := v.Declared(name); g.IsText && of == undeclared[name] && !of.TypeGiven {
			if value, is := config.ParseValue(name, g.Text, t.p.Limits, &diag.Bag{}); is {
				v.Given[name] = frame.Given{Value: value, From: g.From}
			}
		}
	}
	root, dirs := v.Given, t.dirs()
	given = map[string]map[string]frame.Given{dirs[0]: root}
	v.Given = maps.Clone(root)
	for _, f := range config.ValueFiles(dirs[1], t.p.LoadOptions()) {
		ok = v.fromFile(f) && ok
	}
	given[dirs[1]], v.Given = v.Given, root
	return given, ok
}

// dirs are the directories of test files: that of the root module, and the one that is meant for them.
func (t Tests) dirs() []string { return []string{t.p.Root, t.p.Call.Path(t.p.Options.Tests)} }

// Read reads the test files. A directory for them that the user named should be there.
func (t Tests) Read() []*testfile.File {
	files, found := testfile.Read(t.dirs(), t.p.LoadOptions(), t.p.Call.Sources, t.p.Bag)
	if name := t.p.Options.Tests; !found[1] && name != "tests" {
		switch _, err := os.ReadDir(t.dirs()[1]); {
		case errors.Is(err, fs.ErrNotExist):
			t.p.Bag.Add(diag.Warningf("Test directory does not exist", "Requested test directory %s does not exist.", name))
		case err != nil:
			t.p.Bag.Add(diag.Errorf("Failed to read test directory", "Test directory %s could not be read: %s.", name, disk.Reason(err)))
		}
	}
	return files
}

// LoadAll loads the modules of all test files, which are installed with the others. A mistake in a test file is a warning
// here: it must not keep anybody from applying, and validate and test report it as an error.
func (t Tests) LoadAll() bool {
	bag := t.p.Bag
	t.p.Bag = &diag.Bag{}
	files := t.Read()
	found := t.p.Bag.List()
	t.p.Bag = bag
	for _, d := range found {
		d.Severity = diag.Warning
		bag.Add(d)
	}
	return t.Load(files)
}

// Load loads the modules of tests, for what concerns all modules: installing them and what they require.
func (t Tests) Load(files []*testfile.File) bool {
	root := *t.p.Tree.Root
	root.Children = maps.Clone(root.Children)
	ok := !t.p.Bag.HasErrors()
	for _, f := range files {
		for _, r := range f.Runs {
			if r.Module == nil {
				continue
			}
			key := testfile.Key(f, r)
			tree, good := t.LoadModule(key, r.Module, t.p.Bag)
			if ok = ok && good; good {
				root.Children[key] = below(tree.Root, &root, addr.Module{}.Child(key))
			}
		}
	}
	t.p.tested = &root
	return ok
}

// below is a copy of a module with those that it calls, at another place.
func below(n, parent *config.Node, at addr.Module) *config.Node {
	twin := *n
	twin.Path, twin.Parent, twin.Children = at, parent, map[string]*config.Node{}
	for name, child := range n.Children {
		twin.Children[name] = below(child, &twin, at.Child(name))
	}
	return &twin
}

// LoadModule loads the module that a run tests, and those that it calls; key is what it is installed as.
func (t Tests) LoadModule(key string, call *config.Call, bag *diag.Bag) (*config.Tree, bool) {
	top := addr.Module{}.Child(key)
	dir, source, version, ok := t.p.resolve(top, call, t.p.Tree.Root, bag)
	if !ok {
		return nil, false
	}
	tree, ok := config.LoadTree(dir, t.p.LoadOptions(), func(path addr.Module, call *config.Call, parent *config.Node, bag *diag.Bag) (string, string, string, bool) {
		return t.p.resolve(top.Join(path), call, parent, bag)
	}, bag)
	tree.Root.Source, tree.Root.Version = source, version
	t.p.Call.Sources.Adopt(tree.Sources)
	return tree, ok
}

// Compile makes a program of a configuration other than that of the working directory.
func (t Tests) Compile(ctx context.Context, e *engine.Engine, tree *config.Tree, bag *diag.Bag) (*program.Program, bool) {
	other := *t.p
	other.Tree, other.tested, other.Bag, other.Engine = tree, nil, bag, e
	installed := other.Installed()
	o := other.Tests().FrameOptions()
	o.Applying = false
	prog, ok := e.Compile(ctx, tree, vet.CheckOptions{Options: o}, bag)
	return prog, ok && installed
}

// FrameOptions are the frame options of a configuration that is tested, without variables. Its paths are relative to the
// working directory, where it may be in a directory below: there are the files that it names by path.module.
func (t Tests) FrameOptions() frame.Options {
	o := t.p.LangOptions()
	o.Variables = nil
	return o
}

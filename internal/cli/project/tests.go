package project

import (
	"context"
	"maps"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
)

// What tests need of a working directory: other modules than its own, as they say.

// CollectForTests gathers the values of root variables and of those that test files want beside them, with the files of
// values that lie beside tests. What nothing declares is read as a value if it is one, else as text.
func (p *Project) CollectForTests(files []*testfile.File) bool {
	p.Vars.wanted = map[string]*config.Variable{}
	for _, f := range files {
		maps.Copy(p.Vars.wanted, f.Wanted())
	}
	ok := p.Vars.Collect()
	for _, f := range config.ValueFiles(p.testDirs()[1], p.LoadOptions()) {
		ok = p.Vars.fromFile(f) && ok
	}
	for name, g := range p.Vars.Given {
		if of := p.Vars.Declared(name); g.IsText && of == p.Vars.wanted[name] && !of.TypeGiven {
			if v, ok := config.ParseValue(name, g.Text, p.Limits, &diag.Bag{}); ok {
				p.Vars.Given[name] = frame.Given{Value: v, From: g.From}
			}
		}
	}
	return ok
}

// testDirs are the directories of test files: that of the root module, and the one that is meant for them.
func (p *Project) testDirs() []string { return []string{p.Root, p.Call.Path(p.Options.Tests)} }

// ReadTests reads the test files; found says whether there is a directory for them.
func (p *Project) ReadTests() (files []*testfile.File, found bool) {
	files, dirs := testfile.Read(p.testDirs(), p.LoadOptions(), p.Call.Sources, p.Bag)
	return files, dirs[1]
}

// LoadTests loads the modules of tests, for what concerns all modules: installing them and what they require.
func (p *Project) LoadTests(files []*testfile.File) bool {
	root := *p.Tree.Root
	root.Children = maps.Clone(root.Children)
	ok := !p.Bag.HasErrors()
	for _, f := range files {
		for _, r := range f.Runs {
			if r.Module == nil {
				continue
			}
			key := testfile.Key(f, r)
			tree, good := p.LoadForTest(key, r.Module, p.Bag)
			if ok = ok && good; good {
				root.Children[key] = below(tree.Root, &root, addr.Module{}.Child(key))
			}
		}
	}
	p.tested = &root
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

// LoadForTest loads the module that a run tests, and those that it calls; key is what it is installed as.
func (p *Project) LoadForTest(key string, call *config.Call, bag *diag.Bag) (*config.Tree, bool) {
	top := addr.Module{}.Child(key)
	dir, source, version, ok := p.resolve(top, call, p.Tree.Root, bag)
	if !ok {
		return nil, false
	}
	tree, ok := config.LoadTree(dir, p.LoadOptions(), func(path addr.Module, call *config.Call, parent *config.Node, bag *diag.Bag) (string, string, string, bool) {
		return p.resolve(top.Join(path), call, parent, bag)
	}, bag)
	tree.Root.Source, tree.Root.Version = source, version
	p.Call.Sources.Adopt(tree.Sources)
	return tree, ok
}

// CompileForTest makes a program of a configuration other than that of the working directory.
func (p *Project) CompileForTest(ctx context.Context, e *engine.Engine, tree *config.Tree, bag *diag.Bag) (*program.Program, bool) {
	other := *p
	other.Tree, other.tested, other.Bag, other.Engine = tree, nil, bag, e
	installed := other.Installed()
	o := other.OptionsForTest(tree.Root.Module.Dir)
	o.Applying = false
	prog, ok := e.Compile(ctx, tree, vet.CheckOptions{Options: o}, bag)
	return prog, ok && installed
}

// OptionsForTest are the frame options of a configuration that is tested, by its directory, without variables.
func (p *Project) OptionsForTest(dir string) frame.Options {
	o := p.LangOptions()
	o.Variables, o.RootDir = nil, dir
	return o
}

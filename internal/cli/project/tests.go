package project

import (
	"context"
	"fmt"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/disk"
)

// What tests need of a working directory: other modules than its own, as they say.

// CollectForTests gathers the values of root variables, with those of the files of values that lie beside tests.
func (p *Project) CollectForTests(dir string) bool {
	ok := p.Vars.Collect()
	for _, f := range config.ValueFiles(dir, p.LoadOptions()) {
		ok = p.Vars.fromFile(f) && ok
	}
	return ok
}

// LoadForTest loads the module that a run tests, and those that it calls; key is what it is installed as.
func (p *Project) LoadForTest(key string, call *config.Call, bag *diag.Bag) (*config.Tree, bool) {
	top := addr.Module{}.Child(key)
	dir, _, _, ok := p.resolve(top, call, p.Tree.Root, bag)
	if !ok {
		return nil, false
	}
	tree, ok := config.LoadTree(dir, p.LoadOptions(), func(path addr.Module, call *config.Call, parent *config.Node, bag *diag.Bag) (string, string, string, bool) {
		return p.resolve(top.Join(path), call, parent, bag)
	}, bag)
	p.Call.Sources.Adopt(tree.Sources)
	return tree, ok
}

// CompileForTest makes a program of a configuration other than that of the working directory.
func (p *Project) CompileForTest(ctx context.Context, e *engine.Engine, tree *config.Tree, bag *diag.Bag) (*program.Program, bool) {
	other := *p
	other.Tree, other.Bag, other.Engine = tree, bag, e
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

// WriteErrored writes the n-th state that a test could not destroy.
func WriteErrored(p *Project, s *state.Snapshot, n int) (string, error) {
	name := "errored_test.tfstate"
	if n > 1 {
		name = fmt.Sprintf("errored_test.%d.tfstate", n)
	}
	data, err := s.Bytes()
	if err == nil {
		err = disk.Replace(p.Call.FS(), p.Call.Path(name), data)
	}
	return name, err
}

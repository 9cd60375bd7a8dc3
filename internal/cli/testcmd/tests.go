package testcmd

import (
	"context"
	"path/filepath"

	"github.com/lethe-iac/lethe/internal/backend"
	"github.com/lethe-iac/lethe/internal/cli/loader"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/testcmd/teststates"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/suite"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// tests connects a suite (the tests of a command) with the working directory. It implements suite.Modules, which loads
// and compiles tested modules, and suite.States, which stores states of tests.
type tests struct {
	*teststates.Leftovers
	s *session.Session
}

func newTests(s *session.Session) *tests { return &tests{teststates.New(s.Dir, s.States), s} }

// values collects the values of variables, by the directory of the test files to which they apply. A values file in the
// directory of test files applies only to the test files there. After errors, which it reports, it returns false.
func (t *tests) values(files []*testfile.File) (given map[string]map[string]frame.Given, ok bool) {
	vars := t.s.Loader.Vars
	ok = vars.CollectForTests(files, t.s.Loader.All().Children)
	dirs := t.s.Loader.TestDirs()
	beside, read := vars.With(dirs[1])
	return map[string]map[string]frame.Given{dirs[0]: vars.Given, dirs[1]: beside}, ok && read
}

// LoadModule loads the module of a run block with the modules that it calls. After an error, it adds the error to bag
// and returns false. It implements suite.Modules.
func (t *tests) LoadModule(key string, call *config.Call, bag *diag.Bag) (*config.Tree, bool) {
	return t.s.Loader.LoadTestModule(key, call, bag)
}

// Compile compiles a tested configuration with the engine e, after it has checked that its providers are installed.
// After an error, it adds the error to bag and returns false. It implements suite.Modules.
func (t *tests) Compile(ctx context.Context, e *engine.Engine, tree *config.Tree, bag *diag.Bag) (*program.Program, bool) {
	var installed bool
	e.Providers.Absent, installed = t.s.Plugins.Check(tree, loader.Needs(tree.Root), t.s.Pool.Known(), bag)
	o := t.FrameOptions()
	o.Applying = false
	prog, ok := e.Compile(ctx, tree, vet.CheckOptions{Options: o}, bag)
	return prog, ok && installed
}

// FrameOptions returns the options of evaluations in a tested configuration, without values of variables. Paths such as
// path.module are relative to the working directory, even if the tested module is in a subdirectory. It implements
// suite.Modules.
func (t *tests) FrameOptions() frame.Options {
	o := t.s.FrameOptions()
	o.Variables = nil
	return o
}

// checkBackends adds an error and returns false if the backend block of a run cannot be evaluated.
func (t *tests) checkBackends(files []*testfile.File) bool {
	ok := true
	for _, f := range files {
		for _, r := range f.Runs {
			if r.Backend != nil {
				ok = t.backendOf(f, r, &t.s.Dir.Call.Bag).CheckDeclared() && ok
			}
		}
	}
	return ok
}

// backendOf returns the backend of a run that has a backend block.
func (t *tests) backendOf(f *testfile.File, r *testfile.Run, bag *diag.Bag) *backend.Directory {
	root := *t.s.Loader.Tree.Root.Module
	root.Backend, root.Cloud = r.Backend, nil
	return t.s.States.BackendOf(&root, filepath.Join(t.Dir(), testfile.Key(f, r)), bag)
}

// Open locks and reads the state in the backend block of a run. It uses the default workspace, even if another
// workspace is selected. After an error, it adds the error to bag and returns false. It implements suite.States.
func (t *tests) Open(ctx context.Context, r *suite.Run, bag *diag.Bag) (suite.Place, bool) {
	d := t.backendOf(r.File.File, r.Run, bag)
	env := d.Env
	st, ok := d.OpenDeclared(ctx)
	if !ok {
		return nil, false
	}
	if err := env.MakeData(); err != nil {
		bag.Add(diag.Errorf("Failed to open the state of a test", "The directory %s cannot be created: %s.", t.s.Dir.Display(env.Data), disk.Reason(err)))
		return nil, false
	}
	req := t.s.States.Request(operation.Test)
	req.Lock, req.Store, req.Name = true, st, store.Default
	ws, ok := workspace.Lock(ctx, env, req)
	if !ok {
		return nil, false
	}
	t.s.Dir.Call.AtEnd(ws.Unlock)
	return ws, true
}

// Package enginetest contains helpers for the tests of the engine's packages.
package enginetest

import (
	"path"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/walk"
)

// Program compiles a configuration without the schemas of providers. The keys of files are paths below the root module.
// It ends the test if there are errors.
func Program(t testing.TB, files map[string]string) *program.Program {
	t.Helper()
	mem := config.Memory{}
	for name, text := range files {
		mem[path.Join("root", name)] = []byte(text)
	}
	var bag diag.Bag
	tree, ok := config.LoadTree("root", config.Options{Files: mem}, func(_ addr.Module, call *config.Call, parent *config.Node, bag *diag.Bag) (string, string, string, bool) {
		src, ok := frame.StaticSource(parent, call, frame.Options{}, bag)
		return path.Join(parent.Module.Dir, src), src, "", ok
	}, &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	prog, ok := lang.Compile(tree, &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	return prog
}

// Frame returns a new frame (the values of a program) without any values.
func Frame(t testing.TB, prog *program.Program, o frame.Options) *frame.Frame {
	t.Helper()
	var bag diag.Bag
	f, ok := frame.New(prog, o, &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	return f
}

// Declaration returns the declaration with a name. The name of a resource is its address. Declaration ends the test if
// the program has no such declaration.
func Declaration(t testing.TB, p *program.Program, name string) *program.Declaration {
	t.Helper()
	for _, d := range p.Decls() {
		if d.Kind == program.Resource && d.Resource.String() == name || d.Kind != program.Resource && d.String() == name {
			return d
		}
	}
	t.Fatalf("no declaration %s", name)
	return nil
}

// Instance parses an address, and ends the test if it is invalid.
func Instance(t testing.TB, text string) addr.Instance {
	t.Helper()
	i, err := addr.ParseInstance(text)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// State returns a state with an empty object for each address.
func State(t testing.TB, objects ...string) *state.Snapshot {
	t.Helper()
	edit := (&state.Snapshot{}).Edit()
	for _, o := range objects {
		edit.Put(Instance(t, o).Current(), &state.Entry{Attrs: []byte("{}")})
	}
	return edit.Done()
}

// Steps lists the steps of a plan in their order. Each line has the steps that must precede the step.
func Steps(in *plan.Input) string {
	steps := plan.Order(in)
	return steps.Graph().Text(func(n walk.Node) string { return steps.Label(int(n)) })
}

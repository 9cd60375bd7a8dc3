// Package enginetest has what the tests of the engine's rooms share.
package enginetest

import (
	"path"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/state"
)

// Program compiles files, given by path below the root module, without asking providers for anything.
func Program(t testing.TB, files map[string]string) *lang.Program {
	t.Helper()
	mem := config.Memory{}
	for name, text := range files {
		mem[path.Join("root", name)] = []byte(text)
	}
	var bag diag.Bag
	tree, ok := config.LoadTree("root", config.Options{Files: mem}, func(_ addr.Module, call *config.Call, parent *config.Node, bag *diag.Bag) (string, string, string, bool) {
		src, ok := lang.StaticSource(parent, call, lang.Options{}, bag)
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

// Frame is a frame of a program with which nothing was done yet.
func Frame(t testing.TB, prog *lang.Program, o lang.Options) *lang.Frame {
	t.Helper()
	var bag diag.Bag
	f, ok := lang.NewFrame(prog, o, &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	return f
}

// Declaration finds a declaration by what it is called: a resource by its address.
func Declaration(t testing.TB, p *lang.Program, name string) *lang.Declaration {
	t.Helper()
	for _, d := range p.Decls() {
		if d.Kind == lang.Resource && d.Resource.String() == name || d.Kind != lang.Resource && d.String() == name {
			return d
		}
	}
	t.Fatalf("no declaration %s", name)
	return nil
}

// Instance reads an address.
func Instance(t testing.TB, text string) addr.Instance {
	t.Helper()
	i, err := addr.ParseInstance(text)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// State has an empty object for each address.
func State(t testing.TB, objects ...string) *state.Snapshot {
	t.Helper()
	edit := (&state.Snapshot{}).Edit()
	for _, o := range objects {
		edit.Put(Instance(t, o).Current(), &state.Entry{Attrs: []byte("{}")})
	}
	return edit.Done()
}

package suite

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mock"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
)

// A module is compiled once for all runs that test it with the same providers. What providers' settings and assertions
// need of the test file and the module does not declare, variables and outputs of runs, is declared beside: as variables
// that take anything.

// module is what a run tests.
func (x *execution) module(r *Run, bag *diag.Bag) (*config.Tree, string, bool) {
	if r.Module == nil {
		return x.suite.Root, "", true
	}
	x.suite.building.Lock()
	defer x.suite.building.Unlock()
	key := testfile.Key(x.file.File, r.Run)
	tree, ok := x.suite.Load(key, r.Module, bag)
	if !ok {
		return nil, "", false
	}
	source := tree.Root.Module.Dir
	if have := x.suite.trees[source]; have != nil {
		return have, source, true
	}
	x.suite.trees[source] = tree
	return tree, source, true
}

// compile gives the program of a variant of a module.
func (x *execution) compile(ctx context.Context, v *variant, tree *config.Tree, module string, bag *diag.Bag) (*compiled, bool) {
	key := programKey{module: module}
	if v.changes() {
		key.file, key.providers = x.file.Name, v.text
	}
	x.suite.building.Lock()
	defer x.suite.building.Unlock()
	c := x.suite.programs[key]
	if c == nil {
		c = x.build(ctx, v, tree)
		x.suite.programs[key] = c
	}
	bag.Add(c.diags...)
	return c, c.ok
}

// variant is what a test file changes about a module.
type variant struct {
	providers map[config.ProviderName]*config.Provider
	mocks     map[config.ProviderName]*testfile.Mock
	variables []string
	declared  map[string]*config.Variable // by the file
	text      string                      // different for variants that differ
}

func (v *variant) changes() bool {
	return len(v.providers)+len(v.mocks)+len(v.variables) > 0
}

// root is the root module as the variant has it.
func (v *variant) root(m *config.Module) *config.Module {
	root := *m
	root.Providers = maps.Clone(root.Providers)
	maps.Copy(root.Providers, v.providers)
	for name := range v.mocks {
		delete(root.Providers, name)
		root.Supply(name, nil)
		root.Providers[name].Range, root.Providers[name].ForEach = v.mocks[name].Range, v.mocks[name].ForEach
	}
	root.Variables = maps.Clone(root.Variables)
	for _, name := range v.variables {
		if root.Variables[name] = v.declared[name]; root.Variables[name] != nil {
			continue
		}
		root.Variables[name] = &config.Variable{Name: name, Type: cty.DynamicPseudoType, Nullable: true, Default: cty.NullVal(cty.DynamicPseudoType)}
	}
	return &root
}

// variant finds out what the file of a run changes about a module: what a providers argument passes under its names, or
// else all that the module requires.
func (x *execution) variant(r *Run, tree *config.Tree) *variant {
	v := &variant{declared: x.file.Declared, providers: map[config.ProviderName]*config.Provider{}, mocks: map[config.ProviderName]*testfile.Mock{}}
	m := tree.Root.Module
	pass := func(child, parent config.ProviderName) {
		if p := x.file.Providers[parent]; p != nil {
			twin := *p
			twin.ProviderName = child
			v.providers[child] = &twin
		}
		if p := x.file.Mocks[parent]; p != nil {
			v.mocks[child] = p
		}
		v.text += child.String() + "=" + parent.String() + " "
	}
	if r.Providers != nil {
		for _, p := range r.Providers {
			pass(p.Child, p.Parent.ProviderName)
		}
	} else {
		for name := range x.file.Providers {
			if needs(tree, name.Local) {
				pass(name, name)
			}
		}
		for name := range x.file.Mocks {
			if needs(tree, name.Local) {
				pass(name, name)
			}
		}
		v.text = ""
	}
	wanted := maps.Clone(x.asserted)
	for name := range x.file.Declared { // their rules are checked, whether anything uses them or not
		if _, given := x.given[name]; given {
			wanted[name] = true
		}
	}
	for _, p := range v.providers {
		note(wanted, testfile.ProviderRefs(p))
	}
	for _, m := range v.mocks {
		note(wanted, testfile.RefsOf(m.ForEach))
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		_, given := x.file.Variables[name]
		_, global := x.given[name]
		_, ofRun := r.Variables[name]
		if m.Variables[name] == nil && (given || global || ofRun || x.file.Declared[name] != nil || strings.HasPrefix(name, testfile.RunVariable(""))) {
			v.variables = append(v.variables, name)
		}
	}
	v.text += strings.Join(v.variables, " ")
	return v
}

// note adds the variables among references.
func note(to map[string]bool, refs testfile.Refs) {
	for ref := range refs {
		if ref.Root == "var" && ref.Name != "" {
			to[ref.Name] = true
		}
	}
}

// needs reports whether a configuration needs a provider that its root module calls so.
func needs(tree *config.Tree, local string) bool {
	own := tree.Root.Provider(local)
	found := false
	tree.Root.Walk(func(n *config.Node) {
		for _, r := range n.Module.Required {
			found = found || r.Source == own
		}
	})
	return found
}

// build compiles a variant of a configuration.
func (x *execution) build(ctx context.Context, v *variant, tree *config.Tree) *compiled {
	c := &compiled{tree: tree, mocks: map[addr.ProviderConfig]*testfile.Mock{}}
	if v.changes() {
		c.tree = with(tree, v)
	}
	for name, m := range v.mocks {
		c.mocks[addr.ProviderConfig{Provider: tree.Root.Provider(name.Local), Alias: name.Alias}] = m
	}
	var bag diag.Bag
	settings := x.suite.Engine.Settings
	settings.Supply = func(_ *program.Program, schemas provider.Lookup) (added, ok bool) {
		for name := range v.mocks {
			if s := schemas(tree.Root.Provider(name.Local)); s != nil && s.Config != nil {
				c.tree.Root.Module.Supply(name, required(s))
				added = true
			}
		}
		return added, true
	}
	c.program, c.ok = x.suite.Compile(ctx, x.suite.Engine.With(settings), c.tree, &bag)
	c.diags = bag.List()
	return c
}

// required are values for what the settings of a provider must have: a mock makes nothing of them.
func required(s *provider.Schemas) map[string]cty.Value {
	out := map[string]cty.Value{}
	for _, a := range s.Config.Attrs {
		if a.Required {
			out[a.Name] = mock.Zero(a.Type, nil, func(cty.Path) string { return "" })
			if out[a.Name].IsNull() { // anything is enough where anything is taken
				out[a.Name] = cty.EmptyObjectVal
			}
		}
	}
	return out
}

// with is a configuration as a variant has it.
func with(tree *config.Tree, v *variant) *config.Tree {
	out := *tree
	out.Root = twin(tree.Root, nil)
	out.Root.Module = v.root(tree.Root.Module)
	return &out
}

// twin copies a part of the tree: other nodes for the same modules.
func twin(n, parent *config.Node) *config.Node {
	out := *n
	out.Parent, out.Children = parent, map[string]*config.Node{}
	for name, child := range n.Children {
		out.Children[name] = twin(child, &out)
	}
	return &out
}

package suite

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/prompted"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mock"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
)

// A module is compiled once for all runs that test it with the same providers. Provider settings and assertions of a
// test file may refer to variables and outputs of runs that the module does not declare. These variables and outputs
// are added to the module as variables of any type.

// module returns the configuration that a run tests, and its directory. For the configuration of the working directory,
// the directory is "". If a module cannot be loaded, module returns false.
func (x *execution) module(r *Run, bag *diag.Bag) (*config.Tree, string, bool) {
	if r.Module == nil {
		return x.suite.Root, "", true
	}
	return x.suite.programs.tree(func() (*config.Tree, bool) {
		return x.suite.Modules.LoadModule(testfile.Key(x.file.File, r.Run), r.Module, bag)
	})
}

// compile returns the program of a variant of a module. module is the directory of the module. compile adds the
// diagnostics to bag. It returns false if the variant could not be compiled.
func (x *execution) compile(ctx context.Context, v *variant, tree *config.Tree, module string, bag *diag.Bag) (*compiled, bool) {
	key := programKey{module: module}
	if v.changes() {
		key.file, key.providers = x.file.Name, v.text
	}
	c := x.suite.programs.program(key, func() *compiled { return x.build(ctx, v, tree) })
	bag.Add(c.diags...)
	return c, c.ok
}

// variant holds the changes that a test file makes to a module.
type variant struct {
	providers map[config.ProviderName]*config.Provider
	mocks     map[config.ProviderName]*testfile.Mock
	variables []string
	declared  map[string]*config.Variable // variables that the file declares
	text      string                      // identifies the providers, mocks and variables of the variant
}

func (v *variant) changes() bool {
	return len(v.providers)+len(v.mocks)+len(v.variables) > 0
}

// root returns a copy of the root module with the changes of the variant.
func (v *variant) root(m *config.Module) *config.Module {
	root := *m
	root.Providers = maps.Clone(root.Providers)
	maps.Copy(root.Providers, v.providers)
	for name := range v.mocks {
		delete(root.Providers, name)
		prompted.Supply(&root, name, nil)
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

// variant returns the changes that the file of a run makes to a module. If the run has a providers argument, the
// argument lists the providers that the file passes, and their names in the module. Without the argument, the file
// passes all providers that the module requires.
func (x *execution) variant(r *Run, tree *config.Tree) *variant {
	v := &variant{declared: x.file.Declared, providers: map[config.ProviderName]*config.Provider{}, mocks: map[config.ProviderName]*testfile.Mock{}}
	m := tree.Root.Module
	pass := func(child, parent config.ProviderName) {
		if p := x.file.Providers[parent]; p != nil {
			copied := *p
			copied.ProviderName = child
			v.providers[child] = &copied
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
	for name := range x.file.Declared { // declared variables are added even if nothing uses them, so that their validation rules are checked
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

// note adds the names of the variables in refs to a set. It ignores other references.
func note(to map[string]bool, refs testfile.Refs) {
	for ref := range refs {
		if ref.Root == "var" && ref.Name != "" {
			to[ref.Name] = true
		}
	}
}

// needs reports whether a module of the configuration requires the provider that this local name means in the root
// module.
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
				prompted.Supply(c.tree.Root.Module, name, required(s))
				added = true
			}
		}
		return added, true
	}
	c.program, c.ok = x.suite.Modules.Compile(ctx, x.suite.Engine.With(settings), c.tree, &bag)
	c.diags = bag.List()
	return c
}

// required returns values for the required settings of a provider that is mocked. The mock ignores them.
func required(s *provider.Schemas) map[string]cty.Value {
	out := map[string]cty.Value{}
	for _, a := range s.Config.Attrs {
		if a.Required {
			out[a.Name] = mock.Zero(a.Type, nil, func(cty.Path) string { return "" })
			if out[a.Name].IsNull() { // the type accepts a null value
				out[a.Name] = cty.EmptyObjectVal
			}
		}
	}
	return out
}

// with returns a copy of a configuration with the changes of a variant.
func with(tree *config.Tree, v *variant) *config.Tree {
	out := *tree
	out.Root = copyNode(tree.Root, nil)
	out.Root.Module = v.root(tree.Root.Module)
	return &out
}

// copyNode copies a node of the tree and all nodes below it. The new nodes share the modules of the old nodes.
func copyNode(n, parent *config.Node) *config.Node {
	out := *n
	out.Parent, out.Children = parent, map[string]*config.Node{}
	for name, child := range n.Children {
		out.Children[name] = copyNode(child, &out)
	}
	return &out
}

package config

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

// LoadTree reads the root module in a directory and all modules that it calls, directly or indirectly. resolve finds
// the directory of a called module. A call that resolve cannot resolve is omitted; resolve adds the error to the bag.
// Each directory is read only once, even if several calls lead to it.
//
// Mistakes do not stop the reading. Modules that could not be read completely are marked (Module.Unreadable), and the
// bag records the ranges of broken blocks so that no more errors are reported for them (diag.Bag.Enough).
//
// LoadTree also makes the checks that depend on the position of a module in the tree: a module may not call itself, and
// some blocks are allowed only in the root module.
//
// LoadTree returns false if it reported an error.
func LoadTree(root string, o Options, resolve Resolve, bag *diag.Bag) (*Tree, bool) {
	t := &treeLoader{
		opts:    o.filled(),
		resolve: resolve,
		bag:     bag,
		tree:    &Tree{Sources: &diag.Sources{}},
		modules: map[string]*loaded{},
		sames:   map[string]string{},
		ok:      true,
	}
	t.tree.Root = t.node(&Node{}, root)
	t.check(t.tree.Root)
	for _, m := range t.modules {
		bag.Enough(m.module.broken.List()...)
	}
	return t.tree, t.ok
}

// treeLoader loads the tree of modules below a root module.
type treeLoader struct {
	opts    Options
	resolve Resolve
	bag     *diag.Bag
	tree    *Tree
	modules map[string]*loaded // modules that were read, by the result of the method same for the directory
	sames   map[string]string  // results of same, by directory
	nodes   int                // number of nodes so far
	ok      bool               // no error was reported
}

// loaded is a module that was read.
type loaded struct {
	module *Module
	ok     bool // the module was read without errors
}

// same returns Files.Same(dir): a string that is equal for all paths to the directory. It caches the result for each
// spelling of the path.
func (t *treeLoader) same(dir string) string {
	s, ok := t.sames[dir]
	if !ok {
		s = t.opts.Files.Same(dir)
		t.sames[dir] = s
	}
	return s
}

func (t *treeLoader) add(d diag.Diagnostic) {
	t.bag.Add(d)
	t.ok = t.ok && d.Severity != diag.Error
}

// mostModules returns the maximum number of modules. One module counts as ten instances.
func (t *treeLoader) mostModules() int { return t.opts.Limits.Instances / 10 }

// node fills n with the module in dir and with the nodes of the modules that it calls, and returns n. If the tree has
// too many modules, node reports one error, and adds no called modules.
func (t *treeLoader) node(n *Node, dir string) *Node {
	m := t.module(n, dir)
	n.Module, n.Children = m.module, map[string]*Node{}
	if t.nodes++; t.nodes == t.mostModules()+1 {
		t.add(diag.Errorf("Too many modules", "The configuration calls more than %d modules. Check for modules that call the same module several times at each level, or raise the limit with LETHE_LIMITS.", t.mostModules()))
		t.tree.Closed = true
	}
	if t.nodes > t.mostModules() {
		return n
	}
	for _, name := range sortedKeys(n.Module.Calls) {
		if child := t.child(n, n.Module.Calls[name]); child != nil {
			n.Children[name] = child
		}
	}
	return n
}

// module returns the module in a directory. It reads each directory once, so that mistakes are reported once. In the
// module of the root, it calls Options.Amend. After an error, ok of the result is false.
func (t *treeLoader) module(n *Node, dir string) *loaded {
	key := t.same(dir)
	if m := t.modules[key]; m != nil {
		return m
	}
	m := &loaded{}
	m.module, m.ok = load(dir, n, t.opts, t.tree.Sources, t.bag)
	if n.Call == nil && t.opts.Amend != nil {
		m.ok = t.opts.Amend(m.module, t.tree.Sources, t.bag) && m.ok
	}
	t.ok = t.ok && m.ok
	t.tree.Closed = t.tree.Closed || m.module.VersionMismatch
	t.modules[key] = m
	return m
}

// child returns the node of a called module. It returns nil if the call has no source or cannot be resolved, if the
// modules would call each other without end, or if the module is nested too deeply.
func (t *treeLoader) child(n *Node, call *Call) *Node {
	if call.Source == nil {
		return nil // the missing source was reported when the call was read
	}
	path := n.Path.Child(call.Name)
	childDir, source, version, ok := t.resolve(path, call, n, t.bag)
	if !ok {
		t.ok = false
		return nil
	}
	child := &Node{Path: path, Call: call, Parent: n, Source: source, Version: version, NoDeprecations: t.opts.NoDeprecations || t.opts.NoFarDeprecations && (n.NoDeprecations || !IsLocal(source))}
	if t.endless(child, childDir) {
		return nil
	}
	if IsLocal(source) && t.opts.Follow != nil {
		child.Led = t.opts.Follow(child)
	}
	return t.node(child, childDir)
}

// endless reports an error and returns true if a module calls itself, directly or through other modules, or is nested
// too deeply. Each call of a remote module has a separate directory, so remote modules count as equal if their source
// and version are equal.
func (t *treeLoader) endless(n *Node, dir string) bool {
	key := t.same(dir)
	for p := n.Parent; p != nil; p = p.Parent {
		if t.same(p.Module.Dir) != key && (IsLocal(n.Source) || p.Source != n.Source || p.Version != n.Version) {
			continue
		}
		t.add(diag.Errorf("Module call cycle", "This module calls itself: %s. Remove one of these calls, or change its source.", circle(p, n)).At(n.Call.SourceRange))
		return true
	}
	if n.Path.Depth() > t.opts.Limits.Nesting {
		t.add(diag.Errorf("Modules nested too deeply", "Module calls may be nested %d deep, and %s is deeper. Call modules from a higher level, or raise the limit with LETHE_LIMITS=nesting=NUMBER.", t.opts.Limits.Nesting, n.Path).At(n.Call.SourceRange))
		return true
	}
	return false
}

// circle describes the chain of calls that leads from a module back to the same module.
func circle(from, to *Node) string {
	var names []string
	for n := to; n != from; n = n.Parent {
		names = append(names, fmt.Sprintf("module.%s (%s)", n.Call.Name, n.Call.Range))
	}
	start := "the root module"
	if from.Call != nil {
		start = from.Path.String()
	}
	var b strings.Builder
	b.WriteString(start)
	for i := len(names) - 1; i >= 0; i-- {
		b.WriteString(" → " + names[i])
	}
	return b.String()
}

// check makes the checks that depend on the position of modules in the tree.
func (t *treeLoader) check(root *Node) {
	root.Walk(func(n *Node) {
		if n.Parent == nil {
			t.rootOnly(n)
		} else {
			t.childOnly(n)
		}
		t.removals(n)
	})
	for _, im := range root.Module.Imports {
		t.importInto(root, im)
	}
}

// rootOnly reports declarations that are not allowed in the root module.
func (t *treeLoader) rootOnly(n *Node) {
	for _, name := range sortedKeys(n.Module.Outputs) {
		if o := n.Module.Outputs[name]; o.Ephemeral {
			t.add(diag.Errorf("Unallowed ephemeral output", "Outputs of the root module are stored in the state, so they cannot be ephemeral. Remove ephemeral = true from output %q. If only parts of the value are ephemeral, use ephemeralasnull().", name).At(o.Range))
		}
	}
}

// childOnly reports declarations that are allowed or have an effect only in the root module: import blocks as errors,
// and backend, cloud and encryption blocks as warnings. It also warns about empty provider blocks.
func (t *treeLoader) childOnly(n *Node) {
	m := n.Module
	if b := m.Backend; b != nil {
		t.add(diag.Warningf("Backend configuration ignored", "A backend block has an effect only in the root module, so the block in %s is ignored. Remove it, unless this is a root module that is called for testing.", n.Path).At(b.Range))
	}
	if b := m.Cloud; b != nil {
		t.add(diag.Warningf("Cloud configuration ignored", "A cloud block has an effect only in the root module, so the block in %s is ignored. Remove it, unless this is a root module that is called for testing.", n.Path).At(b.Range))
	}
	if b := m.Encryption; b != nil {
		t.add(diag.Warningf("Encryption not in use", "An encryption block has an effect only in the root module, so the block in %s is ignored. Remove it, unless this is a root module that is called for testing.", n.Path).At(b.MissingItemRange()))
	}
	for _, im := range m.Imports {
		t.add(diag.Errorf("Invalid import configuration", "An import block was detected in %q. Import blocks are only allowed in the root module: move it there, with the address %s.%s.", n.Path, n.Path, im.Resource.Local()).At(im.Range))
	}
	t.emptyProviders(n)
}

// emptyProviders warns about empty provider blocks. Earlier versions of the language used them to declare that the
// caller passes a configuration.
func (t *treeLoader) emptyProviders(n *Node) {
	for _, name := range sortedNames(n.Module.Providers) {
		p := n.Module.Providers[name]
		if !isEmpty(p) {
			continue
		}
		t.add(diag.Warningf("Redundant empty provider block", "An empty provider block is the old way to require a provider configuration from the caller. Remove the block, and name the provider in required_providers%s.", aliasHint(name)).At(p.Range))
	}
}

func aliasHint(n ProviderName) string {
	if n.Alias == "" {
		return ""
	}
	return fmt.Sprintf(" with configuration_aliases = [%s]", n)
}

// isEmpty reports whether a provider block has no arguments and no blocks, except for an alias.
func isEmpty(p *Provider) bool {
	if p.ForEach != nil || len(p.Versions) > 0 {
		return false
	}
	attrs, ds := p.Body.JustAttributes()
	return len(attrs) == 0 && len(ds) == 0
}

// removals reports an error for each removed block whose resource or module is still declared.
func (t *treeLoader) removals(n *Node) {
	for _, r := range n.Module.Removed {
		target := r.From.Target
		at, what := declared(n, target)
		if what != "" {
			t.add(diag.Errorf("Removed "+what+" still exists", "This statement declares that %s was removed, but it is still declared in the configuration at %s. Remove one of the two.", target, at).At(r.From.Range).See("declared here", at))
		}
	}
}

// declared returns the range and the kind of the declaration that an address without keys names, relative to n. The
// kind is "" if no such declaration exists.
func declared(n *Node, target addr.Target) (at hcl.Range, what string) {
	path := target.Module().Path()
	for i, name := range path {
		if target.Mode == 0 && i == len(path)-1 {
			if call := n.Module.Calls[name]; call != nil {
				return call.Range, "module"
			}
			return at, ""
		}
		if n = n.Children[name]; n == nil {
			return at, ""
		}
	}
	if r := n.Module.Resources[Name{target.Mode, target.Type, target.Name}]; r != nil {
		return r.Range, "resource"
	}
	return at, ""
}

// importInto compares an import block with the resource block at its address. If the import has a provider argument
// that differs from the provider of the resource, importInto reports an error. If Lethe generates the resource block,
// no such difference is possible.
func (t *treeLoader) importInto(root *Node, im *Import) {
	n := root
	for _, name := range im.Resource.Module.Path() {
		if n = n.Children[name]; n == nil {
			return
		}
	}
	r := n.Module.Resources[Name{im.Resource.Mode, im.Resource.Type, im.Resource.Name}]
	if r != nil {
		t.importKey(im, r)
	}
	if r != nil && im.Provider != nil && (n != root || r.LocalProvider() != im.Provider.ProviderName) {
		t.add(diag.Errorf("Invalid import provider argument", "The provider argument of an import block is only for generated configuration, and %s has a resource block. Remove the argument here, and set \"provider\" in the resource block.", im.Resource).At(im.Provider.Range).See("declared here", r.Range))
	}
}

// InvalidImportTo is the title of the error about an import address whose key does not match the instances of the
// resource.
const InvalidImportTo = "Invalid import 'to' expression"

// importKey reports an error if the key of an import address does not match count or for_each of the resource. It can
// check only the type of the key, and only if the text of the key shows this type.
func (t *treeLoader) importKey(im *Import, r *Resource) {
	keyed, key := im.key()
	const hint = " Import into one of its instances: add the key to the address, as in %s[%s]."
	var why string
	switch {
	case !keyed && r.Count != nil:
		why = fmt.Sprintf("The target resource is using count."+hint, im.Resource, "0")
	case !keyed && r.ForEach != nil:
		why = fmt.Sprintf("The target resource is using for_each."+hint, im.Resource, `"key"`)
	case !keyed:
	case r.Count == nil && r.ForEach == nil && key != cty.Number && key != cty.String:
		why = "The target resource uses neither count nor for_each. Remove the key from the address, or set one of them in the resource block."
	case r.Count == nil && key == cty.Number:
		why = "The target resource does not use count. Remove the key from the address, or set count in the resource block."
	case r.ForEach == nil && key == cty.String:
		why = "The target resource does not use for_each. Correct the key in the address, or set for_each in the resource block."
	}
	if why != "" {
		t.add(diag.Errorf(InvalidImportTo, "%s", why).At(im.To.Range()).See("declared here", r.Range))
	}
}

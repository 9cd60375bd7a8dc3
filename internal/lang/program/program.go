package program

import (
	"iter"
	"maps"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Program is a compiled configuration. After Bind and the checks of package vet, it does not change.
type Program struct {
	tree  *config.Tree
	units map[*config.Module]*Unit
	root  *Node
	nodes map[addr.Module]*Node
	decls []*Declaration
	at    []*Node // the node (the place of the module in the tree) of each declaration; nil for implied provider configurations
	refs  [][]Ref // the references of each declaration
	moves []*Move // all moved blocks; SetMoves puts them into the order of execution

	resources map[addr.Resource]Decl
	configs   map[addr.ProviderConfig]Decl
	uses      []Decl             // the provider configuration that each resource and action uses
	keyed     map[Decl]PassedKey // the resources whose provider instance a calling module selects

	endless map[Decl]bool // the declarations that are part of a cycle, or depend on a cycle
	bound   *bound        // the results of Bind; nil before Bind
}

// bound has the results of Bind, which compares the declarations with the schemas of the providers.
type bound struct {
	schemas []*schema.Schema // the schema of each declaration; nil for a declaration without a schema
	bodies  map[*Def]*expr.Body
	metas   map[metaKey]cty.Value
	flawed  map[*Def]bool // the declarations whose bodies do not fit their schemas
}

type metaKey struct {
	u    *Unit
	prov addr.Provider
}

// PassedKey is the position of the entry in a providers argument by which a module call selects an instance of a
// repeated provider configuration.
type PassedKey struct {
	Up    int // the number of module calls between this call and the module of the resource
	Entry int // the index of the entry in the providers argument of that call
}

// Node is one place in the tree of modules. Unit is the module at this place, which is compiled once for all its
// places.
type Node struct {
	Config   *config.Node
	Unit     *Unit
	Parent   *Node
	Call     int32   // the index of the module call in the parent's unit
	Base     Decl    // the Decl of the first declaration of the unit at this node
	Children []*Node // the nodes of the called modules, in the order of the calls in the unit; nil if a module could not be loaded
}

// Decl returns the Decl (the index in the program) of the declaration with the index i in the unit, at this node.
func (n *Node) Decl(i int32) Decl { return n.Base + Decl(i) }

// Decls lists all declarations. A Decl is an index into the list.
func (p *Program) Decls() []*Declaration { return p.decls }

// Refs returns the direct references of d, including implicit references. It has one element for each combination of a
// target and its instances.
func (p *Program) Refs(d Decl) []Ref { return p.refs[d] }

// Call returns the range of the call of the module m, or false if m is the root or does not exist.
func (p *Program) Call(m addr.Module) (diag.Range, bool) {
	n := p.nodes[m]
	if n == nil || n.Parent == nil {
		return diag.Range{}, false
	}
	return n.Config.Call.Range, true
}

// Tree returns the configuration from which the program was compiled.
func (p *Program) Tree() *config.Tree { return p.tree }

// Resource returns a resource's declaration, or false if the resource is not declared.
func (p *Program) Resource(r addr.Resource) (*Declaration, bool) {
	d, ok := p.resources[r]
	if !ok {
		return nil, false
	}
	return p.decls[d], true
}

// Lookup returns the declaration of the kind k with a name, or false if it does not exist. It does not find resources,
// actions and providers.
func (p *Program) Lookup(m addr.Module, k Kind, name string) (*Declaration, bool) {
	n := p.nodes[m]
	if n == nil {
		return nil, false
	}
	i, ok := n.Unit.Index(k, name)
	if !ok {
		return nil, false
	}
	return p.decls[n.Decl(i)], true
}

// ProviderConfig returns the declaration of a provider configuration, which may be implied. It returns false if the
// program has no such configuration.
func (p *Program) ProviderConfig(c addr.ProviderConfig) (*Declaration, bool) {
	d, ok := p.configs[c]
	if !ok {
		return nil, false
	}
	return p.decls[d], true
}

// ProviderOf returns the provider configuration that a resource or action uses. It returns NoDecl if this configuration
// does not exist, and for any other declaration.
func (p *Program) ProviderOf(d Decl) Decl { return p.uses[d] }

// Root returns the root module.
func (p *Program) Root() *Node { return p.root }

// Nodes iterates over all nodes of the module tree in no defined order.
func (p *Program) Nodes() iter.Seq[*Node] { return maps.Values(p.nodes) }

// Node returns the node (the place in the tree) of a module, or nil if the module does not exist.
func (p *Program) Node(m addr.Module) *Node { return p.nodes[m] }

// NodeOf returns the node of the module that contains a declaration, or nil for an implied provider configuration.
func (p *Program) NodeOf(d Decl) *Node { return p.at[d] }

// Endless reports whether a declaration is part of a cycle or depends on a cycle, so that it cannot be evaluated.
func (p *Program) Endless(d Decl) bool { return p.endless[d] }

// Cyclic reports whether the program has a cycle.
func (p *Program) Cyclic() bool { return len(p.endless) > 0 }

// SetEndless sets the declarations that are part of a cycle or depend on a cycle.
func (p *Program) SetEndless(ds map[Decl]bool) { p.endless = ds }

// Moves lists the moved blocks of all modules in the order of execution.
func (p *Program) Moves() []*Move { return p.moves }

// SetMoves sets the moved blocks of all modules, in the order of execution.
func (p *Program) SetMoves(ms []*Move) { p.moves = ms }

// Def returns the compiled definition of a declaration in its module, or nil for an implied provider configuration.
func (p *Program) Def(d Decl) *Def {
	n := p.at[d]
	if n == nil {
		return nil
	}
	return n.Unit.Defs[d-n.Base]
}

// moduleOf returns "in the root module", or for example "in module.a".
func moduleOf(n *Node) string {
	if n.Config.Path.IsRoot() {
		return "in the root module"
	}
	return "in " + n.Config.Path.String()
}

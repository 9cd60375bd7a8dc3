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

// Program is a compiled configuration. It is immutable once it is bound to schemas and was checked.
type Program struct {
	tree  *config.Tree
	units map[*config.Module]*Unit
	root  *Node
	nodes map[addr.Module]*Node
	decls []*Declaration
	at    []*Node // node of each declaration
	refs  [][]Ref
	moves []*Move // in order, if they were ordered

	resources map[addr.Resource]Decl
	configs   map[addr.ProviderConfig]Decl
	uses      []Decl             // of resource declarations: the provider configuration
	keyed     map[Decl]PassedKey // resources whose provider instance a caller chooses

	endless map[Decl]bool // declarations that are part of a cycle, or need one
	bound   *bound        // what Bind found out
}

// bound is what Bind found out.
type bound struct {
	schemas []*schema.Schema // by declaration
	bodies  map[*Def]*expr.Body
	metas   map[metaKey]cty.Value
	flawed  map[*Def]bool // bodies that do not fit their schemas
}

type metaKey struct {
	u    *Unit
	prov addr.Provider
}

// PassedKey is where a calling module chose an instance of a configuration that it passed down: the
// n-th entry of the call that makes a node some way up.
type PassedKey struct {
	Up    int // how many calls above the resource's module
	Entry int
}

// Node is a unit at one place of the module tree.
type Node struct {
	Config   *config.Node
	Unit     *Unit
	Parent   *Node
	Call     int32 // index of the call in the parent's unit
	Base     Decl
	Children []*Node // by the order of calls in the unit
}

// Decl is the declaration that a definition of the unit is at this node, by its index.
func (n *Node) Decl(i int32) Decl { return n.Base + Decl(i) }

// Decls lists all declarations; a Decl is an index into it.
func (p *Program) Decls() []*Declaration { return p.decls }

// Refs lists what d refers to directly, implicit references included, one entry for each target
// and set of instances.
func (p *Program) Refs(d Decl) []Ref { return p.refs[d] }

// Call is where a module is called.
func (p *Program) Call(m addr.Module) (diag.Range, bool) {
	n := p.nodes[m]
	if n == nil || n.Parent == nil {
		return diag.Range{}, false
	}
	return n.Config.Call.Range, true
}

// Tree is the configuration that was compiled.
func (p *Program) Tree() *config.Tree { return p.tree }

// Resource finds a resource's declaration.
func (p *Program) Resource(r addr.Resource) (*Declaration, bool) {
	d, ok := p.resources[r]
	if !ok {
		return nil, false
	}
	return p.decls[d], true
}

// Lookup finds a variable, local, output, call, whole or check.
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

// ProviderConfig finds a provider configuration where it is declared, implied ones of the root
// included.
func (p *Program) ProviderConfig(c addr.ProviderConfig) (*Declaration, bool) {
	d, ok := p.configs[c]
	if !ok {
		return nil, false
	}
	return p.decls[d], true
}

// ProviderOf is the provider configuration that a resource declaration uses.
func (p *Program) ProviderOf(d Decl) Decl { return p.uses[d] }

// Root is the root module.
func (p *Program) Root() *Node { return p.root }

// Nodes lists the modules of the tree, each at every place where it stands, in no order.
func (p *Program) Nodes() iter.Seq[*Node] { return maps.Values(p.nodes) }

// Node finds a module in the tree; nil if there is none.
func (p *Program) Node(m addr.Module) *Node { return p.nodes[m] }

// NodeOf is where a declaration stands; nil for implied provider configurations.
func (p *Program) NodeOf(d Decl) *Node { return p.at[d] }

// Endless reports whether a declaration is part of a cycle or needs one, so that it cannot be
// evaluated.
func (p *Program) Endless(d Decl) bool { return p.endless[d] }

// Cyclic reports whether there are cycles.
func (p *Program) Cyclic() bool { return len(p.endless) > 0 }

// SetEndless says which declarations are part of a cycle or need one.
func (p *Program) SetEndless(ds map[Decl]bool) { p.endless = ds }

// Moves lists the moved blocks of all modules in the order in which they are carried out.
func (p *Program) Moves() []*Move { return p.moves }

// SetMoves says in which order moved blocks are carried out.
func (p *Program) SetMoves(ms []*Move) { p.moves = ms }

// Def is a declaration as its unit has it; nil for implied provider configurations.
func (p *Program) Def(d Decl) *Def {
	n := p.at[d]
	if n == nil {
		return nil
	}
	return n.Unit.Defs[d-n.Base]
}

// moduleOf is "in the root module" or "in module.a".
func moduleOf(n *Node) string {
	if n.Config.Path.IsRoot() {
		return "in the root module"
	}
	return "in " + n.Config.Path.String()
}

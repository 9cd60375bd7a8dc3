package program

import (
	"iter"
	"maps"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Decl is the index of a declaration in its Program: dense, over the whole module tree.
type Decl uint32

// Kind says what a declaration declares.
type Kind uint8

// The kinds.
const (
	Variable Kind = iota
	Local
	Output
	Call           // a module call: its repetition
	ModuleContents // everything inside a module call: what depends_on = [module.x] means
	Resource       // of any mode
	Provider       // a provider configuration
	Check
)

func (k Kind) String() string {
	return [...]string{"variable", "local", "output", "call", "whole", "resource", "provider", "check"}[k]
}

// Declaration is one named thing in one module of the tree.
type Declaration struct {
	ID       Decl
	Kind     Kind
	Module   addr.Module // where it stands; of Call and ModuleContents: the module that holds the call
	Name     string      // of a variable, local, output, call or check
	Resource addr.Resource
	Provider addr.ProviderConfig // also of implied ones: empty default configurations of the root
	Range    diag.Range

	// At most one of these is set, by Kind.
	Var  *config.Variable
	Out  *config.Output
	Mod  *config.Call
	Res  *config.Resource
	Prov *config.Provider
}

// String is the address as users write it, with its module before it.
func (d *Declaration) String() string {
	switch d.Kind {
	case Resource:
		return d.Resource.String()
	case Provider:
		return d.Provider.String()
	}
	local := map[Kind]string{Variable: "var.", Local: "local.", Output: "output.", Call: "module.", ModuleContents: "module.", Check: "check."}[d.Kind] + d.Name
	if d.Module.IsRoot() {
		return local
	}
	return d.Module.String() + "." + local
}

// Use is a set of reasons why a reference is there.
type Use uint16

// The reasons.
const (
	ByValue     Use = 1 << iota // body or expression
	ByRepeat                    // own count, for_each, enabled
	ByDepends                   // own depends_on
	ByModule                    // the enclosing call: its repetition and depends_on
	ByProvider                  // the provider configuration used
	ByCondition                 // conditions and their messages
	ByTrigger                   // replace_triggered_by
	ByLifecycle                 // other lifecycle expressions
	ByProvision                 // provisioners and connections
	ByImport                    // import blocks
	ByFunction                  // functions of a configured provider
	ByNull                      // inside ephemeralasnull: its type, not its value
)

// KeyHint says which instances of its target a reference means.
type KeyHint uint8

// The hints.
const (
	AllKeys KeyHint = iota // all instances, or it is not known which
	Same                   // the one with the referrer's own key: [count.index], [each.key]
	Fixed                  // the one with the key in Ref.Fixed
	Single                 // the target is not repeated
)

// Ref is a reference from one declaration to another.
type Ref struct {
	To    Decl
	Use   Use
	Key   KeyHint
	Fixed addr.Key
	Range diag.Range // where the first of them stands
}

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

// PartRefs lists what one provisioner or connection of a resource refers to directly.
func (p *Program) PartRefs(d Decl, part any) []Ref {
	n := p.at[d]
	l := &linker{p: p, bag: &diag.Bag{}}
	l.uses(n, n.Unit.Defs[d-n.Base].parts[part])
	return l.list
}

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

// RepeatKind says what makes instances.
type RepeatKind uint8

// The kinds of repetition.
const (
	Once    RepeatKind = iota // one instance without a key
	Count                     // [0], [1], …
	ForEach                   // ["a"], …
	Enabled                   // none, or one without a key
)

// RepeatOf says what makes the instances of a resource, from its declaration alone.
func RepeatOf(r *config.Resource) RepeatKind { return RepeatKindOf(r.Repeat) }

// Repeat says what makes the instances of a resource, a module call or a provider configuration.
func (d *Declaration) Repeat() RepeatKind {
	switch {
	case d.Kind == Resource:
		return RepeatKindOf(d.Res.Repeat)
	case d.Kind == Call:
		return RepeatKindOf(d.Mod.Repeat)
	case d.Kind == Provider && d.Prov != nil && d.Prov.ForEach != nil:
		return ForEach
	}
	return Once
}

// RepeatKindOf says what makes instances, from the arguments that do.
func RepeatKindOf(r config.Repeat) RepeatKind {
	switch {
	case r.Count != nil:
		return Count
	case r.ForEach != nil:
		return ForEach
	case r.Enabled != nil:
		return Enabled
	}
	return Once
}

// Move is a moved block where it stands: what happens in every instance of that module.
type Move struct {
	From, To addr.Target
	In       addr.Module
	Range    diag.Range
}

// Whole reports whether it is about a resource or a module call with all its instances. Where one
// end has a key, each is about one instance.
func (m *Move) Whole() bool { return !m.From.KeyedItself() && !m.To.KeyedItself() }

// Moves lists the moved blocks of all modules in the order in which they are carried out.
func (p *Program) Moves() []*Move { return p.moves }

// SetMoves says in which order moved blocks are carried out.
func (p *Program) SetMoves(ms []*Move) { p.moves = ms }

// MovedStill is the error about a move of what is declared where it was.
func MovedStill(b *Move, what, from string, at diag.Range) diag.Diagnostic {
	return diag.Errorf("Moved object still exists", "This block says that %s moved to %s, but that %s is still declared. Declare it under its new name only, or remove the moved block.", from, b.To, what).At(b.Range).See("declared here", at)
}

// Def is a declaration as its unit has it; nil for implied provider configurations.
func (p *Program) Def(d Decl) *Def {
	n := p.at[d]
	if n == nil {
		return nil
	}
	return n.Unit.Defs[d-n.Base]
}

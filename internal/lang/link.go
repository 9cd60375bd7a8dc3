package lang

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// link turns the uses of the units into references between declarations of the tree.
func (p *Program) link(bag *diag.Bag) bool {
	p.refs = make([][]Ref, len(p.decls))
	l := &linker{p: p, bag: bag, ok: true, last: make([]int32, len(p.decls)), imports: p.importsByResource()}
	for _, d := range p.decls {
		l.declaration(d)
	}
	return l.ok
}

// linker collects the references of one declaration after another. For each target it remembers
// where in the list the last entry for it stands, so that merging needs no map.
type linker struct {
	p       *Program
	bag     *diag.Bag
	ok      bool
	list    []Ref
	prev    []int32 // of each entry, the one before it for the same target, plus one
	imports map[addr.Resource][]placedImport
	own     Decl    // the declaration itself
	last    []int32 // of each target, its last entry, plus one; nil: nothing is merged
}

func (l *linker) declaration(d *Declaration) {
	l.list, l.prev, l.own = l.list[:0], l.prev[:0], d.ID
	if int(d.ID) >= len(l.p.at) || l.p.at[d.ID] == nil {
		return // an implied provider
	}
	n := l.p.at[d.ID]
	u := n.unit.decls[d.ID-n.base]
	l.uses(n, u.uses)
	l.functions(n, u.functions)
	switch d.Kind {
	case Variable:
		l.variable(n, d)
	case Whole:
		l.whole(n, u)
	case Resource:
		l.resource(d)
	}
	if n.parent != nil {
		l.add(Ref{To: n.parent.decl(n.call), Use: ByModule, Key: AllKeys, Range: n.cfg.Call.Range})
	}
	for _, r := range l.list {
		l.last[r.To] = 0
	}
	l.p.refs[d.ID] = slices.Clone(l.list)
}

// resource adds the provider configuration that a resource uses, and what the import blocks for it
// refer to, from whatever module they stand in.
func (l *linker) resource(d *Declaration) {
	to := l.p.uses[d.ID]
	hint := Single
	if to != noDecl && l.p.decls[to].Prov != nil && l.p.decls[to].Prov.ForEach != nil {
		hint = AllKeys
	}
	l.add(Ref{To: to, Use: ByProvider, Key: hint, Range: d.Range})
	for _, im := range l.imports[d.Resource] {
		l.uses(im.n, im.block.d.uses)
	}
}

// importsByResource finds the import blocks for each resource.
func (p *Program) importsByResource() map[addr.Resource][]placedImport {
	out := map[addr.Resource][]placedImport{}
	nodes := slices.SortedFunc(maps.Values(p.nodes), func(a, b *node) int { return cmp.Compare(a.base, b.base) })
	for _, n := range nodes {
		for _, b := range n.unit.imports {
			r := b.target(n.cfg.Path)
			out[r] = append(out[r], placedImport{n, b})
		}
	}
	return out
}

type placedImport struct {
	n     *node
	block *importBlock
}

// uses adds what a unit's declaration refers to, seen from a node.
func (l *linker) uses(n *node, uses []use) {
	for _, u := range uses {
		to := n.decl(u.local)
		l.add(Ref{To: to, Use: u.why, Key: u.hint, Fixed: u.fixed, Range: u.at})
		if n.unit.decls[u.local].kind == Call {
			l.outputs(n, u)
		}
	}
}

// outputs adds the outputs that a reference to a module call reads.
func (l *linker) outputs(n *node, u use) {
	child := n.children[n.unit.decls[u.local].nth]
	if child == nil {
		return
	}
	if u.output == "" {
		for i := range child.unit.outputs() {
			l.add(Ref{To: child.decl(i), Use: u.why, Key: u.hint, Fixed: u.fixed, Range: u.at})
		}
		return
	}
	i, ok := child.unit.index(Output, u.output)
	if !ok {
		l.ok = false
		if child.unit.mod.MayDeclare(u.output) {
			return
		}
		l.bag.Add(diag.Errorf("Unsupported attribute", "This object does not have an attribute named %q.%s", u.output,
			noOutputs(child, u.output)).At(u.at))
		return
	}
	l.add(Ref{To: child.decl(i), Use: u.why, Key: u.hint, Fixed: u.fixed, Range: u.at})
}

func noOutputs(child *node, name string) string {
	names := slices.Collect(maps.Keys(child.unit.byName[Output]))
	if hint := diag.DidYouMean(name, names); hint != "" {
		return hint
	}
	return fmt.Sprintf(" Module %q declares no output of that name.", child.cfg.Call.Name)
}

// variable adds what the argument for it in the call refers to, in the caller's module.
func (l *linker) variable(n *node, d *Declaration) {
	if n.parent == nil {
		return
	}
	if a := n.parent.unit.decls[n.call].args[d.Name]; a != nil {
		l.uses(n.parent, a.uses)
		l.functions(n.parent, a.functions)
	}
}

// whole adds everything inside a called module.
func (l *linker) whole(n *node, u *decl) {
	call := n.unit.calls[u.nth]
	l.add(Ref{To: n.decl(call), Use: ByDepends, Key: AllKeys, Range: u.at})
	child := n.children[u.nth]
	if child == nil {
		return
	}
	for _, d := range child.unit.decls {
		switch d.kind {
		case Resource, Output, Variable, Whole:
			l.add(Ref{To: child.decl(d.index), Use: ByDepends, Key: AllKeys, Range: u.at})
		}
	}
}

// add puts a reference into the list, or its reasons onto the entry that is there.
func (l *linker) add(r Ref) {
	if r.To == noDecl {
		return
	}
	if l.last == nil { // a few references, of which none are merged
		l.list = append(l.list, r)
		return
	}
	if r.To == l.own && r.Use == ByProvision && (r.Key == Single || r.Key == Same) {
		return // by the time a provisioner runs its own object is there
	}
	for i := l.last[r.To]; i > 0; i = l.prev[i-1] {
		if have := &l.list[i-1]; have.Key == r.Key && have.Fixed == r.Fixed {
			have.Use |= r.Use
			return
		}
	}
	l.list, l.prev = append(l.list, r), append(l.prev, l.last[r.To])
	l.last[r.To] = int32(len(l.list))
}

// inputs lists the arguments of a module call, those of an escape block included.
func inputs(b hcl.Body, c *compiler) []*hcl.Attribute {
	if b == nil {
		return nil
	}
	content, rest, _ := b.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "_"}}})
	attrs, diags := rest.JustAttributes()
	c.hcl(diags)
	all := inOrder(attrs)
	for _, block := range content.Blocks {
		more, diags := block.Body.JustAttributes()
		c.hcl(diags)
		all = append(all, inOrder(more)...)
	}
	return all
}

func (c *compiler) hcl(ds hcl.Diagnostics) {
	if !c.bag.HCL(ds) {
		c.failed = true
	}
}

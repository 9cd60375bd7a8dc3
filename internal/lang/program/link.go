package program

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
)

// link makes the references between the declarations of the whole tree from the references inside each compiled module.
// It returns false if it reports an error, or if a call of a provider function names a configuration that does not
// exist.
func (p *Program) link(bag *diag.Bag) bool {
	p.refs = make([][]Ref, len(p.decls))
	l := &linker{p: p, bag: bag, ok: true, last: make([]int32, len(p.decls)), imports: p.importsByResource()}
	for _, d := range p.decls {
		l.declaration(d)
	}
	return l.ok
}

// linker collects the references of one declaration after another. For each target it keeps the index of the last entry
// in list, so that add finds equal entries without a map.
type linker struct {
	p       *Program
	bag     *diag.Bag
	ok      bool
	list    []Ref
	prev    []int32 // for each entry: the index of the previous entry for the same target, plus one
	imports map[addr.Resource][]placedImport
	own     Decl    // the declaration whose references are being collected
	last    []int32 // for each target: the index of its last entry, plus one; nil means that equal entries are not merged
}

func (l *linker) declaration(d *Declaration) {
	l.list, l.prev, l.own = l.list[:0], l.prev[:0], d.ID
	if int(d.ID) >= len(l.p.at) || l.p.at[d.ID] == nil {
		return // an implied provider configuration has no references
	}
	n := l.p.at[d.ID]
	u := n.Unit.Defs[d.ID-n.Base]
	l.uses(n, u.refs.uses)
	l.functions(n, u.refs.functions)
	switch d.Kind {
	case Variable:
		l.variable(n, d)
	case ModuleContents:
		l.whole(n, u)
	case Resource:
		l.resource(d)
	case Action:
		l.provider(d)
	}
	if n.Parent != nil {
		l.add(Ref{To: n.Parent.Decl(n.Call), Use: ByModule, Key: AllKeys, Range: n.Config.Call.Range})
	}
	for _, r := range l.list {
		l.last[r.To] = 0
	}
	l.p.refs[d.ID] = slices.Clone(l.list)
}

// resource adds references to the provider configuration of a resource, and to the provider configurations and
// functions of the actions that it may invoke. It also adds the references of the import blocks for the resource, whose
// names are resolved in the module of the import block.
func (l *linker) resource(d *Declaration) {
	l.provider(d)
	for _, a := range l.p.Triggered(d.ID) {
		l.add(Ref{To: l.p.uses[a], Use: ByAction, Key: AllKeys, Range: l.p.decls[a].Range})
		l.functions(l.p.at[a], l.p.Def(a).refs.functions)
	}
	for _, im := range l.imports[d.Resource] {
		l.uses(im.n, im.block.Def.refs.uses)
	}
}

// provider adds a reference to the provider configuration that a resource or an action uses.
func (l *linker) provider(d *Declaration) {
	to := l.p.uses[d.ID]
	hint := Single
	if to != NoDecl && l.p.decls[to].Prov != nil && l.p.decls[to].Prov.ForEach != nil {
		hint = AllKeys
	}
	l.add(Ref{To: to, Use: ByProvider, Key: hint, Range: d.Range})
}

// Triggered returns the actions that a resource may invoke, without duplicates. It returns nil if d is not a resource.
func (p *Program) Triggered(d Decl) []Decl {
	if p.decls[d].Kind != Resource {
		return nil
	}
	n := p.at[d]
	var out []Decl
	for _, t := range n.Unit.Defs[d-n.Base].Lifecycle.ActionTriggers {
		for _, x := range t.Invokes {
			if a := n.Decl(x.Local); !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// Invoked returns the action that an action_trigger of a resource names.
func Invoked(p *Program, resource Decl, ref ActionRef) Decl { return p.at[resource].Decl(ref.Local) }

// Callers returns the resources that may invoke an action. If the configuration of the action does not use the object
// that invokes it, the result is nil and false, because it does not matter which resource invokes the action.
func Callers(p *Program, action Decl) (list []Decl, known bool) {
	n := p.at[action]
	if !n.Unit.Defs[action-n.Base].refs.caller {
		return nil, false
	}
	for i := range n.Unit.Defs {
		if d := n.Decl(int32(i)); slices.Contains(p.Triggered(d), action) {
			list = append(list, d)
		}
	}
	return list, true
}

// importsByResource returns the import blocks for each resource, in the order of the modules.
func (p *Program) importsByResource() map[addr.Resource][]placedImport {
	out := map[addr.Resource][]placedImport{}
	nodes := slices.SortedFunc(maps.Values(p.nodes), func(a, b *Node) int { return cmp.Compare(a.Base, b.Base) })
	for _, n := range nodes {
		for _, b := range n.Unit.Imports {
			r := b.Target(n.Config.Path)
			out[r] = append(out[r], placedImport{n, b})
		}
	}
	return out
}

type placedImport struct {
	n     *Node
	block *ImportBlock
}

// uses adds the references in uses, which belong to a declaration of the module at the node n. For a reference to a
// module call, it also adds references to the outputs that the reference reads.
func (l *linker) uses(n *Node, uses []use) {
	for _, u := range uses {
		to := n.Decl(u.local)
		l.add(Ref{To: to, Use: u.why, Key: u.hint, Fixed: u.fixed, Range: u.at})
		if n.Unit.Defs[u.local].Kind == Call {
			l.outputs(n, u)
		}
	}
}

// outputs adds references to the outputs that a reference to a module call reads: the output that it names, or all
// outputs.
func (l *linker) outputs(n *Node, u use) {
	child := n.Children[n.Unit.Defs[u.local].Nth]
	if child == nil {
		return
	}
	if u.output == "" {
		for i := range child.Unit.outputs() {
			l.add(Ref{To: child.Decl(i), Use: u.why, Key: u.hint, Fixed: u.fixed, Range: u.at})
		}
		return
	}
	if i, ok := child.Unit.Index(Output, u.output); ok {
		l.add(Ref{To: child.Decl(i), Use: u.why, Key: u.hint, Fixed: u.fixed, Range: u.at})
	} // a missing output is no error yet, because the reference may be inside try or in a branch that is not evaluated
}

// variable adds the references of the argument that sets a variable, resolved in the module of the call. It adds none
// for the root module, or if the call does not set the variable.
func (l *linker) variable(n *Node, d *Declaration) {
	if n.Parent == nil {
		return
	}
	if a := n.Parent.Unit.Defs[n.Call].Inputs.Args[d.Name]; a != nil {
		l.uses(n.Parent, a.uses)
		l.functions(n.Parent, a.functions)
	}
}

// whole adds references from the contents of a module call to the call, to the resources, variables, outputs and checks
// of the called module, and to the contents of the modules that it calls.
func (l *linker) whole(n *Node, u *Def) {
	call := n.Unit.Calls[u.Nth]
	l.add(Ref{To: n.Decl(call), Use: ByDepends, Key: AllKeys, Range: u.At})
	child := n.Children[u.Nth]
	if child == nil {
		return
	}
	for _, d := range child.Unit.Defs {
		switch d.Kind {
		case Resource, Output, Variable, Check, ModuleContents:
			l.add(Ref{To: child.Decl(d.Index), Use: ByDepends, Key: AllKeys, Range: u.At})
		}
	}
}

// add adds a reference to the list. If the list has an entry for the same target and instances, add adds the reasons to
// this entry instead (but not for PartRefs and RemovedRefs). It omits a reference to NoDecl, and a reference from a
// provisioner to its own resource.
func (l *linker) add(r Ref) {
	if r.To == NoDecl {
		return
	}
	if l.last == nil { // PartRefs does not merge entries, because its list is short
		l.list = append(l.list, r)
		return
	}
	if r.To == l.own && r.Use == ByProvision && (r.Key == Single || r.Key == Same) {
		return // a provisioner runs after its own object is created, so this is no dependency
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

// PartRefs returns the direct references of one provisioner or connection of a resource.
func (p *Program) PartRefs(d Decl, part any) []Ref {
	n := p.at[d]
	l := &linker{p: p, bag: &diag.Bag{}}
	l.uses(n, n.Unit.Defs[d-n.Base].refs.parts[part])
	return l.list
}

// RemovedRefs returns the references in the provisioners of the removed blocks of a module.
func RemovedRefs(p *Program, n *Node) []Ref {
	l := &linker{p: p, bag: &diag.Bag{}}
	l.uses(n, n.Unit.removed)
	return l.list
}

// functions adds references for calls of provider functions that name a configuration by its alias. It sets l.ok to
// false for a call whose configuration does not exist or has for_each, and reports an error. It reports no missing
// configuration if the module has a part that could not be read, which may declare it.
func (l *linker) functions(n *Node, calls []*expr.ProviderCall) {
	for _, e := range calls {
		if e.Alias == "" {
			continue
		}
		if d, _ := l.p.find(n, config.ProviderName{Local: e.Local, Alias: e.Alias}); d != NoDecl {
			if prov := l.p.decls[d].Prov; prov != nil && prov.ForEach != nil {
				l.ok = false
				l.bag.Add(diag.Errorf("Missing provider instance key", "The configuration %q has for_each set, and a function call cannot select an instance. Use a provider configuration without for_each.", e.Local+"."+e.Alias).At(e.NameRange).See("declared here", prov.Range))
				continue
			}
			l.add(Ref{To: d, Use: ByFunction, Key: AllKeys, Range: e.NameRange})
			continue
		}
		l.ok = false
		if n.Unit.Module.Unreadable() {
			continue
		}
		l.bag.Add(diag.Errorf("Provider configuration not present", "There is no configuration %q %s. Add it, or call the function through another configuration.", e.Local+"."+e.Alias, moduleOf(n)).At(e.NameRange))
	}
}

package engine

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
)

// changeKind is how much a resource changes, for those who wait to read what depends on it.
type changeKind uint8

const (
	unchanged changeKind = iota
	updated
	remade // created or replaced
)

// within is a declared resource in a module instance, or in the modules below it.
type within struct {
	decl lang.Decl
	in   addr.ModuleInstance
}

// noteChange tells those who wait for a resource how much an object of it changes.
func (p *planner) noteChange(d lang.Decl, c *plan.Change) {
	switch c.Action {
	case plan.NoOp:
	case plan.Update:
		p.note(d, c.Object.Module, updated)
	default:
		p.note(d, c.Object.Module, remade)
	}
}

// noteDeferred tells those who wait for a data source that it is not read yet: what it waits for
// changes, or is not known.
func (p *planner) noteDeferred(d lang.Decl, inst addr.Instance, why plan.Reason) {
	kind := remade
	if why == plan.ReadDependencyPending && !p.dependencyChanges(d, inst.Module, remade) {
		kind = updated
	}
	p.note(d, inst.Module, kind)
}

// note keeps a change: from the object's own module instance up, each knows the most that changes
// below it.
func (p *planner) note(d lang.Decl, at addr.ModuleInstance, kind changeKind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for in := at; p.changes[within{d, in}] < kind; in = in.Parent() {
		p.changes[within{d, in}] = kind
	}
}

// changed is how much a resource changes as seen from a module instance. Of the calls that both
// stand under only that one instance is looked at, as both peers do; of others, all.
func (p *planner) changed(d lang.Decl, from addr.ModuleInstance) changeKind {
	for at := p.run.prog.Decls()[d].Module; !at.Under(from.Module()); {
		from = from.Parent()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changes[within{d, from}]
}

// pending is why a data source cannot be read yet (the pending rule, design section 5).
func (p *planner) pending(d *lang.Declaration, inst addr.Instance, config mark.Value, u declared.Use) plan.Reason {
	switch {
	case !config.Raw.IsWhollyKnown() || p.run.sessions.unknown(u, lang.After):
		return plan.ReadConfigUnknown
	case p.dependencyChanges(d.ID, inst.Module, updated):
		return plan.ReadDependencyPending
	}
	return plan.NoReason
}

// dependencyChanges reports whether something that an instance of d must wait for changes at least
// that much: in depends_on, its own or of a call around it, where a data source that waits counts as
// what it waits for; or a managed resource that it names directly.
func (p *planner) dependencyChanges(d lang.Decl, from addr.ModuleInstance, least changeKind) bool {
	seen := map[lang.Decl]bool{}
	for _, ref := range p.run.prog.Refs(d) {
		to := p.run.prog.Decls()[ref.To]
		if ref.Use&(lang.ByDepends|lang.ByModule) != 0 && p.changesUnder(ref, from, least, seen) {
			return true
		}
		if ref.Use&^(lang.ByProvider|lang.ByModule) != 0 && to.Kind == lang.Resource && to.Resource.Mode == addr.Managed && p.changed(ref.To, from) >= least {
			return true
		}
	}
	return false
}

// changesUnder follows depends_on through modules and values to the resources behind them. Of an
// enclosing call only its depends_on counts, not its repetition.
func (p *planner) changesUnder(ref lang.Ref, from addr.ModuleInstance, least changeKind, seen map[lang.Decl]bool) bool {
	d := ref.To
	info := p.run.prog.Decls()[d]
	if info.Kind == lang.Resource {
		return p.changed(d, from) >= least
	}
	if seen[d] {
		return false
	}
	seen[d] = true
	for _, next := range p.run.prog.Refs(d) {
		if info.Kind == lang.Call && next.Use&(lang.ByDepends|lang.ByModule) == 0 {
			continue
		}
		if info.Kind == lang.Provider {
			continue
		}
		if p.changesUnder(next, from, least, seen) {
			return true
		}
	}
	return false
}

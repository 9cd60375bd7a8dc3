package planning

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
)

// outcomes are what became of declarations in a plan walk, for those that depend on them: which of them change,
// and of which some instance has no value.
type outcomes struct {
	prog   *program.Program
	failed []atomic.Bool // by declaration

	mu      sync.Mutex
	changes map[within]changeKind
	behind  map[program.Decl][]program.Decl // see resourcesBehind
}

// fail notes that some instance of a declaration has no value.
func (o *outcomes) fail(d program.Decl) { o.failed[d].Store(true) }

// changeKind is how much a resource changes, for what waits to be read because it depends on it.
type changeKind uint8

const (
	unchanged changeKind = iota
	updated
	remade // created or replaced
)

// within is a declared resource in a module instance, or in the modules below it.
type within struct {
	decl program.Decl
	in   addr.ModuleInstance
}

// noteChange tells those that wait for a resource how much an object of it changes.
func (o *outcomes) noteChange(d program.Decl, c *plan.Change) {
	switch c.Action {
	case plan.NoOp:
	case plan.Update:
		o.note(d, c.Object.Module, updated)
	default:
		o.note(d, c.Object.Module, remade)
	}
}

// noteDeferred tells those that wait for a data source that it is not read yet: what it waits for
// changes, or is not known.
func (o *outcomes) noteDeferred(d program.Decl, inst addr.Instance, why plan.Reason) {
	kind := remade
	if why == plan.ReadDependencyPending && !o.dependencyChanges(d, inst.Module, remade) {
		kind = updated
	}
	o.note(d, inst.Module, kind)
}

// note keeps a change: from the object's own module instance up, each knows the most that changes
// below it.
func (o *outcomes) note(d program.Decl, at addr.ModuleInstance, kind changeKind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for in := at; o.changes[within{d, in}] < kind; in = in.Parent() {
		o.changes[within{d, in}] = kind
	}
}

// changed is how much a resource changes as seen from a module instance. Of the calls that both
// stand under only that one instance is looked at, as Terraform and OpenTofu do; of others, all.
func (o *outcomes) changed(d program.Decl, from addr.ModuleInstance) changeKind {
	for at := o.prog.Decls()[d].Module; !at.Under(from.Module()); {
		from = from.Parent()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.changes[within{d, from}]
}

// dependencyChanges reports whether something that an instance of d must wait for changes at least
// that much: in depends_on, its own or of a call around it, where a data source that waits counts as
// what it waits for; or a managed resource that it names directly.
func (o *outcomes) dependencyChanges(d program.Decl, from addr.ModuleInstance, least changeKind) bool {
	seen := map[program.Decl]bool{}
	for _, ref := range o.prog.Refs(d) {
		to := o.prog.Decls()[ref.To]
		if ref.Use&(program.ByDepends|program.ByModule) != 0 && o.changesUnder(ref, from, least, seen) {
			return true
		}
		if ref.Use&^(program.ByProvider|program.ByModule) != 0 && to.Kind == program.Resource && to.Resource.Mode == addr.Managed && o.changed(ref.To, from) >= least {
			return true
		}
	}
	return false
}

// changesBehind reports whether a managed resource changes that an instance of d depends on, however
// indirectly.
func (o *outcomes) changesBehind(d program.Decl, from addr.ModuleInstance) bool {
	return slices.ContainsFunc(o.resourcesBehind(d), func(r program.Decl) bool { return o.changed(r, from) > unchanged })
}

// resourcesBehind are the managed resources that a declaration depends on, however indirectly.
func (o *outcomes) resourcesBehind(d program.Decl) []program.Decl {
	o.mu.Lock()
	defer o.mu.Unlock()
	if out, ok := o.behind[d]; ok {
		return out
	}
	var out []program.Decl
	seen := map[program.Decl]bool{d: true}
	for queue := []program.Decl{d}; len(queue) > 0; queue = queue[1:] {
		for _, ref := range o.prog.Refs(queue[0]) {
			if seen[ref.To] {
				continue
			}
			seen[ref.To] = true
			queue = append(queue, ref.To)
			if to := o.prog.Decls()[ref.To]; to.Kind == program.Resource && to.Resource.Mode == addr.Managed {
				out = append(out, ref.To)
			}
		}
	}
	o.behind[d] = out
	return out
}

// changesUnder follows depends_on through modules and values to the resources behind them. Of an
// enclosing call only its depends_on counts, not its repetition.
func (o *outcomes) changesUnder(ref program.Ref, from addr.ModuleInstance, least changeKind, seen map[program.Decl]bool) bool {
	d := ref.To
	info := o.prog.Decls()[d]
	if info.Kind == program.Resource {
		return o.changed(d, from) >= least
	}
	if seen[d] {
		return false
	}
	seen[d] = true
	for _, next := range o.prog.Refs(d) {
		if info.Kind == program.Call && next.Use&(program.ByDepends|program.ByModule) == 0 {
			continue
		}
		if info.Kind == program.Provider {
			continue
		}
		if o.changesUnder(next, from, least, seen) {
			return true
		}
	}
	return false
}

// dependencyFailed reports whether something that the declaration depends on by depends_on, its
// own or that of a call around it, has no value. Other failures travel with values.
func (o *outcomes) dependencyFailed(d program.Decl) bool {
	for _, ref := range o.prog.Refs(d) {
		if ref.Use&(program.ByDepends|program.ByModule) != 0 && o.anyFailed(ref.To, map[program.Decl]bool{}) {
			return true
		}
	}
	return false
}

func (o *outcomes) anyFailed(d program.Decl, seen map[program.Decl]bool) bool {
	if o.failed[d].Load() {
		return true
	}
	if seen[d] || o.prog.Decls()[d].Kind == program.Resource {
		return false
	}
	seen[d] = true
	for _, ref := range o.prog.Refs(d) {
		if o.anyFailed(ref.To, seen) {
			return true
		}
	}
	return false
}

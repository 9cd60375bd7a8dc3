package planning

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
)

// outcomes records the results for declarations while the graph of a plan runs: which declarations change, and which
// have an instance without a value. The declarations that depend on them are decided with these results.
type outcomes struct {
	prog   *program.Program
	failed []atomic.Bool // by declaration: true if an instance of the declaration has no value

	mu      sync.Mutex
	changes map[within]changeKind           // how much each resource changes; without an entry: unchanged
	behind  map[program.Decl][]program.Decl // the results of resourcesBehind, by declaration
}

// fail records that an instance of a declaration has no value.
func (o *outcomes) fail(d program.Decl) { o.failed[d].Store(true) }

// changeKind is how much a resource changes. It determines whether apply, and not plan, reads data sources that depend
// on the resource (pending), and whether apply opens ephemeral resources that depend on it.
type changeKind uint8

const (
	unchanged changeKind = iota
	updated
	remade // the object is created, replaced, destroyed or forgotten, or apply reads the data source for another reason than updates
)

// within is a declaration in a module instance, including all module instances below it.
type within struct {
	decl program.Decl
	in   addr.ModuleInstance
}

// noteChange records how much the change c changes the resource d.
func (o *outcomes) noteChange(d program.Decl, c *plan.Change) {
	switch c.Action {
	case plan.NoOp:
	case plan.Update:
		o.note(d, c.Object.Module, updated)
	default:
		o.note(d, c.Object.Module, remade)
	}
}

// notePending records that apply reads an instance of a data source. The instance counts as updated if it waits only
// for updates, and otherwise as remade.
func (o *outcomes) notePending(d program.Decl, inst addr.Instance, why plan.Reason) {
	kind := remade
	if why == plan.ReadDependencyPending && !o.dependencyChanges(d, inst.Module, remade) {
		kind = updated
	}
	o.note(d, inst.Module, kind)
}

// note records a change of a resource for a module instance and for all module instances around it. Each keeps the
// largest change.
func (o *outcomes) note(d program.Decl, at addr.ModuleInstance, kind changeKind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for in := at; o.changes[within{d, in}] < kind; in = in.Parent() {
		o.changes[within{d, in}] = kind
	}
}

// changed returns how much the resource d changes, as seen from another module instance. It considers the instances of
// d below the innermost module instance that contains both. Terraform and OpenTofu use this rule, too.
func (o *outcomes) changed(d program.Decl, from addr.ModuleInstance) changeKind {
	for at := o.prog.Decls()[d].Module; !at.Under(from.Module()); {
		from = from.Parent()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.changes[within{d, from}]
}

// dependencyChanges reports whether a dependency of an instance of d changes at least as much as least. The parameter
// from is the module instance of that instance. Only these dependencies count:
//
//   - the names in depends_on, of d or of a module call around d. A data source that apply will read counts as changed,
//     as much as the dependency for which it waits;
//   - the managed resources to which d refers directly.
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

// changesBehind reports whether a managed resource changes on which d depends, directly or indirectly.
func (o *outcomes) changesBehind(d program.Decl, from addr.ModuleInstance) bool {
	return slices.ContainsFunc(o.resourcesBehind(d), func(r program.Decl) bool { return o.changed(r, from) > unchanged })
}

// resourcesBehind returns the managed resources on which a declaration depends, directly or indirectly.
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

// changesUnder reports whether a reference in depends_on leads to a resource that changes at least as much as least. It
// follows the references of modules and of values such as locals. For a module call, it follows only the depends_on of
// the call, not its count or for_each.
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

// dependencyFailed reports whether a dependency that depends_on names has no value. depends_on may be in the
// declaration or in a module call around it. A failure of another dependency needs no check here: the evaluation of its
// value fails.
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

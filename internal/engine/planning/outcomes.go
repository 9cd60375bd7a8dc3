package planning

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
)

// outcomes are the results for declarations in a plan walk: which declarations change, and which have an instance
// without a value. The declarations that depend on them use the results.
type outcomes struct {
	prog   *program.Program
	failed []atomic.Bool // by declaration

	mu      sync.Mutex
	changes map[within]changeKind
	behind  map[program.Decl][]program.Decl // see resourcesBehind
}

// fail records that an instance of a declaration has no value.
func (o *outcomes) fail(d program.Decl) { o.failed[d].Store(true) }

// changeKind is how much a resource changes. It determines whether data sources that depend on the resource are pending.
type changeKind uint8

const (
	unchanged changeKind = iota
	updated
	remade // created or replaced
)

// within is a declared resource in a module instance and the module instances below it.
type within struct {
	decl program.Decl
	in   addr.ModuleInstance
}

// noteChange records how much an object of a resource changes.
func (o *outcomes) noteChange(d program.Decl, c *plan.Change) {
	switch c.Action {
	case plan.NoOp:
	case plan.Update:
		o.note(d, c.Object.Module, updated)
	default:
		o.note(d, c.Object.Module, remade)
	}
}

// notePending records that the reading of a data source is pending, because its dependencies change or its
// configuration is unknown.
func (o *outcomes) notePending(d program.Decl, inst addr.Instance, why plan.Reason) {
	kind := remade
	if why == plan.ReadDependencyPending && !o.dependencyChanges(d, inst.Module, remade) {
		kind = updated
	}
	o.note(d, inst.Module, kind)
}

// note records a change for the module instance of the object and all its ancestors. Each of them keeps the largest
// change.
func (o *outcomes) note(d program.Decl, at addr.ModuleInstance, kind changeKind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for in := at; o.changes[within{d, in}] < kind; in = in.Parent() {
		o.changes[within{d, in}] = kind
	}
}

// changed returns how much a resource changes, seen from a module instance. It considers the instances of the resource
// in the innermost module instance that contains both; Terraform and OpenTofu do the same.
func (o *outcomes) changed(d program.Decl, from addr.ModuleInstance) changeKind {
	for at := o.prog.Decls()[d].Module; !at.Under(from.Module()); {
		from = from.Parent()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.changes[within{d, from}]
}

// dependencyChanges reports whether a dependency of an instance of d changes by at least a given kind. Dependencies are:
//
//   - the names in depends_on, of d or of a module call around it. A pending data source counts with the change that it
//     waits for;
//   - the managed resources that d refers to directly.
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

// changesBehind reports whether a managed resource changes that an instance of d depends on, directly or indirectly.
func (o *outcomes) changesBehind(d program.Decl, from addr.ModuleInstance) bool {
	return slices.ContainsFunc(o.resourcesBehind(d), func(r program.Decl) bool { return o.changed(r, from) > unchanged })
}

// resourcesBehind returns the managed resources that a declaration depends on, directly or indirectly.
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

// changesUnder reports whether a reference in depends_on leads to a resource that changes, through modules and values.
// For a module call it follows the depends_on of the call, not its repetition.
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

// dependencyFailed reports whether a dependency in depends_on, of the declaration or of a module call around it, has no
// value. Other failures reach the declaration through values.
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

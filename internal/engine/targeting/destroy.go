package targeting

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/state"
)

// In a destroy plan with targets, the dependents of the targets are destroyed, too. The dependencies in the state
// determine the dependents, because the configuration may have changed since the last apply. The state does not record
// which instance of a resource depends on which instance of another. So Lethe takes all instances in the innermost
// module instance that contains both resources.
//
// In a destroy plan with excludes, the excluded objects are not destroyed, and neither are the objects on which they
// depend.

// dependents computes the selection of a destroy plan with targets: the targets and their dependents.
type dependents struct {
	selector *selector
	s        *Selection
	users    map[addr.Resource]map[addr.Resource]bool // the dependents of each resource, from the state
	seen     map[affected]bool
	queue    []affected
}

// affected is a resource in a module instance, including all module instances below it.
type affected struct {
	res addr.Resource
	in  addr.ModuleInstance
}

// chooseDestroyed selects the objects that the targets name, and their dependents, for a destroy plan.
func (p *selector) chooseDestroyed(s *Selection) {
	s.objects = map[addr.Instance]bool{}
	x := dependents{selector: p, s: s, users: map[addr.Resource]map[addr.Resource]bool{}, seen: map[affected]bool{}}
	for o, e := range p.request.Prior.Objects() {
		for _, dep := range e.Recorded {
			if x.users[dep] == nil {
				x.users[dep] = map[addr.Resource]bool{}
			}
			x.users[dep][o.Resource()] = true
		}
		if contains(s.targets, o.Instance) {
			s.objects[o.Instance] = true
			x.enqueue(affected{o.Resource(), o.Module})
		}
	}
	// The queue now has the resources of the objects that targets name. Their other objects are selected only if the
	// resource also depends on a selected resource: then follow adds the resource to the queue again.
	named := x.queue
	x.queue, x.seen = nil, map[affected]bool{}
	for _, a := range named {
		x.follow(a)
	}
	for len(x.queue) > 0 {
		a := x.queue[0]
		x.queue = x.queue[1:]
		x.selectAll(a)
		x.follow(a)
	}
}

// enqueue adds a resource in a module instance to the queue, unless it was added before. It also selects the resource's
// declaration.
func (x *dependents) enqueue(a affected) {
	if !x.seen[a] {
		x.seen[a] = true
		x.queue = append(x.queue, a)
	}
	if d, ok := x.selector.request.Program.Resource(a.res); ok {
		x.s.decls[d.ID] = true
	}
}

// selectAll selects all objects of a resource.
func (x *dependents) selectAll(a affected) {
	stored := x.selector.request.Stored[a.res]
	if a.in.Module() == a.res.Module { // this case avoids a search through all module instances
		stored = []*state.Resource{x.selector.request.Prior.Resource(a.res.In(a.in))}
	}
	for _, r := range stored {
		if r != nil && r.Addr.Module.Under(a.in) {
			for o := range r.Objects() {
				x.s.objects[o.Instance] = true
			}
		}
	}
}

// follow adds the dependents of a resource to the queue.
func (x *dependents) follow(a affected) {
	for res := range x.users[a.res] {
		x.enqueue(affected{res, a.in.Around(res.Module)})
	}
}

// kept collects the objects that a plan with -exclude does not destroy: the excluded objects and their dependencies.
type kept struct {
	selector *selector
	objects  map[addr.Instance]bool
	seen     map[affected]bool
	queue    []affected
}

// chooseKept selects the objects to destroy in a destroy plan with excludes: all objects except the excluded objects
// and the objects on which they depend. receivers has the declarations that use values of excluded ephemeral resources.
// Their objects are not destroyed either, because their destruction would need these values.
func (p *selector) chooseKept(s *Selection, receivers map[program.Decl]bool) {
	stay := p.kept(func(i addr.Instance) bool {
		d, declared := p.request.Program.Resource(i.Resource())
		return contains(s.exclude, i) || declared && receivers[d.ID]
	})
	s.objects = map[addr.Instance]bool{}
	for o := range p.request.Prior.Objects() {
		if stay[o.Instance] {
			continue
		}
		s.objects[o.Instance] = true
		if d, ok := p.request.Program.Resource(o.Resource()); ok {
			s.decls[d.ID] = true
		}
	}
}

// kept returns the stored objects for which excluded returns true, and all objects on which they depend according to
// the state.
func (p *selector) kept(excluded func(addr.Instance) bool) map[addr.Instance]bool {
	x := kept{selector: p, objects: map[addr.Instance]bool{}, seen: map[affected]bool{}}
	for o, e := range p.request.Prior.Objects() {
		if excluded(o.Instance) {
			x.keep(o, e)
		}
	}
	for len(x.queue) > 0 {
		a := x.queue[0]
		x.queue = x.queue[1:]
		for _, r := range p.request.Stored[a.res] {
			if !r.Addr.Module.Under(a.in) {
				continue
			}
			for o, e := range r.Objects() {
				x.keep(o, e)
			}
		}
	}
	return x.objects
}

// keep adds the object o to the objects that are not destroyed, and its dependencies in the state entry e to the queue.
func (x *kept) keep(o addr.Object, e *state.Entry) {
	x.objects[o.Instance] = true
	for _, dep := range e.Recorded {
		a := affected{dep, o.Module.Around(dep.Module)}
		if !x.seen[a] {
			x.seen[a] = true
			x.queue = append(x.queue, a)
		}
	}
}

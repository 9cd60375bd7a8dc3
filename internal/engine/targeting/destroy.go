package targeting

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/state"
)

// A destroy of targets takes what needs them with it. What does, the state says: the configuration may
// have changed since, and what it says now need not have been applied. The state does not say which
// instance of a resource needs which of another one: all in the same instances of the modules around both
// are taken to.

// dependents collects the objects of such a destroy.
type dependents struct {
	selector *selector
	s        *Selection
	users    map[addr.Resource]map[addr.Resource]bool // by what they need, as the state remembers it
	seen     map[affected]bool
	queue    []affected
}

// affected is what a destroy reaches: a resource in and below a module instance.
type affected struct {
	res addr.Resource
	in  addr.ModuleInstance
}

// chooseDestroyed selects the objects that the targets name, and what needs them.
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
			x.come(affected{o.Resource(), o.Module})
		}
	}
	named := x.queue // of these only what the targets name goes, unless they need one another
	x.queue, x.seen = nil, map[affected]bool{}
	for _, a := range named {
		x.follow(a)
	}
	for len(x.queue) > 0 {
		a := x.queue[0]
		x.queue = x.queue[1:]
		x.take(a)
		x.follow(a)
	}
}

// come comes to a resource in a module instance.
func (x *dependents) come(a affected) {
	if !x.seen[a] {
		x.seen[a] = true
		x.queue = append(x.queue, a)
	}
	if d, ok := x.selector.request.Program.Resource(a.res); ok {
		x.s.decls[d.ID] = true
	}
}

// take selects all objects of a resource.
func (x *dependents) take(a affected) {
	stored := x.selector.request.Stored[a.res]
	if a.in.Module() == a.res.Module { // no need to look through those of all modules
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

// follow comes to what needs it.
func (x *dependents) follow(a affected) {
	for res := range x.users[a.res] {
		x.come(affected{res, a.in.Around(res.Module)})
	}
}

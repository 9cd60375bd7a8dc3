package targeting

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/state"
)

// A destroy of targets takes what needs them with it, as far as the configuration and the state say so.
// Neither says which instance of a resource needs which of another one: all in the same instances of the
// modules around both are taken to.

// dependents collects the objects of such a destroy.
type dependents struct {
	selector *selector
	s        *Selection
	declared map[lang.Decl][]user                     // by what they refer to
	recorded map[addr.Resource]map[addr.Resource]bool // the same, as the state remembers it
	seen     map[affected]bool
	queue    []affected
}

// affected is what a destroy reaches: a declaration, or a resource that may be only in the state, in and
// below a module instance.
type affected struct {
	decl lang.Decl // Nowhere: only the state knows the resource
	res  addr.Resource
	in   addr.ModuleInstance
}

// chooseDestroyed selects the objects that the targets name, and what needs them.
func (p *selector) chooseDestroyed(s *Selection) {
	s.objects = map[addr.Instance]bool{}
	x := dependents{selector: p, s: s, declared: p.referrers(), recorded: map[addr.Resource]map[addr.Resource]bool{}, seen: map[affected]bool{}}
	for o, e := range p.request.Prior.Objects() {
		for _, dep := range e.Recorded {
			if x.recorded[dep] == nil {
				x.recorded[dep] = map[addr.Resource]bool{}
			}
			x.recorded[dep][o.Resource()] = true
		}
		if contains(s.targets, o.Instance) {
			s.objects[o.Instance] = true
			x.resource(o.Resource(), o.Module)
		}
	}
	named := x.queue // of these only what the targets name goes, unless they need one another
	x.queue, x.seen = nil, map[affected]bool{}
	for _, d := range p.request.Program.Decls() {
		if d.Kind == lang.Resource && s.Named[d.Resource] && d.Resource.Mode != addr.Managed {
			x.resource(d.Resource, addr.ModuleInstance{})
		}
	}
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

// resource comes to a resource in a module instance.
func (x *dependents) resource(res addr.Resource, in addr.ModuleInstance) {
	a := affected{decl: lang.Nowhere, res: res, in: in}
	if d, ok := x.selector.request.Program.Resource(res); ok {
		a.decl = d.ID
	}
	x.come(a)
}

func (x *dependents) come(a affected) {
	if !x.seen[a] {
		x.seen[a] = true
		x.queue = append(x.queue, a)
	}
	if a.decl != lang.Nowhere {
		x.s.decls[a.decl] = true
	}
}

// take selects all objects of a resource.
func (x *dependents) take(a affected) {
	if a.res == (addr.Resource{}) {
		return
	}
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
	if a.decl != lang.Nowhere {
		for _, u := range x.declared[a.decl] {
			next := affected{decl: u.ID, in: a.in.Around(u.Module)}
			if u.Kind == lang.Resource {
				next.res = u.Resource
			}
			x.come(next)
		}
	}
	for res := range x.recorded[a.res] {
		x.resource(res, a.in.Around(res.Module))
	}
}

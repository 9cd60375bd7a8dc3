package targeting

import (
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
)

// Select computes the selection for the request r. Its warnings, in bag, are about a partial plan and about addresses
// that match nothing. It reports an error and returns false if the request has both targets and excludes.
func Select(r Request, bag *diag.Bag) (*Selection, bool) {
	p := &selector{r, bag}
	s := &Selection{
		targets: p.request.Targets, exclude: p.request.Excludes,
		whole: map[addr.Resource]bool{}, some: map[addr.Resource]map[addr.Key]bool{}, within: map[addr.Resource][]addr.Target{}, Named: map[addr.Resource]bool{},
		left: map[addr.Resource][]addr.Target{}, decls: map[program.Decl]bool{},
	}
	switch {
	case r.Origin == Action:
		s.Active = true
		p.chooseInvoked(s)
	case len(s.targets) > 0 && len(s.exclude) > 0:
		p.bag.Add(diag.Errorf("Invalid combination of arguments", "-target and -exclude cannot be used together. Remove one of them."))
		return s, false
	case len(s.targets) > 0 || p.request.Origin == Changes:
		s.Active = true
		p.chooseTargets(s)
		p.warnPartial("target")
		p.warnUnreceived(s)
	case len(s.exclude) > 0:
		s.Active = true
		p.chooseExcludes(s)
		p.warnPartial("exclude")
	}
	r.warnUnmatched(p.bag)
	return s, true
}

func (p *selector) warnPartial(flag string) {
	if p.request.Origin != Options {
		return
	}
	p.bag.Add(diag.Warningf("Resource targeting is in effect",
		"You are creating a plan with the -%s option, which means that the result of this plan may not represent all of the changes requested by the current configuration.\n\nThe -%s option is not for routine use, and is provided only for exceptional situations such as recovering from errors or mistakes, or when Lethe specifically suggests to use it as part of an error message.", flag, flag))
}

// warnUnreceived warns of ephemeral resources that a target names if no selected declaration receives them, because
// they are not opened.
func (p *selector) warnUnreceived(s *Selection) {
	received := p.request.Receivers.Needed(func(d program.Decl) bool { return s.decls[d] })
	for _, d := range p.request.Program.Decls() {
		if d.Kind == program.Resource && d.Resource.Mode == addr.Ephemeral && s.Named[d.Resource] && !received[d.ID] {
			p.bag.Add(diag.Warningf("Targeted ephemeral resource is not opened", "%s is not opened, because the -target option selects no user of its value. Select a block that uses it instead.", d.Resource).At(d.Range).About(d))
		}
	}
}

// chooseTargets selects the targets and their dependencies, or their dependents in a destroy plan.
func (p *selector) chooseTargets(s *Selection) {
	var anywhere []program.Decl // named by targets without keys of module instances
	start := make([][]program.Decl, len(s.targets))
	for _, d := range p.request.Program.Decls() {
		for i, t := range s.targets {
			if d.Kind == program.Resource && t.Covers(d.Resource) {
				s.Named[d.Resource] = true
				start[i] = append(start[i], d.ID)
			}
		}
	}
	for res := range p.request.Stored {
		if covers(s.targets, res) {
			s.Named[res] = true
		}
	}
	if p.request.Mode == plan.Destroy {
		p.chooseDestroyed(s)
		return
	}
	next := p.request.Program.Refs
	if p.request.Origin == Imports {
		next = p.through
	}
	for i, t := range s.targets {
		if t.InKeyedModule() {
			p.selectDependencies(s, start[i], t, next)
		} else {
			anywhere = append(anywhere, start[i]...)
		}
	}
	p.selectDependencies(s, anywhere, addr.Target{}, next)
	p.selectDependencies(s, p.fed(s), addr.Target{}, p.values)
}

// chooseInvoked selects the action to invoke, its dependencies, and the resources whose objects may be its "caller".
func (p *selector) chooseInvoked(s *Selection) {
	var start []program.Decl
	for _, d := range p.request.Program.Decls() {
		if d.Kind != program.Action || !p.request.Targets[0].Covers(d.Resource) {
			continue
		}
		start = append(start, d.ID)
		callers, _ := program.Callers(p.request.Program, d.ID)
		for _, c := range callers {
			s.whole[p.request.Program.Decls()[c].Resource] = true
		}
		start = append(start, callers...)
	}
	p.selectDependencies(s, start, addr.Target{}, p.through)
}

// through returns the references of d that are needed to import objects of d, or to read the stored objects of d for an
// action. Neither evaluates the arguments of a managed resource, so the result lacks the references in them.
func (p *selector) through(d program.Decl) []program.Ref {
	refs, info := p.request.Program.Refs(d), p.request.Program.Decls()[d]
	if info.Kind != program.Resource || info.Resource.Mode != addr.Managed {
		return refs
	}
	return slices.DeleteFunc(slices.Clone(refs), func(r program.Ref) bool {
		return r.Use&(program.ByRepeat|program.ByModule|program.ByProvider|program.ByFunction) == 0
	})
}

// values returns the references of d, except for references to resources.
func (p *selector) values(d program.Decl) []program.Ref {
	return slices.DeleteFunc(slices.Clone(p.request.Program.Refs(d)), func(r program.Ref) bool { return p.request.Program.Decls()[r.To].Kind == program.Resource })
}

// fed returns the root outputs that refer to resources, if all these resources are selected. If the origin is Changes,
// fed also returns outputs without references to resources, and other declarations with conditions. All other outputs
// and results of conditions keep the values in the state.
func (p *selector) fed(s *Selection) []program.Decl {
	var out []program.Decl
	for _, d := range p.request.Program.Decls() {
		if !(d.Kind == program.Output && d.Module.IsRoot()) && !(p.request.Origin == Changes && d.Kind != program.Resource && declared.HasConditions(d)) {
			continue
		}
		from, all := 0, true
		p.request.Receivers.Resources(d.ID, func(r program.Ref) { from, all = from+1, all && s.selects(r, p.request.Program.Decls()[r.To].Resource) })
		if all && (from > 0 || p.request.Origin == Changes) {
			out = append(out, d.ID)
		}
	}
	return out
}

// selects reports whether the selection has all instances of the resource res to which ref refers.
func (s *Selection) selects(ref program.Ref, res addr.Resource) bool {
	switch {
	case s.whole[res] || wholly(s.targets, res):
		return true
	case ref.Key == program.Fixed && res.Module.IsRoot():
		return s.some[res][ref.Fixed] || contains(s.targets, res.In(addr.ModuleInstance{}).Instance(ref.Fixed))
	}
	return false
}

// chooseExcludes computes the selection for -exclude: everything except the excluded resources and their dependents. In
// a destroy plan, it calls chooseKept.
func (p *selector) chooseExcludes(s *Selection) {
	x := excluder{selector: p, s: s, out: map[program.Decl]bool{}, seen: map[string]bool{}, back: p.referrers()}
	if p.request.Mode == plan.Destroy {
		for _, d := range p.request.Program.Decls() {
			if d.Kind == program.Resource && d.Resource.Mode == addr.Ephemeral && covers(s.exclude, d.Resource) {
				x.leave(d.ID)
			}
		}
		p.chooseKept(s, x.out)
		return
	}
	for _, d := range p.request.Program.Decls() {
		switch {
		case d.Kind != program.Resource || !covers(s.exclude, d.Resource):
		// The receivers of an excluded ephemeral resource are excluded, too, because its value is not stored.
		case wholly(s.exclude, d.Resource) || d.Resource.Mode == addr.Ephemeral:
			x.leave(d.ID)
		default:
			for _, t := range s.exclude {
				if t.Covers(d.Resource) {
					x.leaveSome(d, t, true)
				}
			}
		}
	}
	for _, d := range p.request.Program.Decls() {
		if !x.out[d.ID] {
			s.decls[d.ID] = true
			if d.Kind == program.Resource {
				s.whole[d.Resource] = true
			}
		}
	}
	for res := range p.request.Stored {
		if _, declared := p.request.Program.Resource(res); !declared {
			s.whole[res] = true
		}
	}
	if p.request.Mode == plan.Normal {
		s.stay = p.kept(func(i addr.Instance) bool { return !s.Includes(i) })
	}
}

// excluder computes the declarations and instances that -exclude removes from a plan.
type excluder struct {
	selector *selector
	s        *Selection
	out      map[program.Decl]bool   // declarations that are excluded with all instances
	seen     map[string]bool         // the calls of leaveSome so far, by declaration and target
	back     map[program.Decl][]user // the results of referrers
}

// user is a declaration that refers to another declaration. ref is the reference.
type user struct {
	*program.Declaration
	ref program.Ref
}

// leave excludes a declaration and all its dependents.
func (x *excluder) leave(d program.Decl) {
	if x.out[d] {
		return
	}
	x.out[d] = true
	for _, u := range x.back[d] {
		x.leave(u.ID)
	}
}

// leaveSome excludes the dependents of some instances of d: the instances that the target t, which has a key, covers.
// If each instance of a dependent refers to the instance of d with the same key, leaveSome excludes only the
// corresponding instances of the dependent. direct is true if d is the resource of the target. It is false if d is a
// value in the same module that refers to the resource.
func (x *excluder) leaveSome(d *program.Declaration, t addr.Target, direct bool) {
	at := fmt.Sprint(d.ID, " ", t)
	if x.seen[at] {
		return
	}
	x.seen[at] = true
	for _, u := range x.back[d.ID] {
		key := direct && t.KeyGiven
		switch {
		case key && (u.ref.Key == program.Single || u.ref.Key == program.Fixed && u.ref.Fixed != t.Key):
		case u.Module != d.Module || u.Kind == program.Resource && u.Resource.Mode == addr.Ephemeral:
			x.leave(u.ID)
		case u.Kind != program.Resource && t.InKeyedModule():
			x.leaveSome(u.Declaration, t, false)
		case u.Kind != program.Resource:
			x.leave(u.ID)
		case t.Mode == 0: // the target is a module instance, which contains this resource
		default:
			t := t.Of(u.Resource, key && u.ref.Key == program.Same)
			if !t.Keyed() {
				x.leave(u.ID)
				continue
			}
			x.s.left[u.Resource] = append(x.s.left[u.Resource], t)
			x.leaveSome(u.Declaration, t, true)
		}
	}
}

// referrers returns for each declaration the declarations that refer to it.
func (p *selector) referrers() map[program.Decl][]user {
	out := map[program.Decl][]user{}
	for _, d := range p.request.Program.Decls() {
		for _, r := range p.request.Program.Refs(d.ID) {
			out[r.To] = append(out[r.To], user{d, r})
		}
	}
	return out
}

// covers reports whether a target may contain instances of the resource.
func covers(targets []addr.Target, res addr.Resource) bool {
	return slices.ContainsFunc(targets, func(t addr.Target) bool { return t.Covers(res) })
}

// wholly reports whether a target contains all instances of the resource.
func wholly(targets []addr.Target, res addr.Resource) bool {
	return slices.ContainsFunc(targets, func(t addr.Target) bool { return t.Covers(res) && !t.Keyed() })
}

// selectDependencies selects the declarations in start and all declarations to which next leads from them. For a
// reference to a resource, it selects all instances, or the instance with the constant key in the reference. If t names
// a module instance, references inside it select only instances inside it. A reference from the outside back into the
// module selects all instances.
func (p *selector) selectDependencies(s *Selection, start []program.Decl, t addr.Target, next func(program.Decl) []program.Ref) {
	type step struct {
		of     program.Decl
		inside bool // in the module instance of t
	}
	var queue []step
	seen := map[step]bool{}
	reach := func(x step) {
		if !seen[x] {
			seen[x] = true
			s.decls[x.of] = true
			queue = append(queue, x)
		}
	}
	for _, d := range start {
		reach(step{d, t.InKeyedModule()})
	}
	for len(queue) > 0 {
		x := queue[0]
		queue = queue[1:]
		for _, r := range next(x.of) {
			info := p.request.Program.Decls()[r.To]
			inside := x.inside && info.Module.Under(t.Module())
			if info.Kind == program.Resource {
				s.needs(info.Resource, r, t, inside)
			}
			reach(step{r.To, inside})
		}
	}
}

// needs selects the instances of res to which the reference r refers. If inside is true, the reference and the resource
// are in the module instance of the target t, and needs selects only the instances there.
func (s *Selection) needs(res addr.Resource, r program.Ref, t addr.Target, inside bool) {
	fixed := r.Key == program.Fixed
	switch {
	case inside:
		s.within[res] = append(s.within[res], t.Inside(res, r.Fixed, fixed))
	case fixed:
		if s.some[res] == nil {
			s.some[res] = map[addr.Key]bool{}
		}
		s.some[res][r.Fixed] = true
	default:
		s.whole[res] = true
	}
}

package engine

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// Which instances there are is decided once. On the before face they are those in the state, with
// what a repetition says besides. On the after face a module call is expanded at its node of the plan
// walk, when all that its repetition refers to was decided; resources are at theirs. The plan hands the
// keys on, and the apply walk takes them: it evaluates of a repetition nothing but each.value, where
// that is asked for. So whatever goes over module instances, the order of steps too, evaluates nothing.

// called is a module call in a module instance.
type called struct {
	in   addr.ModuleInstance
	name string
}

// calledIn are the instances of module calls that have objects in a state.
func calledIn(s *state.Snapshot) map[called][]addr.Key {
	out := map[called][]addr.Key{}
	seen := map[addr.ModuleInstance]bool{}
	for _, r := range s.Resources() {
		for at := r.Addr.Module; !at.IsRoot() && !seen[at]; at = at.Parent() {
			seen[at] = true
			name, key := at.Call()
			c := called{at.Parent(), name}
			out[c] = append(out[c], key)
		}
	}
	return out
}

// expandBefore says which instances of module calls there are on the before face: those in the state,
// and what their repetition says, once that is evaluated.
func (r *run) expandBefore(s *state.Snapshot) {
	stored := calledIn(s)
	for _, d := range r.prog.Decls() {
		if d.Kind != lang.Call {
			continue
		}
		frames, _ := r.frame.Instances(d.Module, lang.Before)
		for _, f := range frames {
			list := stored[called{f.Addr(), d.Name}]
			repeat := d.Repeat()
			if repeat == lang.Once {
				if !slices.ContainsFunc(list, func(k addr.Key) bool { return !k.IsNone() }) {
					continue
				}
				if !slices.Contains(list, addr.NoKey) {
					list = append(list, addr.NoKey)
				}
			}
			f.SetKeys(d.ID, lang.Before, lang.Keys{Repeat: repeat, List: list, More: true})
		}
	}
}

// expand is the work of a module call's node: from now on it has instances on the after face. Where
// everything is destroyed, nothing is there after; but values that are made from no resource can be
// looked at.
func (p *planner) expand(d *lang.Declaration) bool {
	if p.req.Mode == plan.Destroy && p.receivers.FromResources(d.ID) {
		return true
	}
	frames, status := p.frame.Instances(d.Module, lang.After)
	ok := status == lang.Known
	for _, f := range frames {
		ok = p.expandIn(d, f) && ok
	}
	if !ok {
		p.failed[d.ID].Store(true)
	}
	return ok
}

func (p *planner) expandIn(d *lang.Declaration, f *lang.Frame) bool {
	if p.req.Mode != plan.RefreshOnly {
		return f.Keys(d.ID, lang.After, p.bag).Status == lang.Known
	}
	// What is declared need not be there yet.
	var bag diag.Bag
	keys := f.Keys(d.ID, lang.After, &bag)
	if keys.Status == lang.Unknown {
		f.SetKeys(d.ID, lang.After, p.stay(d, f))
		return true
	}
	p.bag.Add(bag.List()...)
	return keys.Status == lang.Known
}

// stay are the instances of a module call that are there.
func (p *planner) stay(d *lang.Declaration, f *lang.Frame) lang.Keys {
	return lang.Keys{Repeat: d.Repeat(), List: slices.Clone(f.Expanded(d.ID, lang.Before).List)}
}

// leave is the work of the node of a declaration that targeting leaves out: on the after face it is
// what it was before, as far as the state tells.
func (p *planner) leave(d *lang.Declaration) {
	if p.req.Mode == plan.Destroy {
		return
	}
	frames, _ := p.frame.Instances(d.Module, lang.After)
	for _, f := range frames {
		if d.Kind == lang.Call {
			if d.Repeat() != lang.Once {
				f.SetKeys(d.ID, lang.After, p.stay(d, f))
			}
			continue
		}
		stored := p.prior.Resource(d.Resource.In(f.Addr()))
		if d.Repeat() != lang.Once {
			f.SetKeys(d.ID, lang.After, keysLeft(d, stored))
		} else if stored.Get(addr.NoKey) == nil {
			f.Put(d.ID, addr.NoKey, lang.After, p.placeholder(d))
		}
		for _, k := range stored.Keys() {
			p.keepPrior(f, d, k)
		}
	}
}

// keysLeft are the instances of a repeated resource that nothing is decided about.
func keysLeft(d *lang.Declaration, stored *state.Resource) lang.Keys {
	keys := lang.Keys{Repeat: d.Repeat()}
	if keys.List = stored.Keys(); len(keys.List) == 0 {
		keys.Status = lang.Unknown
	}
	return keys
}

// leaveBefore fills the before face with what targeting leaves out: that is not looked at.
func (p *planner) leaveBefore() {
	if !p.sel.active {
		return
	}
	for _, res := range p.prior.Resources() {
		d, ok := p.prog.Resource(res.Addr.Resource())
		if !ok || d.Resource.Mode != addr.Managed {
			continue
		}
		f := p.frame.At(res.Addr.Module, lang.Before)
		if f == nil {
			continue
		}
		for o, e := range res.Objects() {
			if !o.IsDeposed() && !p.sel.instance(o.Instance) {
				f.PutLazy(d.ID, o.Key, lang.Before, func() mark.Value { return p.storedValue(d, o, e) })
			}
		}
	}
}

// keys collects, for the plan, which instances were decided on.
func (p *planner) keys(out *plan.Plan) {
	out.Keys, out.KeysBefore = map[string][]addr.Key{}, map[string][]addr.Key{}
	add := func(to map[string][]addr.Key, at string, keys lang.Keys) {
		if keys.Status == lang.Known {
			to[at] = append([]addr.Key{}, keys.List...)
		}
	}
	for _, d := range p.prog.Decls() {
		if d.Repeat() == lang.Once || d.Kind == lang.Provider || d.Kind == lang.Resource && d.Resource.Mode == addr.Ephemeral {
			continue // of an ephemeral block nothing is kept, not even how it is repeated
		}
		frames, _ := p.frame.Instances(d.Module, lang.After)
		for _, f := range frames {
			add(out.Keys, placeOf(d, f), f.Expanded(d.ID, lang.After))
		}
		if d.Kind != lang.Call {
			continue
		}
		frames, _ = p.frame.Instances(d.Module, lang.Before)
		for _, f := range frames {
			add(out.KeysBefore, placeOf(d, f), f.Expanded(d.ID, lang.Before))
		}
	}
}

// placeOf names a repeated declaration in a module instance.
func placeOf(d *lang.Declaration, f *lang.Frame) string {
	if d.Kind == lang.Call {
		return f.Addr().Child(d.Name, addr.NoKey).String()
	}
	return d.Resource.In(f.Addr()).String()
}

// expand takes the instances from the plan.
func (a *applier) expand() {
	a.expandBefore(a.plan.Refreshed)
	for _, d := range a.prog.Decls() {
		switch {
		case d.Repeat() == lang.Once || d.Kind == lang.Provider || d.Kind == lang.Resource && d.Resource.Mode == addr.Ephemeral:
			continue
		case d.Kind == lang.Call:
			a.setPlanned(d, lang.Before, a.plan.KeysBefore)
		}
		a.setPlanned(d, lang.After, a.plan.Keys)
	}
}

// setPlanned sets the keys of a declaration in all module instances. What was not decided is unknown.
func (a *applier) setPlanned(d *lang.Declaration, face lang.Face, from map[string][]addr.Key) {
	frames, _ := a.frame.Instances(d.Module, face)
	for _, f := range frames {
		list, ok := from[placeOf(d, f)]
		keys := lang.Keys{Repeat: d.Repeat(), List: slices.Clone(list)}
		if !ok {
			keys.Status = lang.Unknown
		}
		f.SetKeys(d.ID, face, keys)
	}
}

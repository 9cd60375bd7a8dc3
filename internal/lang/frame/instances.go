package frame

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// Instances returns the frames of the known instances of the module m. It evaluates nothing. The status is the worst
// status of the module calls in the path of m. A call whose keys were not evaluated yet, are unknown or failed
// contributes no instances. face selects the keys before or after the changes of the run.
func (f *Frame) Instances(m addr.Module, face Face) ([]*Frame, Status) {
	return instancesOf(f, m, func(p *Frame, call *program.Def) Keys { return p.repetition(call, face).expanded(call, face) })
}

// Expand returns the frames of the instances of the module m. It evaluates the count and for_each of the module calls
// in the path of m. It is for frames outside of a walk. In a walk, a step for each module call evaluates them, and
// Instances returns the result.
func (f *Frame) Expand(m addr.Module, face Face, bag *diag.Bag) ([]*Frame, Status) {
	return instancesOf(f, m, func(p *Frame, call *program.Def) Keys { return p.keys(call, face, bag) })
}

func instancesOf(f *Frame, m addr.Module, keysOf func(*Frame, *program.Def) Keys) ([]*Frame, Status) {
	if m.IsRoot() {
		return []*Frame{f.root()}, Known
	}
	parents, status := instancesOf(f, m.Parent(), keysOf)
	var out []*Frame
	for _, p := range parents {
		i, ok := p.u.Index(program.Call, m.Name())
		if !ok {
			return nil, status
		}
		call := p.u.Defs[i]
		keys := keysOf(p, call)
		status = max(status, keys.Status)
		for _, k := range keys.List {
			if c := p.child(call, k); c != nil {
				out = append(out, c)
			}
		}
	}
	return out, status
}

// Keys returns the instance keys of a resource, an action, a module call or a provider configuration in this module
// instance. At the first use, it evaluates count, for_each or enabled. It adds the errors to the bag. Keys that SetKeys
// has set are returned instead, or in addition if their field More is set. If given outputs replace the module
// instance, no declaration has keys on the After face, the planned state.
func (f *Frame) Keys(d program.Decl, face Face, bag *diag.Bag) Keys {
	return f.keys(f.local(d), face, bag)
}

// SetKeys sets the instance keys of a declaration on one face. They replace the keys from the configuration, or are
// added to them if k.More is set. On the Before face, the prior state, the caller takes the keys from the state. On the
// After face, the planned state, an apply takes the keys from the plan. SetKeys sorts k.List in place.
func (f *Frame) SetKeys(d program.Decl, face Face, k Keys) {
	slices.SortFunc(k.List, addr.Key.Compare)
	f.repetition(f.local(d), face).set[face].Store(&k)
}

// Expanded returns the instance keys that were set or evaluated before. It evaluates nothing: if no keys were set or
// evaluated, the status is Unknown.
func (f *Frame) Expanded(d program.Decl, face Face) Keys {
	ld := f.local(d)
	return f.repetition(ld, face).expanded(ld, face)
}

func (f *Frame) keys(d *program.Def, face Face, bag *diag.Bag) Keys {
	set := f.repetition(d, face).set[face].Load()
	switch {
	case f.replaced && face == After:
		return Keys{}
	case set != nil && (!set.More || d.Repetition == nil):
		return *set
	case d.Repetition == nil:
		return Keys{List: onlyOne}
	}
	got := f.repeat(d, face, nil)
	if len(got.diags) > 0 {
		bag.Add(got.diags...)
	}
	if set != nil {
		return set.with(got.Keys)
	}
	return got.Keys
}

// repeat evaluates the repetition (count, for_each or enabled) of d at its first use. It evaluates the repetition again
// if a value was missing then and may exist now (see fillCount).
func (f *Frame) repeat(d *program.Def, face Face, from *scope) *repeated {
	rep := f.repetition(d, face)
	if r := rep.got.Load(); r != nil && r.early.valid(&f.w.fills) {
		return r
	}
	rep.mu.Lock()
	defer rep.mu.Unlock()
	if r := rep.got.Load(); r != nil && r.early.valid(&f.w.fills) {
		return r
	}
	var bag diag.Bag
	now := f.w.fills.now()
	s := newScope(f, face, &bag)
	defer s.release()
	s.below(from)
	r := s.repeat(d)
	r.diags, r.marked = bag.List(), s.Marked
	if s.early {
		r.early = now
	}
	rep.got.Store(r)
	return r
}

// keysOf returns the instance keys of a declaration for the evaluation s, and adds the diagnostics about the keys to
// its bag. If the keys have the status Failed or Broken, s gets this outcome.
func (s *scope) keysOf(f *Frame, d *program.Def) Keys {
	if d.Repetition == nil && f.repetition(d, s.face).set[s.face].Load() == nil {
		return Keys{List: onlyOne}
	}
	var bag diag.Bag
	k := f.keys(d, s.face, &bag)
	s.early = s.early || k.early != 0 && (k.Status != Known || k.More)
	if bag.Len() > 0 {
		s.Bag.Add(bag.List()...)
	}
	switch k.Status {
	case Failed:
		s.Failed = true
	case Broken:
		s.Broken = true
	}
	return k
}

// placeholders returns the instance keys of a repeated declaration that are known during validation, because they are
// literals. It returns nil if the keys are not known, or if there are more than fewKeys.
func (s *scope) placeholders(d *program.Def) []addr.Key {
	if d.Repetition == nil {
		return nil
	}
	return s.f.repeat(d, s.face, s).plain
}

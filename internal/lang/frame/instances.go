package frame

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/zclconf/go-cty/cty"
)

// Instances lists the instances of a module below the root frame that are there already: it
// evaluates nothing. The status is the worst met: of calls that were not expanded yet, or whose keys
// are unknown or failed, no instances are listed.
func (f *Frame) Instances(m addr.Module, face Face) ([]*Frame, Status) {
	return instancesOf(f, m, func(p *Frame, call *program.Def) Keys { return p.repetition(call, face).expanded(call, face) })
}

// Expand lists the instances of a module, and evaluates the repetition of calls on the way. In a walk
// calls are expanded at their own nodes; this is for frames that are none.
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

// Keys gives the instances of a resource, a module call or a provider in this module instance.
func (f *Frame) Keys(d program.Decl, face Face, bag *diag.Bag) Keys {
	return f.keys(f.local(d), face, bag)
}

// SetKeys says what the instances are, instead of what the configuration says: keys before are those
// in the state, and keys of an apply those that were planned.
func (f *Frame) SetKeys(d program.Decl, face Face, k Keys) {
	slices.SortFunc(k.List, addr.Key.Compare)
	f.repetition(f.local(d), face).set[face].Store(&k)
}

// Expanded gives the instances as far as they were set or evaluated: it evaluates nothing. Before
// that they are unknown.
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

// repeat evaluates a repetition once.
func (f *Frame) repeat(d *program.Def, face Face, from *scope) *repeated {
	rep := f.repetition(d, face)
	if r := rep.got.Load(); r != nil && r.early.stands(&f.w.fills) {
		return r
	}
	rep.mu.Lock()
	defer rep.mu.Unlock()
	if r := rep.got.Load(); r != nil && r.early.stands(&f.w.fills) {
		return r
	}
	var bag diag.Bag
	now := f.w.fills.now()
	s := f.scope(face, &bag)
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

// keysOf reads the keys of a declaration into an evaluation.
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

// own is the repetition of the declaration that the scope belongs to.
func (s *scope) own() *repeated {
	return s.f.repeat(s.d, s.face, s)
}

// eachValue is each.value of an instance; false if the repetition has no such key. The keys may have
// been set, and what the repetition says is evaluated only here.
func (s *scope) eachValue() (cty.Value, bool) {
	r := s.own()
	s.Marked, s.early = s.Marked || r.marked, s.early || r.early != 0
	name, _ := s.key.Str()
	if v, ok := r.each[name]; ok {
		return v, true
	}
	if r.Status == Failed {
		for _, d := range r.diags {
			s.Error(d)
		}
		s.Failed = s.Failed || !s.Broken
	}
	return cty.DynamicVal, r.Status != Known || s.face == Before // or it is not there yet
}

// placeholders are the keys of something repeated, while validating, where they are written out;
// nil if they are not.
func (s *scope) placeholders(d *program.Def) []addr.Key {
	if d.Repetition == nil {
		return nil
	}
	return s.f.repeat(d, s.face, s).plain
}

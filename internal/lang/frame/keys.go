package frame

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/zclconf/go-cty/cty"
)

// Keys are the instances of a repeated declaration in one module instance.
type Keys struct {
	Status Status
	Repeat program.RepeatKind
	List   []addr.Key // sorted
	Hidden bool       // the keys come from ephemeral values and are not to be shown
	More   bool       // of keys that are set: those that the repetition says come on top
	early  fillCount
}

func (k Keys) has(key addr.Key) bool {
	_, ok := slices.BinarySearchFunc(k.List, key, addr.Key.Compare)
	return ok
}

var onlyOne = []addr.Key{addr.NoKey}

// with adds the keys that a repetition says to those that are set. Where it cannot say, those that
// are set are all there is to know.
func (k Keys) with(said Keys) Keys {
	out := Keys{Repeat: k.Repeat, List: k.List, More: said.Status != Known, early: said.early}
	switch {
	case said.Status == Known && len(k.List) == 0:
		out.List = said.List
	case said.Status == Known:
		out.List = slices.Concat(k.List, said.List)
		slices.SortFunc(out.List, addr.Key.Compare)
		out.List = slices.Compact(out.List)
	case len(k.List) == 0:
		out.Status = said.Status
	}
	return out
}

// repetition is the repetition of a declaration in one face: evaluated once. The engine may set keys
// instead, also where both faces have one repetition.
type repetition struct {
	mu  sync.Mutex
	got atomic.Pointer[repeated]
	set [2]atomic.Pointer[Keys]
}

// repeated is an evaluated repetition.
type repeated struct {
	Keys
	each   map[string]cty.Value // for_each values, with their marks
	marked bool                 // there may be marks in each
	plain  []addr.Key           // while validating: the keys that are written out, if they are few
	diags  []diag.Diagnostic
}

func (f *Frame) repetition(d *program.Def, face Face) *repetition {
	if d.Kind == program.Call {
		return &f.calls[d.Nth].reps[f.faceOf(d, face)]
	}
	return &f.object(d, face).rep
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

func (rep *repetition) expanded(d *program.Def, face Face) Keys {
	set, got := rep.set[face].Load(), rep.got.Load()
	switch {
	case set != nil && (!set.More || d.Repetition == nil || got == nil):
		return *set
	case d.Repetition == nil:
		return Keys{List: onlyOne}
	case got == nil:
		return Keys{Status: Unknown, Repeat: program.RepeatKindOf(d.Repeat)}
	case set != nil:
		return set.with(got.Keys)
	}
	return got.Keys
}

// there reports whether a call has an instance among those expanded.
func (rep *repetition) there(call *program.Def, face Face, key addr.Key) bool {
	set, got := rep.set[face].Load(), rep.got.Load()
	switch {
	case set != nil && set.has(key):
		return true
	case set != nil && !set.More:
		return false
	case call.Repetition == nil:
		return key.IsNone()
	}
	return got != nil && got.has(key)
}

// repeat evaluates a repetition once.
func (f *Frame) repeat(d *program.Def, face Face, from *scope) *repeated {
	rep := f.repetition(d, face)
	if r := rep.got.Load(); r != nil && r.early.stands(f.w) {
		return r
	}
	rep.mu.Lock()
	defer rep.mu.Unlock()
	if r := rep.got.Load(); r != nil && r.early.stands(f.w) {
		return r
	}
	var bag diag.Bag
	now := f.w.fillCount()
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
	if s.each != nil {
		return s.each
	}
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

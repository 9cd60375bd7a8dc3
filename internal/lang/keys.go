package lang

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

// RepeatKind says what makes instances.
type RepeatKind uint8

// The kinds of repetition.
const (
	Once    RepeatKind = iota // one instance without a key
	Count                     // [0], [1], …
	ForEach                   // ["a"], …
	Enabled                   // none, or one without a key
)

// Keys are the instances of a repeated declaration in one module instance.
type Keys struct {
	Status Status
	Repeat RepeatKind
	List   []addr.Key // sorted
	Hidden bool       // the keys come from ephemeral values and are not to be shown
	early  moment
}

func (k Keys) has(key addr.Key) bool {
	_, ok := slices.BinarySearchFunc(k.List, key, addr.Key.Compare)
	return ok
}

var onlyOne = []addr.Key{addr.NoKey}

// repetition is the repetition of a declaration in one face: evaluated once, or set by the engine.
type repetition struct {
	mu  sync.Mutex
	got atomic.Pointer[repeated]
	set atomic.Pointer[Keys]
}

// repeated is an evaluated repetition.
type repeated struct {
	Keys
	each   map[string]cty.Value // for_each values, with their marks
	marked bool                 // there may be marks in each
	plain  []addr.Key           // while validating: the keys that are written out, if they are few
	diags  []diag.Diagnostic
}

func (f *Frame) repetition(d *decl, face Face) *repetition {
	if d.kind == Call {
		return &f.calls[d.nth].reps[f.faceOf(d, face)]
	}
	return &f.object(d, face).rep
}

// Keys gives the instances of a resource, a module call or a provider in this module instance.
func (f *Frame) Keys(d Decl, face Face, bag *diag.Bag) Keys { return f.keys(f.local(d), face, bag) }

// SetKeys says what the instances are, instead of what the configuration says: before keys are
// those in state.
func (f *Frame) SetKeys(d Decl, face Face, k Keys) {
	slices.SortFunc(k.List, addr.Key.Compare)
	f.repetition(f.local(d), face).set.Store(&k)
}

func (f *Frame) keys(d *decl, face Face, bag *diag.Bag) Keys {
	if d.rep == nil {
		if set := f.repetition(d, face).set.Load(); set != nil {
			return *set
		}
		return Keys{List: onlyOne}
	}
	rep := f.repetition(d, face)
	if set := rep.set.Load(); set != nil {
		return *set
	}
	got := f.repeat(d, face, nil)
	if len(got.diags) > 0 {
		bag.Add(got.diags...)
	}
	return got.Keys
}

// repeat evaluates a repetition once.
func (f *Frame) repeat(d *decl, face Face, from *scope) *repeated {
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
	now := f.w.moment()
	s := f.scope(face, &bag)
	defer s.release()
	s.below(from)
	r := s.repeat(d)
	r.diags, r.marked = bag.List(), s.marked
	if s.early {
		r.early = now
	}
	rep.got.Store(r)
	return r
}

// keysOf reads the keys of a declaration into an evaluation.
func (s *scope) keysOf(f *Frame, d *decl) Keys {
	if d.rep == nil && f.repetition(d, s.face).set.Load() == nil {
		return Keys{List: onlyOne}
	}
	var bag diag.Bag
	k := f.keys(d, s.face, &bag)
	s.early = s.early || k.early != 0 && k.Status != Known
	if bag.Len() > 0 {
		s.bag.Add(bag.List()...)
	}
	switch k.Status {
	case Failed:
		s.failed = true
	case Broken:
		s.broken = true
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

// eachValue is each.value of an instance.
func (s *scope) eachValue() (cty.Value, bool) {
	r := s.own()
	s.marked, s.early = s.marked || r.marked, s.early || r.early != 0
	name, _ := s.key.Str()
	v, ok := r.each[name]
	return v, ok
}

// RepeatOf says what makes the instances of a resource, from its declaration alone.
func RepeatOf(r *config.Resource) RepeatKind { return repeatKind(r.Repeat) }

func repeatKind(r config.Repeat) RepeatKind {
	switch {
	case r.Count != nil:
		return Count
	case r.ForEach != nil:
		return ForEach
	case r.Enabled != nil:
		return Enabled
	}
	return Once
}

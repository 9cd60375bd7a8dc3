package frame

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// What an empty slot means depends on what the frame is for. In a walk, on the after face, the order
// of the nodes keeps everything from looking at a slot before it is filled: that one looks all the same
// is a mistake of the walk, unless the walk is past the resource: then what should have filled it
// failed, or it is in an instance of a module that there is not. Everywhere else there is nothing to rely on, and
// nothing is known of what is in no slot; what is worked out with that is worked out again when the slot is filled.
const (
	idle    uint32 = iota // nothing fills the slots in any order
	walking               // a walk does
	over                  // it is over: what is not there never came
)

// Begin says that a walk begins to fill the slots of the after face.
func (f *Frame) Begin() { f.w.stage.Store(walking) }

// Past says that the walk fills no more slots of a resource: what is in none by now failed, as was
// reported where it did. It has no effect on slots that are filled later all the same.
func (f *Frame) Past(d program.Decl) { f.w.past[d].Store(true) }

// End says that the walk is over: what needs a slot that it did not fill, fails in silence.
func (f *Frame) End() { f.w.stage.Store(over) }

// empty is what an instance without a value is.
func (s *scope) empty(f *Frame, d *program.Def, k addr.Key) cty.Value {
	// A lease is open only for those who receive it.
	if !f.w.o.Validate && s.face == After && d.Res.Mode != addr.Ephemeral {
		id := f.n.Decl(d.Index)
		switch stage := f.w.stage.Load(); {
		case stage == over || stage == walking && f.w.past[id].Load():
			s.Failed = true
			return cty.DynamicVal
		case stage == walking:
			panic(fmt.Sprintf("lang: %s%s was read before its value was there", f.w.p.Describe(id), k))
		}
	}
	s.early = s.early || !f.w.o.Validate
	return s.placeholder(f, d)
}

// Put fills the slot of an instance.
func (f *Frame) Put(d program.Decl, k addr.Key, face Face, v mark.Value) {
	f.put(d, k, face, &slot{rest: v})
}

// PutLazy fills a slot with a value that is made only if a reference reads it. load is called at most
// once, from whichever goroutine looks first.
func (f *Frame) PutLazy(d program.Decl, k addr.Key, face Face, load func() mark.Value) {
	f.put(d, k, face, &slot{load: load})
}

// Fail says that there is no value because something went wrong: an evaluation that reads it has the
// outcome Failed.
func (f *Frame) Fail(d program.Decl, k addr.Key, face Face) { f.put(d, k, face, &slot{failed: true}) }

// Drop empties a slot: a hold went down.
func (f *Frame) Drop(d program.Decl, k addr.Key, face Face) { f.put(d, k, face, nil) }

// Got gives what is in a slot; false if it is empty or failed.
func (f *Frame) Got(d program.Decl, k addr.Key, face Face) (mark.Value, bool) {
	s := f.object(f.local(d), face).slot(k)
	if s == nil || s.failed {
		return mark.Value{}, false
	}
	s.force()
	return s.rest, true
}

func (f *Frame) put(d program.Decl, k addr.Key, face Face, s *slot) {
	o := f.object(f.local(d), face)
	o.fill(k, s)
	o.puts.Add(1)
	o.whole.Store(nil)
	if o.missed.Load() || f.local(d).Kind == program.Resource && f.local(d).Res.Mode == addr.Ephemeral {
		f.w.fills.Add(1)
	}
}

// instance reads the slot of one instance into an evaluation.
func (s *scope) instance(f *Frame, d *program.Def, k addr.Key) cty.Value {
	o := f.object(d, s.face)
	sl := o.slot(k)
	if sl == nil {
		o.missed.Store(true)
		if sl = o.slot(k); sl == nil { // nor was it filled meanwhile
			return s.empty(f, d, k)
		}
	}
	if sl.failed {
		s.Failed = true
		return cty.DynamicVal
	}
	sl.force()
	s.Marked = s.Marked || len(sl.rest.Marks) > 0
	return s.owned(f, d, sl.joined)
}

// owned is f.marked in an evaluation.
func (s *scope) owned(f *Frame, d *program.Def, v cty.Value) cty.Value {
	if d.Res.Mode == addr.Ephemeral {
		s.Marked = true
		if s := f.w.p.Schema(f.n.Decl(d.Index)); s != nil { // else Bind reported that there is none
			f.w.names.Learn(v.Type(), s.Type())
		}
	}
	return markOwn(f, d, v)
}

// placeholderOf is f.placeholder in an evaluation.
func (s *scope) placeholder(f *Frame, d *program.Def) cty.Value {
	s.Marked = s.Marked || d.Res.Mode == addr.Ephemeral
	return placeholderOf(f, d)
}

// markOwn makes sure that what an ephemeral resource holds is ephemeral.
func markOwn(f *Frame, d *program.Def, v cty.Value) cty.Value {
	if d.Res.Mode != addr.Ephemeral {
		return v
	}
	return mark.With(v, mark.Ephemeral, originOf(f, d))
}

func originOf(f *Frame, d *program.Def) *mark.Origin {
	return &mark.Origin{What: d.Res.In(f.n.Config.Path).Local(), Range: d.At}
}

// placeholderOf stands for an instance of which nothing is known but its type.
func placeholderOf(f *Frame, d *program.Def) cty.Value {
	v := cty.DynamicVal
	if s := f.w.p.Schema(f.n.Decl(d.Index)); s != nil {
		v = cty.UnknownVal(s.Type()).RefineNotNull()
	}
	return markOwn(f, d, v)
}

// wholeOf is the value of all instances together: the object itself, a tuple, or an object.
func (s *scope) wholeOf(f *Frame, d *program.Def) cty.Value {
	keys := s.keysOf(f, d)
	switch {
	case keys.Status != Known: // neither how many there are nor what they are
		return cty.DynamicVal
	case keys.Repeat == program.Once && (keys.has(addr.NoKey) || f.w.o.Validate):
		return s.instance(f, d, addr.NoKey)
	case keys.Repeat == program.Once: // said to be none by the engine: it is not there yet
		return s.placeholder(f, d)
	case keys.Repeat == program.Enabled:
		if len(keys.List) == 0 {
			return s.hide(f, d, keys, cty.NullVal(cty.DynamicPseudoType))
		}
		return s.instance(f, d, addr.NoKey)
	case f.w.o.Validate:
		if known := s.placeholders(d); known != nil {
			keys.List = known
			return s.hide(f, d, keys, assemble(keys, func(addr.Key) cty.Value { return s.placeholder(f, d) }, nil))
		}
		return s.hide(f, d, keys, cty.DynamicVal)
	}
	o := f.object(d, s.face)
	puts, now := o.puts.Load(), f.w.fills.now()
	if v := o.whole.Load(); v != nil && v.puts == puts && v.early.stands(&f.w.fills) {
		s.Marked, s.early = s.Marked || v.marked, s.early || v.early != 0
		return s.hide(f, d, keys, v.val)
	}
	failed, marked, early := s.Failed, s.Marked, s.early
	s.Failed, s.Marked, s.early = false, false, false
	v := assemble(keys, func(k addr.Key) cty.Value { return s.instance(f, d, k) }, func() cty.Value { return s.placeholder(f, d) })
	if !s.Failed {
		kept := &whole{val: v, marked: s.Marked, puts: puts}
		if s.early {
			kept.early = now
		}
		o.whole.Store(kept)
	}
	s.Failed, s.Marked, s.early = s.Failed || failed, s.Marked || marked, s.early || early
	return s.hide(f, d, keys, v)
}

// hide marks what depends on which instances there are, if that comes from ephemeral values.
func (s *scope) hide(f *Frame, d *program.Def, keys Keys, v cty.Value) cty.Value {
	if !keys.Hidden {
		return v
	}
	return s.owned(f, d, v)
}

// assemble makes a tuple or an object of instances. Keys that come from a state may have holes.
func assemble(keys Keys, get func(addr.Key) cty.Value, hole func() cty.Value) cty.Value {
	if keys.Repeat == program.Count {
		return cty.TupleVal(inSequence(keys.List, get, hole))
	}
	vals := make(map[string]cty.Value, len(keys.List))
	for _, k := range keys.List {
		if name, ok := k.Str(); ok {
			vals[name] = get(k)
		}
	}
	return cty.ObjectVal(vals)
}

func inSequence(list []addr.Key, get func(addr.Key) cty.Value, hole func() cty.Value) []cty.Value {
	vals := make([]cty.Value, 0, len(list))
	for _, k := range list {
		i, ok := k.Int()
		if !ok {
			continue
		}
		for len(vals) < i {
			vals = append(vals, hole())
		}
		vals = append(vals, get(k))
	}
	return vals
}

package frame

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// A slot is the place for the object of one resource instance on one face: Before is the prior state, and After is the
// planned state. The engine fills a slot: it puts the object there.
//
// The stage of the walk decides what reading an empty slot means. While a walk fills the slots of the After face, the
// order of its steps ensures that each slot is filled before it is read. If an evaluation reads an empty slot
// nevertheless, there are two cases. If the walk is past the resource (see Past), the operation that should have filled
// the slot failed, or the module instance does not exist: the evaluation fails. Otherwise the walk has a bug: the read
// panics. After the walk, the evaluation fails. In all other cases the value of an empty slot is unknown: before the
// walk, on the Before face, for ephemeral resources, and during validation. Results that were computed from an empty
// slot are computed again when the slot is filled, except during validation.
const (
	idle    uint32 = iota // no walk fills the slots
	walking               // a walk is filling the slots
	done                  // the walk has ended: an empty slot stays empty
)

// Begin marks the start of a walk, which fills the slots of the After face (the planned state). From now on, reading an
// empty slot of this face is a bug of the walk and panics, except for ephemeral resources and resources that the walk
// is past.
func (f *Frame) Begin() { f.w.stage.Store(walking) }

// Past records that the walk will fill no more slots of a resource, in any module instance. An evaluation that reads an
// empty slot of the resource then fails without a further error, because the reason was reported already. A slot that
// is filled later can still be read.
func (f *Frame) Past(d program.Decl) { f.w.past[d].Store(true) }

// End marks the end of the walk. From now on, an evaluation that reads an empty slot of the After face fails without an
// error. For an ephemeral resource, the value stays unknown.
func (f *Frame) End() { f.w.stage.Store(done) }

// resources reads the objects of resources into an evaluation.
type resources struct{ s *scope }

// empty returns the value of the instance k, whose slot is empty. It is an unknown object, and if the walk cannot fill
// the slot any more, the evaluation fails. empty panics if the walk should have filled the slot before this evaluation.
// The comment at the constant idle has the rules.
func (r resources) empty(f *Frame, d *program.Def, k addr.Key) cty.Value {
	// an ephemeral resource is open only while its users need it, so its slot may be empty
	if !f.w.o.Validate && r.s.face == After && d.Src.Res.Mode != addr.Ephemeral {
		id := f.n.Decl(d.Index)
		switch stage := f.w.stage.Load(); {
		case stage == done || stage == walking && f.w.past[id].Load():
			r.s.Failed = true
			return cty.DynamicVal
		case stage == walking:
			panic(fmt.Sprintf("lang: %s%s was read before its value was there", f.w.p.Describe(id), k))
		}
	}
	r.s.early = r.s.early || !f.w.o.Validate
	return r.placeholder(f, d)
}

// Put puts the object v of the instance k of the resource d into its slot in this module instance, in place of an
// earlier object. It panics if d belongs to another module.
func (f *Frame) Put(d program.Decl, k addr.Key, face Face, v mark.Value) {
	put(f, d, k, face, &slot{rest: v})
}

// PutLazy fills a slot like Put, with an object that load returns when a reference first reads it. load is called at
// most once, from the goroutine that reads first. Other readers wait for it.
func (f *Frame) PutLazy(d program.Decl, k addr.Key, face Face, load func() mark.Value) {
	put(f, d, k, face, &slot{load: load})
}

// Fail marks the slot of an instance as failed: it has no object, and an evaluation that reads it has the status
// Failed, without a further error.
func (f *Frame) Fail(d program.Decl, k addr.Key, face Face) { put(f, d, k, face, &slot{failed: true}) }

// Drop empties the slot of an instance, for example when an ephemeral resource was closed.
func (f *Frame) Drop(d program.Decl, k addr.Key, face Face) { put(f, d, k, face, nil) }

// Got returns the object in a slot, or false if the slot is empty or failed. If PutLazy has filled the slot, Got loads
// the object.
func (f *Frame) Got(d program.Decl, k addr.Key, face Face) (mark.Value, bool) {
	s := f.object(f.local(d), face).slot(k)
	if s == nil || s.failed {
		return mark.Value{}, false
	}
	s.force()
	return s.rest, true
}

// put sets the slot of an instance, or empties it if s is nil. Values that were computed while the slot was empty are
// computed again when they are needed.
func put(f *Frame, d program.Decl, k addr.Key, face Face, s *slot) {
	def := f.local(d)
	o := f.object(def, face)
	o.put(k, s)
	if o.missed.Load() || def.Kind == program.Resource && def.Src.Res.Mode == addr.Ephemeral {
		f.w.fills.Add(1)
	}
}

// instance reads the slot of one instance for the evaluation. If the slot is marked as failed, the value is unknown,
// and the evaluation gets the outcome Failed. If the slot is empty, the method empty returns the value.
func (r resources) instance(f *Frame, d *program.Def, k addr.Key) cty.Value {
	o := f.object(d, r.s.face)
	sl := o.slot(k)
	if sl == nil {
		o.missed.Store(true)
		if sl = o.slot(k); sl == nil { // read again, because the slot may have been filled before missed was set
			return r.empty(f, d, k)
		}
	}
	if sl.failed {
		r.s.Failed = true
		return cty.DynamicVal
	}
	sl.force()
	r.s.Marked = r.s.Marked || len(sl.rest.Marks) > 0
	return r.owned(f, d, sl.joined)
}

// owned returns v, the object of a resource. For an ephemeral resource it marks the object as ephemeral, and records
// the attribute names that the schema does not have as names from ephemeral text.
func (r resources) owned(f *Frame, d *program.Def, v cty.Value) cty.Value {
	if d.Src.Res.Mode == addr.Ephemeral {
		r.s.Marked = true
		if sch := f.w.p.Schema(f.n.Decl(d.Index)); sch != nil { // if sch is nil, Bind has reported that the schema is missing
			f.w.names.Learn(v.Type(), sch.Type())
		}
	}
	return markDeclared(f, d, v)
}

// placeholder returns an unknown object of the type of the resource. For an ephemeral resource, the object has the
// ephemeral mark.
func (r resources) placeholder(f *Frame, d *program.Def) cty.Value {
	r.s.Marked = r.s.Marked || d.Src.Res.Mode == addr.Ephemeral
	return placeholderOf(f, d)
}

// markDeclared returns v, the value of a resource. For an ephemeral resource it marks the value as ephemeral.
func markDeclared(f *Frame, d *program.Def, v cty.Value) cty.Value {
	if d.Src.Res.Mode != addr.Ephemeral {
		return v
	}
	return mark.With(v, mark.Ephemeral, originOf(f, d))
}

func originOf(f *Frame, d *program.Def) *mark.Origin {
	return &mark.Origin{What: d.Src.Res.In(f.n.Config.Path).Local(), Range: d.At}
}

// placeholderOf returns an unknown object of the type of the resource that is not null, or a value of unknown type if
// the program has no schema of the resource. For an ephemeral resource, the value has the ephemeral mark.
func placeholderOf(f *Frame, d *program.Def) cty.Value {
	v := cty.DynamicVal
	if s := f.w.p.Schema(f.n.Decl(d.Index)); s != nil {
		v = cty.UnknownVal(s.Type()).RefineNotNull()
	}
	return markDeclared(f, d, v)
}

// wholeOf returns the value of a whole resource: the only object, a tuple of all instances if it has count, or an
// object of all instances if it has for_each. If it has the argument enabled, the value is the only object or null. It
// is unknown if the instances are not known.
func (r resources) wholeOf(f *Frame, d *program.Def) cty.Value {
	keys := r.s.keysOf(f, d)
	switch {
	case keys.Status != Known: // the number of instances is unknown
		return cty.DynamicVal
	case keys.Repeat == program.Once && (keys.has(addr.NoKey) || f.w.o.Validate):
		return r.instance(f, d, addr.NoKey)
	case keys.Repeat == program.Once: // the engine has set an empty list of keys, because the object does not exist yet
		return r.placeholder(f, d)
	case keys.Repeat == program.Enabled:
		if len(keys.List) == 0 {
			return r.hide(f, d, keys, cty.NullVal(cty.DynamicPseudoType))
		}
		return r.instance(f, d, addr.NoKey)
	case f.w.o.Validate:
		if known := r.s.placeholders(d); known != nil {
			keys.List = known
			return r.hide(f, d, keys, assemble(keys, func(addr.Key) cty.Value { return r.placeholder(f, d) }, nil))
		}
		return r.hide(f, d, keys, cty.DynamicVal)
	}
	o := f.object(d, r.s.face)
	puts, now := o.puts.Load(), f.w.fills.now()
	if v := o.whole.Load(); v != nil && v.puts == puts && v.early.valid(&f.w.fills) {
		r.s.Marked, r.s.early = r.s.Marked || v.marked, r.s.early || v.early != 0
		return r.hide(f, d, keys, v.val)
	}
	failed, marked, early := r.s.Failed, r.s.Marked, r.s.early
	r.s.Failed, r.s.Marked, r.s.early = false, false, false
	v := assemble(keys, func(k addr.Key) cty.Value { return r.instance(f, d, k) }, func() cty.Value { return r.placeholder(f, d) })
	if !r.s.Failed {
		kept := &whole{val: v, marked: r.s.Marked, puts: puts}
		if r.s.early {
			kept.early = now
		}
		o.whole.Store(kept)
	}
	r.s.Failed, r.s.Marked, r.s.early = r.s.Failed || failed, r.s.Marked || marked, r.s.early || early
	return r.hide(f, d, keys, v)
}

// hide returns v, with the ephemeral mark if the instance keys come from ephemeral values. Only ephemeral resources may
// have such keys.
func (r resources) hide(f *Frame, d *program.Def, keys Keys, v cty.Value) cty.Value {
	if !keys.Hidden {
		return v
	}
	return r.owned(f, d, v)
}

// assemble returns the value of all instances: a tuple for count, and an object for for_each. get returns the value of
// an instance. For count, the keys from a state may have gaps: hole returns the element at a missing index.
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

// inSequence returns the values of the instances with number keys, in the order of the keys. list must be sorted.
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

package filling

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// filler fills the frame of an apply walk (the values of its declarations) from the plan.
type filler struct {
	prog    *program.Program
	frame   *frame.Frame
	plan    *plan.Plan
	state   *state.Snapshot // the refreshed state, with the results of data sources that plan files do not store
	changes map[addr.Object]*plan.Change
}

// Applied fills the root frame (the values of all module instances) for the apply walk of the plan p, before the walk
// starts: with the stored values, and with unknown values for the instances that a partial plan omits.
func Applied(prog *program.Program, frame *frame.Frame, p *plan.Plan) {
	newFiller(prog, frame, p).fill()
}

// Predicted fills the root frame with the values that the apply walk of the plan p is expected to end with: the values
// of Applied, and the planned values of changed objects.
func Predicted(prog *program.Program, frame *frame.Frame, p *plan.Plan) {
	x := newFiller(prog, frame, p)
	x.fill()
	x.fillPlanned()
}

func newFiller(prog *program.Program, frame *frame.Frame, p *plan.Plan) *filler {
	known := p.Refreshed.Edit()
	for _, r := range p.Unstored.Results {
		if !r.Before && r.Entry != nil {
			known.Put(r.Object, r.Entry)
		}
	}
	return &filler{prog, frame, p, known.Objects(), ChangesByObject(p)}
}

// fill sets the instance keys of the plan and the stored values: for all objects on the before face (the prior values),
// and for unchanged objects on the after face (the planned values), except in a destroy plan. It sets unknown values
// for instances whose change is deferred, and, if the plan covers only a part of the configuration, for each instance
// that the plan omits and that is not in the state.
func (x *filler) fill() {
	x.expand()
	for _, res := range x.state.Resources() {
		d, ok := x.prog.Resource(res.Addr.Resource())
		if !ok {
			continue
		}
		x.fillFace(d, res, frame.Before)
		if x.plan.Mode != plan.Destroy {
			x.fillFace(d, res, frame.After)
		}
	}
	x.fillReadings()
	x.fillDeferred()
	if x.plan.Partial() && x.plan.Mode != plan.Destroy {
		x.fillLeft()
	}
}

// expand sets the instance keys of module calls and resources from the plan.
func (x *filler) expand() {
	ExpandBefore(x.prog, x.frame, x.state)
	for _, d := range x.prog.Decls() {
		switch {
		case d.Repeat() == program.Once || d.Kind == program.Provider || d.Kind == program.Resource && d.Resource.Mode == addr.Ephemeral:
			continue
		case d.Kind == program.Call:
			x.setPlanned(d, frame.Before, x.plan.KeysBefore)
		}
		x.setPlanned(d, frame.After, x.plan.Keys)
	}
}

// setPlanned sets the keys of a declaration in all module instances. Keys that the plan does not have are unknown.
func (x *filler) setPlanned(d *program.Declaration, face frame.Face, from map[string][]addr.Key) {
	frames, _ := x.frame.Instances(d.Module, face)
	for _, f := range frames {
		list, ok := from[placeOf(d, f)]
		keys := frame.Keys{Repeat: d.Repeat(), List: slices.Clone(list)}
		if !ok {
			keys.Status = frame.Unknown
		}
		f.SetKeys(d.ID, face, keys)
	}
}

func (x *filler) fillFace(d *program.Declaration, res *state.Resource, face frame.Face) {
	f := x.frame.At(res.Addr.Module, face)
	if f == nil {
		return
	}
	if face == frame.Before {
		f.SetKeys(d.ID, face, frame.Keys{Repeat: d.Repeat(), List: res.Keys()})
	}
	for o, e := range res.Objects() {
		if o.IsDeposed() || face == frame.After && !x.stays(o) {
			continue
		}
		f.PutLazy(d.ID, o.Key, face, func() mark.Value { return StoredValue(x.prog, d, e) })
	}
}

// fillReadings sets the prior values (before face) of data sources that planning read.
func (x *filler) fillReadings() {
	readings := slices.Clone(x.plan.Readings)
	for _, r := range x.plan.Unstored.Results {
		if r.Before {
			readings = append(readings, plan.Reading{Object: r.Object, Entry: r.Entry})
		}
	}
	for _, r := range readings {
		d, ok := x.prog.Resource(r.Object.Resource())
		if !ok || r.Entry == nil {
			continue
		}
		f := x.frame.At(r.Object.Module, frame.Before)
		if f == nil {
			continue
		}
		if keys := f.Expanded(d.ID, frame.Before); d.Repeat() != program.Once && !slices.Contains(keys.List, r.Object.Key) {
			f.SetKeys(d.ID, frame.Before, frame.Keys{Repeat: d.Repeat(), List: append(slices.Clone(keys.List), r.Object.Key)})
		}
		f.PutLazy(d.ID, r.Object.Key, frame.Before, func() mark.Value { return StoredValue(x.prog, d, r.Entry) })
	}
}

// fillLeft sets unknown values for instances that are neither in the state nor in the changes of the plan. The plan has
// omitted these instances because it is partial (-target, -exclude, -changed).
func (x *filler) fillLeft() {
	for _, d := range x.prog.Decls() {
		if d.Kind != program.Resource || d.Resource.Mode == addr.Ephemeral {
			continue
		}
		frames, _ := x.frame.Instances(d.Module, frame.After)
		for _, f := range frames {
			abs := d.Resource.In(f.Addr())
			for _, k := range f.Expanded(d.ID, frame.After).List {
				o := abs.Instance(k).Current()
				if x.changes[o] == nil && x.state.Get(o) == nil {
					f.Put(d.ID, k, frame.After, mark.Plain(x.prog.Schema(d.ID).Unknown()))
				}
			}
		}
	}
}

// fillDeferred sets unknown values for instances whose change was deferred to a later round (a further plan and apply).
// An instance whose key is unknown needs no value.
func (x *filler) fillDeferred() {
	for _, c := range x.plan.Deferred {
		d, ok := x.prog.Resource(c.Object.Resource())
		if f := x.frame.At(c.Object.Module, frame.After); ok && f != nil && c.Deferral.Pattern == "" && !c.Object.IsDeposed() {
			f.Put(d.ID, c.Object.Key, frame.After, mark.Plain(x.prog.Schema(d.ID).Unknown()))
		}
	}
}

// stays reports whether the plan leaves an object unchanged, so that its stored value is also its planned value.
func (x *filler) stays(o addr.Object) bool {
	c := x.changes[o]
	return c == nil || c.Action == plan.NoOp
}

// fillPlanned sets the planned values of declared objects on the after face (planned values). A destroy plan has no
// planned values. In an apply walk, the steps set these values.
func (x *filler) fillPlanned() {
	if x.plan.Mode == plan.Destroy {
		return
	}
	for _, c := range x.plan.Changes {
		d, declared := x.prog.Resource(c.Object.Resource())
		f := x.frame.At(c.Object.Module, frame.After)
		if !declared || f == nil || c.Object.IsDeposed() {
			continue
		}
		switch {
		case c.Action.Ups():
			f.Put(d.ID, c.Object.Key, frame.After, c.After)
		case c.Action == plan.NoOp:
			if e := x.state.Get(c.Object); e != nil {
				f.PutLazy(d.ID, c.Object.Key, frame.After, func() mark.Value { return StoredValue(x.prog, d, e) })
			}
		}
	}
}

// ChangesByObject returns the changes of a plan by object.
func ChangesByObject(p *plan.Plan) map[addr.Object]*plan.Change {
	out := make(map[addr.Object]*plan.Change, len(p.Changes))
	for _, c := range p.Changes {
		out[c.Object] = c
	}
	return out
}

// StoredValue decodes the value of a stored object, without calling a provider, and marks its sensitive parts. If the
// entry does not match the schema, for example because its version is older, StoredValue returns an unknown value.
func StoredValue(prog *program.Program, d *program.Declaration, e *state.Entry) mark.Value {
	sch := prog.Schema(d.ID)
	v, err := sch.DecodeJSON(e.Attrs)
	if err != nil || e.Schema != sch.Version {
		return mark.Plain(sch.Unknown())
	}
	return mark.Value{Raw: v, Marks: mark.SensitiveAt(e.Sensitive)}
}

// Stored fills the before face of a frame from a state. A resource with stored objects in a module instance has exactly
// the stored instances there. Any other resource has the instances of its count or for_each, if these are known, with
// unknown values.
func Stored(prog *program.Program, root *frame.Frame, s *state.Snapshot) {
	ExpandBefore(prog, root, s)
	// Stored objects come first, because count and for_each of other resources may refer to them.
	for _, all := range []bool{false, true} {
		for _, d := range prog.Decls() {
			if d.Kind != program.Resource {
				continue
			}
			frames, _ := root.Instances(d.Module, frame.Before)
			if all {
				frames, _ = root.Expand(d.Module, frame.Before, &diag.Bag{})
			}
			for _, f := range frames {
				look(prog, f, d, s, all)
			}
		}
	}
}

// look sets the keys and values of one resource in one module instance from the state. If all is false, look handles
// only resources with stored objects. If all is true, it handles only the other resources, with the keys of their count
// or for_each and with unknown values.
func look(prog *program.Program, f *frame.Frame, d *program.Declaration, s *state.Snapshot, all bool) {
	stored := s.Resource(d.Resource.In(f.Addr()))
	keys := frame.Keys{Repeat: d.Repeat(), List: stored.Keys()}
	if (stored.Len() == 0) != all {
		return
	}
	if all {
		if keys = f.Keys(d.ID, frame.Before, &diag.Bag{}); keys.Status != frame.Known {
			return
		}
	}
	f.SetKeys(d.ID, frame.Before, keys)
	for _, k := range keys.List {
		f.PutLazy(d.ID, k, frame.Before, func() mark.Value { return looked(prog, d, stored, k) })
	}
}

func looked(prog *program.Program, d *program.Declaration, stored *state.Resource, k addr.Key) mark.Value {
	if e := stored.Get(k); e != nil {
		return StoredValue(prog, d, e)
	}
	return mark.Plain(prog.Schema(d.ID).Unknown())
}

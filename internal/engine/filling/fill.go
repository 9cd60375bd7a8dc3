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

// filler puts what a plan says into the frame of its apply walk.
type filler struct {
	prog    *program.Program
	frame   *frame.Frame
	plan    *plan.Plan
	changes map[addr.Object]*plan.Change
}

// Applied fills a frame as the apply walk of a plan begins with it.
func Applied(prog *program.Program, frame *frame.Frame, p *plan.Plan) {
	(&filler{prog, frame, p, ChangesByObject(p)}).fill()
}

// Foreseen fills a frame with what the apply walk of a plan will have put there at its end.
func Foreseen(prog *program.Program, frame *frame.Frame, p *plan.Plan) {
	x := &filler{prog, frame, p, ChangesByObject(p)}
	x.fill()
	x.fillPlanned()
}

// fill puts what is there into the frame: on the before face everything, on the after face what
// stays as it is. What the plan left out and no run made has no value.
func (x *filler) fill() {
	x.expand()
	for _, res := range x.plan.Refreshed.Resources() {
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
	if x.plan.Partial() && x.plan.Mode != plan.Destroy {
		x.fillLeft()
	}
}

// expand takes the instances from the plan.
func (x *filler) expand() {
	ExpandBefore(x.prog, x.frame, x.plan.Refreshed)
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

// setPlanned sets the keys of a declaration in all module instances. What was not decided is unknown.
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

// fillReadings puts what planning read for the before face there.
func (x *filler) fillReadings() {
	for _, r := range x.plan.Readings {
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

// fillLeft gives what targeting left out, and the state does not have, a value that is not known.
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
				if x.changes[o] == nil && x.plan.Refreshed.Get(o) == nil {
					f.Put(d.ID, k, frame.After, mark.Plain(x.prog.Schema(d.ID).Unknown()))
				}
			}
		}
	}
}

// stays reports whether an object keeps its value. Where it has conditions that are yet to hold, those who refer to it
// wait for them; a provider that was configured with it before, and serves downs, does not.
func (x *filler) stays(o addr.Object) bool {
	c := x.changes[o]
	return c == nil || c.Action == plan.NoOp
}

// fillPlanned puts what is planned into the frame, where the apply walk itself would.
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
			if e := x.plan.Refreshed.Get(c.Object); e != nil {
				f.PutLazy(d.ID, c.Object.Key, frame.After, func() mark.Value { return StoredValue(x.prog, d, e) })
			}
		}
	}
}

// ChangesByObject finds the changes of a plan.
func ChangesByObject(p *plan.Plan) map[addr.Object]*plan.Change {
	out := make(map[addr.Object]*plan.Change, len(p.Changes))
	for _, c := range p.Changes {
		out[c.Object] = c
	}
	return out
}

// StoredValue is a stored object as a value, without a provider's help; for what targeting leaves
// out.
func StoredValue(prog *program.Program, d *program.Declaration, e *state.Entry) mark.Value {
	sch := prog.Schema(d.ID)
	v, err := sch.DecodeJSON(e.Attrs)
	if err != nil || e.Schema != sch.Version {
		return mark.Plain(sch.Unknown())
	}
	return mark.Value{Raw: v, Marks: mark.SensitiveAt(e.Sensitive)}
}

// Stored fills a frame's before face from a state. What the state does not have is unknown.
func Stored(prog *program.Program, root *frame.Frame, s *state.Snapshot) {
	ExpandBefore(prog, root, s)
	// What the state has comes first: a repetition may be made from it.
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

// look fills one resource's slots from the state, in both faces: a steady one has only one.
// all says that also those that the state does not have are wanted.
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

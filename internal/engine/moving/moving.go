package moving

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/state"
)

// Moves are the moves of stored objects before planning, because of moved blocks, or because count or enabled was added
// or removed.
type Moves struct {
	State   *state.Snapshot                  // the state with all objects at their new addresses
	Origins map[addr.Object]addr.Object      // new address → old address
	Retyped map[addr.Object]addr.Instance    // objects whose type changed: new address → old address
	Leaving map[program.Decl][]*program.Move // moved blocks that move instances away from the declaration
	blocked []diag.Diagnostic                // warnings about objects that do not move, because their new addresses are in use
	prog    *program.Program
	groups  map[addr.Resource][]*state.Resource // resources of State, by declaration; nil: not computed yet
}

// Origin returns the address of an object before its move, or the same address if it did not move.
func (m *Moves) Origin(o addr.Object) addr.Object {
	if was, ok := m.Origins[o]; ok {
		return was
	}
	return o
}

// ByDeclaration returns the resources of State, grouped by declaration. The first call computes the groups and must not
// be concurrent with other calls.
func (m *Moves) ByDeclaration() map[addr.Resource][]*state.Resource {
	if m.groups == nil {
		m.groups = map[addr.Resource][]*state.Resource{}
		for _, r := range m.State.Resources() {
			res := r.Addr.Resource()
			m.groups[res] = append(m.groups[res], r)
		}
	}
	return m.groups
}

// Make computes all moves for a program and a state. It applies the moved blocks in the order of prog.Moves, so that an
// object can move several times, and then the moves that follow from added or removed count and enabled arguments
// (impliedMoves). The result has the state after the moves.
func Make(prog *program.Program, s *state.Snapshot) *Moves {
	m := &Moves{prog: prog, State: s, Origins: map[addr.Object]addr.Object{}, Retyped: map[addr.Object]addr.Instance{}, Leaving: map[program.Decl][]*program.Move{}}
	all := prog.Moves()
	for _, st := range all {
		if st.From.Mode == 0 {
			continue
		}
		res := st.From.Resource()
		res.Module = st.In.Join(st.From.Module())
		if d, ok := prog.Resource(res); ok {
			m.Leaving[d.ID] = append(m.Leaving[d.ID], st)
		}
	}
	if len(all) > 0 {
		m.carry(m.applyMoves(all))
	}
	m.impliedMoves()
	return m
}

// CheckLeft reports an error for each moved block whose source is still declared: the resource d as a whole, or an
// instance of d. f is the module instance, and keys are the keys of the declared instances of d there.
func (m *Moves) CheckLeft(d *program.Declaration, f *frame.Frame, keys []addr.Key, bag *diag.Bag) {
	for _, st := range m.Leaving[d.ID] {
		switch abs := d.Resource.In(f.Addr()); {
		case f.Addr() != st.From.ModuleIn(above(f.Addr(), st.In)):
		case st.Whole():
			bag.Add(program.MovedStill(st, "resource", abs.String(), d.Range))
		case slices.Contains(keys, st.From.Key):
			bag.Add(program.MovedStill(st, "instance", abs.Instance(st.From.Key).String(), d.Range))
		}
	}
}

// Faults reports an error for each moved block whose source module is still declared, which can be found only after
// planning. If there is no such block, Faults warns of objects that did not move because their new addresses are in
// use. If bag has errors, Faults does nothing, because the errors may be the cause. destroys is true for a destroy
// plan: then a source module may still be declared.
func (m *Moves) Faults(root *frame.Frame, destroys bool, bag *diag.Bag) {
	if bag.HasErrors() {
		return
	}
	if !destroys {
		m.checkModulesLeft(root, bag)
	}
	if !bag.HasErrors() {
		bag.Add(m.blocked...)
	}
}

// checkModulesLeft reports an error for each moved block whose source module is still declared.
func (m *Moves) checkModulesLeft(root *frame.Frame, bag *diag.Bag) {
	for _, st := range m.prog.Moves() {
		call, declared := m.prog.Call(st.In.Join(st.From.Module()))
		if st.From.Mode != 0 || !declared {
			continue
		}
		frames, _ := root.Instances(st.In, frame.After)
		for _, f := range frames {
			from := st.From.ModuleIn(f.Addr())
			switch {
			case st.Whole() && root.At(from.Parent(), frame.After) != nil:
				bag.Add(program.MovedStill(st, "module", from.String(), call))
			case !st.Whole() && root.At(from, frame.After) != nil:
				bag.Add(program.MovedStill(st, "module instance", from.String(), call))
			}
		}
	}
}

// above returns the instance of module m that contains a module instance.
func above(at addr.ModuleInstance, m addr.Module) addr.ModuleInstance {
	for d := at.Depth(); d > m.Depth(); d-- {
		at = at.Parent()
	}
	return at
}

// moveIndex has the addresses of objects while the moved blocks are applied one by one. A declaration is a resource
// without instance keys.
type moveIndex struct {
	state   *state.Snapshot
	objects map[addr.Resource][]addr.Object // the current addresses of objects, by resource
	below   map[addr.Module][]addr.Resource // the resources that have or had objects, in and below a module
	origin  map[addr.Object]addr.Object     // from the current address of a moved object to its first address
	removed map[addr.Object]bool            // addresses from which moves have removed the object
}

func newMoveIndex(s *state.Snapshot) *moveIndex {
	w := &moveIndex{s, map[addr.Resource][]addr.Object{}, map[addr.Module][]addr.Resource{}, map[addr.Object]addr.Object{}, map[addr.Object]bool{}}
	for _, r := range s.Resources() {
		for o := range r.Objects() {
			w.add(o)
		}
	}
	return w
}

func (w *moveIndex) add(o addr.Object) {
	res := o.Resource()
	if _, known := w.objects[res]; !known {
		for m := res.Module; ; m = m.Parent() {
			w.below[m] = append(w.below[m], res)
			if m.IsRoot() {
				break
			}
		}
	}
	w.objects[res] = append(w.objects[res], o)
}

// occupied reports whether an object is now at the address.
func (w *moveIndex) occupied(o addr.Object) bool {
	_, arrived := w.origin[o]
	return arrived || w.state.Get(o) != nil && !w.removed[o]
}

// concerned returns the resources whose objects a moved block may move.
func (w *moveIndex) concerned(st *program.Move) []addr.Resource {
	m := st.In.Join(st.From.Module())
	if st.From.Mode == 0 {
		return w.below[m]
	}
	return []addr.Resource{{Module: m, Mode: st.From.Mode, Type: st.From.Type, Name: st.From.Name}}
}

// move changes the addresses of objects, from the keys of the map batch to its values. The caller checks that the new
// addresses are free.
func (w *moveIndex) move(batch map[addr.Object]addr.Object) {
	touched := map[addr.Resource]bool{}
	for from := range batch {
		touched[from.Resource()] = true
	}
	for res := range touched {
		w.objects[res] = slices.DeleteFunc(w.objects[res], func(o addr.Object) bool { return batch[o] != (addr.Object{}) })
	}
	order := slices.SortedFunc(maps.Keys(batch), addr.Object.Compare)
	was := map[addr.Object]addr.Object{}
	for _, from := range order {
		if o, moved := w.origin[from]; moved {
			was[from] = o
			delete(w.origin, from)
		} else {
			was[from], w.removed[from] = from, true
		}
	}
	for _, from := range order {
		to := batch[from]
		w.add(to)
		if was[from] == to {
			delete(w.removed, to) // the object is at its first address again
		} else {
			w.origin[to] = was[from]
		}
	}
}

// applyMoves applies the moved blocks in sequence, and returns the new address of each moved object by its old address.
// If the new address of an object is in use, applyMoves leaves the object at its address and adds a warning to
// m.blocked.
func (m *Moves) applyMoves(statements []*program.Move) map[addr.Object]addr.Object {
	w := newMoveIndex(m.State)
	for _, st := range statements {
		batch, arriving := map[addr.Object]addr.Object{}, map[addr.Object]bool{}
		for _, res := range w.concerned(st) {
			for _, o := range w.objects[res] {
				to, ok := rebase(st, o)
				if !ok || to == o {
					continue
				}
				if w.occupied(to) || arriving[to] {
					m.blocked = append(m.blocked, blocked(st, o, to))
					continue
				}
				batch[o], arriving[to] = to, true
			}
		}
		w.move(batch)
	}
	out := make(map[addr.Object]addr.Object, len(w.origin))
	for to, from := range w.origin {
		out[from] = to
	}
	return out
}

// rebase returns the address to which a moved block moves an object. It returns false if the block does not apply to
// the object.
func rebase(st *program.Move, o addr.Object) (addr.Object, bool) {
	base := above(o.Module, st.In)
	if base.Module() != st.In {
		return o, false
	}
	i, ok := st.From.Rebase(st.To, base, o.Instance)
	return addr.Object{Instance: i, Deposed: o.Deposed}, ok
}

func blocked(st *program.Move, o, to addr.Object) diag.Diagnostic {
	return diag.Warningf("Unresolved resource instance address changes",
		"A moved block moves %s to %s, but there is already an object at that address. The object keeps its old address, and the plan destroys it.", o, to).At(st.Range)
}

// carry moves objects in m.State, and records the move in Origins and Retyped.
func (m *Moves) carry(batch map[addr.Object]addr.Object) {
	if len(batch) == 0 {
		return
	}
	after, err := m.State.Move(batch)
	if err != nil {
		return // impossible: each target is free and occurs once
	}
	m.State = after
	was := map[addr.Object]addr.Object{} // collect all origins before changing Origins, because the new address of one object may be the old address of another
	for from, to := range batch {
		was[to] = m.Origin(from)
	}
	for from := range batch {
		delete(m.Origins, from)
		delete(m.Retyped, from)
	}
	for to, origin := range was {
		m.Origins[to] = origin
		if origin.Type != to.Type {
			m.Retyped[to] = origin.Instance
		}
	}
}

// impliedMoves moves objects if count or enabled was added or removed. An instance without a key becomes the instance
// with index 0 if count was added, and the reverse if count was removed.
func (m *Moves) impliedMoves() {
	batch := map[addr.Object]addr.Object{}
	for _, r := range m.State.Resources() {
		d, ok := m.prog.Resource(r.Addr.Resource())
		if !ok {
			continue
		}
		from, to := addr.NoKey, addr.IntKey(0)
		switch program.RepeatOf(d.Res) {
		case program.Count:
		case program.Once, program.Enabled:
			from, to = to, from
		default:
			continue
		}
		a, b := r.Addr.Instance(from).Current(), r.Addr.Instance(to).Current()
		if m.State.Get(a) != nil && m.State.Get(b) == nil {
			batch[a] = b
		}
	}
	m.carry(batch)
}

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

// Moves is what became of the previous run's objects before planning: moved blocks, and the moves
// that adding or removing count implies.
type Moves struct {
	State   *state.Snapshot                  // the state with all objects at their new places
	Origins map[addr.Object]addr.Object      // new place → old place
	Retyped map[addr.Object]addr.Instance    // new place → old one of another type or provider
	Leaving map[program.Decl][]*program.Move // blocks that say that instances of it are elsewhere now
	blocked []diag.Diagnostic                // about objects whose new places are taken
	prog    *program.Program
	groups  map[addr.Resource][]*state.Resource // of State, by declaration; nil: not made yet
}

// Origin is where an object was before.
func (m *Moves) Origin(o addr.Object) addr.Object {
	if was, ok := m.Origins[o]; ok {
		return was
	}
	return o
}

// ByDeclaration groups the resources of State by what declares them. The first call is not to be made from
// several goroutines.
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

// Make makes all moves of a program in a state, in the order in which they follow each other.
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

// CheckLeft refuses to move instances of a resource that are declared where they were: in one
// module instance, those with the keys.
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

// Faults reports what is wrong with moves once it is known what is declared. What is in the way of an
// object is reported only where it really is: not if the block itself is wrong.
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

// checkModulesLeft refuses to move modules that are declared where they were.
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

// above is the instance of a module path that at lies in or below.
func above(at addr.ModuleInstance, m addr.Module) addr.ModuleInstance {
	for d := at.Depth(); d > m.Depth(); d-- {
		at = at.Parent()
	}
	return at
}

// moveIndex says where objects are while statements are carried out.
type moveIndex struct {
	state   *state.Snapshot
	objects map[addr.Resource][]addr.Object // where they are now, by declaration
	below   map[addr.Module][]addr.Resource // declarations that have or had objects, in and below a module
	origin  map[addr.Object]addr.Object     // of those that moved: where they are now → where they were
	gone    map[addr.Object]bool            // places that their objects have left
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

// taken reports whether there is an object at a place.
func (w *moveIndex) taken(o addr.Object) bool {
	_, arrived := w.origin[o]
	return arrived || w.state.Get(o) != nil && !w.gone[o]
}

// concerned lists the declarations whose objects a statement may move.
func (w *moveIndex) concerned(st *program.Move) []addr.Resource {
	m := st.In.Join(st.From.Module())
	if st.From.Mode == 0 {
		return w.below[m]
	}
	return []addr.Resource{{Module: m, Mode: st.From.Mode, Type: st.From.Type, Name: st.From.Name}}
}

// move puts objects to their new places, which are free.
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
			was[from], w.gone[from] = from, true
		}
	}
	for _, from := range order {
		to := batch[from]
		w.add(to)
		if was[from] == to {
			delete(w.gone, to) // it is back
		} else {
			w.origin[to] = was[from]
		}
	}
}

// applyMoves finds out where the statements, one after the other, take objects to. An object whose
// new place is taken stays where it is, with a warning.
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
				if w.taken(to) || arriving[to] {
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

// rebase is where a statement moves an object.
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
		"Lethe tried to adjust the address of %s to %s because of a moved block, but there is already an object at that address. The object stays at its old address and will be planned for destruction.", o, to).At(st.Range)
}

// carry moves objects in the snapshot and remembers where they came from.
func (m *Moves) carry(batch map[addr.Object]addr.Object) {
	if len(batch) == 0 {
		return
	}
	after, err := m.State.Move(batch)
	if err != nil {
		return // the batch was made of free places, one for each
	}
	m.State = after
	for from, to := range batch {
		was := m.Origin(from)
		delete(m.Origins, from)
		m.Origins[to] = was
		if from.Type != to.Type {
			m.Retyped[to] = was.Instance
		}
	}
}

// impliedMoves follow from adding or removing count (or enabled): the only instance and the one
// with index 0 are the same object.
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

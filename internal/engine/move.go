package engine

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// moves is what became of the previous run's objects before planning: moved blocks, and the moves
// that adding or removing count implies.
type moves struct {
	after   *state.Snapshot
	origins map[addr.Object]addr.Object   // new place → old place
	retyped map[addr.Object]addr.Instance // new place → old one of another type or provider
	leaving map[lang.Decl][]*lang.Move    // blocks that say that instances of it are elsewhere now
	blocked []diag.Diagnostic             // about objects whose new places are taken
	groups  map[addr.Resource][]*state.Resource
}

// origin is where an object was before.
func (m *moves) origin(o addr.Object) addr.Object {
	if was, ok := m.origins[o]; ok {
		return was
	}
	return o
}

// byDeclaration groups the stored resources by what declares them.
func (m *moves) byDeclaration() map[addr.Resource][]*state.Resource {
	if m.groups == nil {
		m.groups = map[addr.Resource][]*state.Resource{}
		for _, r := range m.after.Resources() {
			res := r.Addr.Resource()
			m.groups[res] = append(m.groups[res], r)
		}
	}
	return m.groups
}

// move makes all moves, in the order in which they follow each other.
func (p *planner) move() *moves {
	m := &moves{after: p.req.State, origins: map[addr.Object]addr.Object{}, retyped: map[addr.Object]addr.Instance{}, leaving: map[lang.Decl][]*lang.Move{}}
	all := p.prog.Moves()
	for _, st := range all {
		if st.From.Mode == 0 {
			continue
		}
		res := st.From.Resource()
		res.Module = st.In.Join(st.From.Module())
		if d, ok := p.prog.Resource(res); ok {
			m.leaving[d.ID] = append(m.leaving[d.ID], st)
		}
	}
	if len(all) > 0 {
		m.carry(p.applyMoves(m, all))
	}
	p.impliedMoves(m)
	return m
}

// checkLeft refuses to move instances of a resource that are declared where they were: in one
// module instance, those with the keys.
func (p *planner) checkLeft(d *lang.Declaration, f *lang.Frame, keys []addr.Key) {
	for _, st := range p.moved.leaving[d.ID] {
		switch abs := d.Resource.In(f.Addr()); {
		case f.Addr() != st.From.ModuleIn(above(f.Addr(), st.In)):
		case st.Whole():
			p.bag.Add(lang.MovedStill(st, "resource", abs.String(), d.Range))
		case slices.Contains(keys, st.From.Key):
			p.bag.Add(lang.MovedStill(st, "instance", abs.Instance(st.From.Key).String(), d.Range))
		}
	}
}

// moveFaults tells what is wrong with moves once it is known what is declared. What is in the way
// of an object is told only where it really is: not if the block itself is wrong.
func (p *planner) moveFaults() {
	if p.bag.HasErrors() {
		return
	}
	if p.req.Mode != plan.Destroy {
		p.checkModulesLeft()
	}
	if !p.bag.HasErrors() {
		p.bag.Add(p.moved.blocked...)
	}
}

// checkModulesLeft refuses to move modules that are declared where they were.
func (p *planner) checkModulesLeft() {
	for _, st := range p.prog.Moves() {
		call, declared := p.prog.Call(st.In.Join(st.From.Module()))
		if st.From.Mode != 0 || !declared {
			continue
		}
		frames, _ := p.frame.Instances(st.In, lang.After)
		for _, f := range frames {
			from := st.From.ModuleIn(f.Addr())
			switch {
			case st.Whole() && p.frame.At(from.Parent(), lang.After) != nil:
				p.bag.Add(lang.MovedStill(st, "module", from.String(), call))
			case !st.Whole() && p.frame.At(from, lang.After) != nil:
				p.bag.Add(lang.MovedStill(st, "module instance", from.String(), call))
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

// whereabouts is where objects are while statements are carried out.
type whereabouts struct {
	state   *state.Snapshot
	objects map[addr.Resource][]addr.Object // where they are now, by declaration
	below   map[addr.Module][]addr.Resource // declarations that have or had objects, in and below a module
	origin  map[addr.Object]addr.Object     // of those that moved: where they are now → where they were
	gone    map[addr.Object]bool            // places that their objects have left
}

func newWhereabouts(s *state.Snapshot) *whereabouts {
	w := &whereabouts{s, map[addr.Resource][]addr.Object{}, map[addr.Module][]addr.Resource{}, map[addr.Object]addr.Object{}, map[addr.Object]bool{}}
	for _, r := range s.Resources() {
		for o := range r.Objects() {
			w.add(o)
		}
	}
	return w
}

func (w *whereabouts) add(o addr.Object) {
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
func (w *whereabouts) taken(o addr.Object) bool {
	_, arrived := w.origin[o]
	return arrived || w.state.Get(o) != nil && !w.gone[o]
}

// concerned lists the declarations whose objects a statement may move.
func (w *whereabouts) concerned(st *lang.Move) []addr.Resource {
	m := st.In.Join(st.From.Module())
	if st.From.Mode == 0 {
		return w.below[m]
	}
	return []addr.Resource{{Module: m, Mode: st.From.Mode, Type: st.From.Type, Name: st.From.Name}}
}

// move puts objects to their new places, which are free.
func (w *whereabouts) move(batch map[addr.Object]addr.Object) {
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
func (p *planner) applyMoves(m *moves, statements []*lang.Move) map[addr.Object]addr.Object {
	w := newWhereabouts(p.req.State)
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
func rebase(st *lang.Move, o addr.Object) (addr.Object, bool) {
	base := above(o.Module, st.In)
	if base.Module() != st.In {
		return o, false
	}
	i, ok := st.From.Rebase(st.To, base, o.Instance)
	return addr.Object{Instance: i, Deposed: o.Deposed}, ok
}

func blocked(st *lang.Move, o, to addr.Object) diag.Diagnostic {
	return diag.Warningf("Unresolved resource instance address changes",
		"Lethe tried to adjust the address of %s to %s because of a moved block, but there is already an object at that address. The object stays at its old address and will be planned for destruction.", o, to).At(st.Range)
}

// carry moves objects in the snapshot and remembers where they came from.
func (m *moves) carry(batch map[addr.Object]addr.Object) {
	if len(batch) == 0 {
		return
	}
	after, err := m.after.Move(batch)
	if err != nil {
		return // the batch was made of free places, one for each
	}
	m.after = after
	for from, to := range batch {
		was := m.origin(from)
		delete(m.origins, from)
		m.origins[to] = was
		if from.Type != to.Type {
			m.retyped[to] = was.Instance
		}
	}
}

// impliedMoves follow from adding or removing count (or enabled): the only instance and the one
// with index 0 are the same object.
func (p *planner) impliedMoves(m *moves) {
	batch := map[addr.Object]addr.Object{}
	for _, r := range m.after.Resources() {
		d, ok := p.prog.Resource(r.Addr.Resource())
		if !ok || r.Addr.Mode != addr.Managed {
			continue
		}
		from, to := addr.NoKey, addr.IntKey(0)
		switch lang.RepeatOf(d.Res) {
		case lang.Count:
		case lang.Once, lang.Enabled:
			from, to = to, from
		default:
			continue
		}
		a, b := r.Addr.Instance(from).Current(), r.Addr.Instance(to).Current()
		if m.after.Get(a) != nil && m.after.Get(b) == nil {
			batch[a] = b
		}
	}
	m.carry(batch)
}

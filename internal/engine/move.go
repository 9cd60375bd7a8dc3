package engine

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/state"
)

// moves is what became of the previous run's objects before planning: moved blocks, and the moves
// that adding or removing count implies.
type moves struct {
	after   *state.Snapshot
	origins map[addr.Object]addr.Object   // new place → old place
	retyped map[addr.Object]addr.Instance // new place → old one of another type or provider
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

// statement is one move to make, with addresses from the root.
type statement struct {
	from, to addr.Target
	in       addr.Module // the module whose instances it is made in
	rng      diag.Range
}

// move makes all moves, in the order in which they follow each other.
func (p *planner) move() (*moves, bool) {
	m := &moves{after: p.req.State, origins: map[addr.Object]addr.Object{}, retyped: map[addr.Object]addr.Instance{}}
	statements, ok := p.statements()
	if !ok {
		return m, false
	}
	if len(statements) > 0 {
		m.carry(p.applyMoves(statements))
	}
	p.impliedMoves(m)
	return m, true
}

// statements collects the moved blocks of all modules, so ordered that a chain is walked from its
// old end: a block that moves something to where another block begins comes first.
func (p *planner) statements() ([]statement, bool) {
	var all []statement
	p.prog.Tree().Root.Walk(func(n *config.Node) {
		for _, b := range n.Module.Moved {
			all = append(all, statement{from: b.From.Target, to: b.To.Target, in: n.Path, rng: b.Range})
		}
	})
	return p.chainMoves(all)
}

// chainMoves orders statements by their chains and refuses those that go in a circle.
func (p *planner) chainMoves(all []statement) ([]statement, bool) {
	const (
		fresh = iota
		open
		done
	)
	mark := make([]int, len(all))
	arrivals := newArrivals(all)
	var out []statement
	ok := true
	var visit func(i int)
	visit = func(i int) {
		switch mark[i] {
		case done:
			return
		case open:
			p.bag.Add(diag.Errorf("Cyclic dependency in move statements",
				"The moved block for %s leads back to where it began, by way of other moved blocks. Remove one of them.", all[i].from).At(all[i].rng))
			ok = false
			return
		}
		mark[i] = open
		for _, j := range arrivals.at(all[i]) {
			if j != i {
				visit(j)
			}
		}
		mark[i] = done
		out = append(out, all[i])
	}
	for i := range all {
		visit(i)
	}
	return out, ok
}

// arrivals are statements by where they move to, as written.
type arrivals struct {
	exact map[arrival][]int // to exactly that place
	below map[arrival][]int // to somewhere in that module
}

type arrival struct {
	in    addr.Module
	place string
}

func newArrivals(all []statement) *arrivals {
	a := &arrivals{map[arrival][]int{}, map[arrival][]int{}}
	for i, st := range all {
		to := arrival{st.in, st.to.String()}
		a.exact[to] = append(a.exact[to], i)
		for _, m := range st.to.Enclosing() {
			k := arrival{st.in, m.String()}
			a.below[k] = append(a.below[k], i)
		}
	}
	return a
}

// at lists the statements after which something may be where st takes it from, in order: what they
// move to is that, or lies within it, or around it.
func (a *arrivals) at(st statement) []int {
	from := arrival{st.in, st.from.String()}
	out := slices.Concat(a.exact[from], a.below[from])
	for _, m := range st.from.Enclosing() {
		out = append(out, a.exact[arrival{st.in, m.String()}]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
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
func (w *whereabouts) concerned(st statement) []addr.Resource {
	m := st.in.Join(st.from.Module())
	if st.from.Mode == 0 {
		return w.below[m]
	}
	return []addr.Resource{{Module: m, Mode: st.from.Mode, Type: st.from.Type, Name: st.from.Name}}
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
func (p *planner) applyMoves(statements []statement) map[addr.Object]addr.Object {
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
					p.blocked(st, o, to)
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
func rebase(st statement, o addr.Object) (addr.Object, bool) {
	base := o.Module
	for d := base.Depth(); d > st.in.Depth(); d-- {
		base = base.Parent()
	}
	if base.Module() != st.in {
		return o, false
	}
	i, ok := st.from.Rebase(st.to, base, o.Instance)
	return addr.Object{Instance: i, Deposed: o.Deposed}, ok
}

func (p *planner) blocked(st statement, o, to addr.Object) {
	p.bag.Add(diag.Warningf("Unresolved resource instance address changes",
		"Lethe tried to adjust the address of %s to %s because of a moved block, but there is already an object at that address. The object stays at its old address and will be planned for destruction.", o, to).At(st.rng))
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

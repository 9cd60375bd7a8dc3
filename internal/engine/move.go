package engine

import (
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
	p.applyMoves(m, statements)
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
		for j := range all {
			if j != i && all[j].in == all[i].in && overlaps(all[j].to, all[i].from) {
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

// overlaps reports whether what arrives at to may leave again from from.
func overlaps(to, from addr.Target) bool {
	return to.String() == from.String() || to.Within(from) || from.Within(to)
}

// applyMoves carries the statements out on the snapshot. An object whose new place is taken stays
// where it is, with a warning.
func (p *planner) applyMoves(m *moves, statements []statement) {
	for _, st := range statements {
		batch := map[addr.Object]addr.Object{}
		for _, r := range m.after.Resources() {
			for o := range r.Objects() {
				to, ok := rebase(st, o)
				if !ok || to == o {
					continue
				}
				if m.after.Get(to) != nil {
					p.blocked(st, o, to)
					continue
				}
				batch[o] = to
			}
		}
		m.carry(batch)
	}
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

package vet

import (
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// checkMoves holds the moved blocks of all modules against each other and against what is declared:
// nothing may go to two places, no two things to one, and what is still declared has not moved.
func checkMoves(p *program.Program, bag *diag.Bag) bool {
	m := &moveChecker{p: p, bag: bag, ok: true}
	p.Tree().Root.Walk(func(n *config.Node) {
		for _, b := range n.Module.Moved {
			v := &program.Move{From: b.From.Target, To: b.To.Target, In: n.Path, Range: b.Range}
			m.all = append(m.all, &placedMove{v, newTrail(n.Path, v.From, v.Whole()), newTrail(n.Path, v.To, v.Whole())})
		}
	})
	if len(m.all) == 0 {
		return true
	}
	for i, v := range m.all {
		m.block(v)
		m.left.add(i, v.from)
		m.arrived.add(i, v.to)
	}
	if m.chain() {
		for _, v := range m.all {
			m.stillThere(v)
		}
	}
	return m.ok
}

// placedMove is a moved block with the ways from the root to its ends.
type placedMove struct {
	*program.Move
	from, to trail
}

type moveChecker struct {
	p             *program.Program
	bag           *diag.Bag
	ok            bool
	all           []*placedMove
	left, arrived trails // by where they move from, and to
}

func (m *moveChecker) block(b *placedMove) {
	for _, i := range m.left.same(b.from) {
		if first := m.all[i]; !first.to.matches(b.to) {
			m.error(b, first, fmt.Sprintf("Another moved block already says that %s moved to %s. An object can move to one place only: remove one of the blocks.", first.From, first.To))
			return
		}
	}
	for _, i := range m.arrived.same(b.to) {
		if first := m.all[i]; !first.from.matches(b.from) {
			m.error(b, first, fmt.Sprintf("Another moved block already says that %s moved to %s. Only one object can move to a place: remove one of the blocks.", first.From, first.To))
			return
		}
	}
}

// chain orders the blocks and refuses those that go in a circle. A block comes after those that
// may bring something to where it takes it from, after those that take part of the same elsewhere,
// and after those that fill what it puts something into: these are meant first. But where an instance of a module goes, its
// own blocks follow.
func (m *moveChecker) chain() bool {
	const (
		fresh = iota
		open
		done
	)
	mark := make([]int, len(m.all))
	var order []*program.Move
	ok := true
	var visit func(i int)
	visit = func(i int) {
		v := m.all[i]
		switch mark[i] {
		case done:
			return
		case open:
			m.bag.Add(diag.Errorf("Cyclic dependency in move statements",
				"The moved block for %s leads back to where it began, by way of other moved blocks. Remove one of them.", v.From).At(v.Range))
			ok, m.ok = false, false
			return
		}
		mark[i] = open
		before := slices.Concat(m.arrived.same(v.from), m.arrived.around(v.from), m.arrived.inside(v.from), m.left.inside(v.from), m.arrived.around(v.to))
		slices.Sort(before)
		for _, j := range slices.Compact(before) {
			if j != i && !m.all[j].goesWith(v) {
				visit(j)
			}
		}
		mark[i] = done
		order = append(order, v.Move)
	}
	for i := range m.all {
		visit(i)
	}
	m.p.SetMoves(order)
	return ok
}

// goesWith reports whether a block of a module moves what is in an instance of it wherever another block takes that to: it
// comes after that one.
func (b *placedMove) goesWith(module *placedMove) bool {
	return module.To.Mode == 0 && b.In.Under(module.In.Join(module.To.Module()))
}

// stillThere refuses to move what is declared where it was. Instances that count or for_each may or
// may not still make are the business of planning.
func (m *moveChecker) stillThere(b *placedMove) {
	if !b.Whole() || b.From.Keyed() {
		return
	}
	what, at, ok := declaredAt(m.p, b.In, b.From)
	if !ok {
		return
	}
	m.ok = false
	m.bag.Add(program.MovedStill(b.Move, what, b.From.String(), at))
}

// declaredAt finds what an address without keys names in the configuration. What lies in a module
// that is repeated has another address.
func declaredAt(p *program.Program, in addr.Module, t addr.Target) (what string, at diag.Range, ok bool) {
	around := t.Enclosing()
	if t.Mode == 0 {
		around = around[:len(around)-1]
	}
	for _, m := range around {
		n := p.Node(in.Join(m.Module()))
		if n == nil || n.Parent == nil || program.RepeatKindOf(n.Config.Call.Repeat) != program.Once {
			return "", diag.Range{}, false
		}
	}
	path := in.Join(t.Module())
	if t.Mode != 0 {
		r := t.Resource()
		r.Module = path
		d, ok := p.Resource(r)
		if !ok {
			return "", diag.Range{}, false
		}
		return "resource", d.Range, true
	}
	at, ok = p.Call(path)
	return "module", at, ok
}

func (m *moveChecker) error(b, other *placedMove, detail string) {
	m.ok = false
	m.bag.Add(diag.Errorf("Ambiguous move statements", "%s", detail).At(b.Range).See("the other block", other.Range))
}

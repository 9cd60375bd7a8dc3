package vet

import (
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// checkMoves checks the moved blocks of all modules against one another and against the declarations: an object may
// move to only one address, only one object may move to an address, and the source of a move must not be declared. The
// moved blocks must not form a cycle; if they do, the declarations are not checked. checkMoves also tells the program
// the order in which the blocks are executed (Program.SetMoves). If it reports an error, it returns false.
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
			m.stillDeclared(v)
		}
	}
	return m.ok
}

// placedMove is a moved block with the trails (addresses as lists of steps from the root) of its source and its target.
type placedMove struct {
	*program.Move
	from, to trail
}

type moveChecker struct {
	p             *program.Program
	bag           *diag.Bag
	ok            bool
	all           []*placedMove
	left, arrived trails // indexes of all trails: left has the sources, arrived has the targets
}

func (m *moveChecker) block(b *placedMove) {
	for _, i := range m.left.same(b.from) {
		if first := m.all[i]; !first.to.matches(b.to) {
			m.error(b, first, fmt.Sprintf("Another moved block already moves %s to %s. An object can move to one address only: remove one of the blocks.", first.From, first.To))
			return
		}
	}
	for _, i := range m.arrived.same(b.to) {
		if first := m.all[i]; !first.from.matches(b.from) {
			m.error(b, first, fmt.Sprintf("Another moved block already moves %s to %s. Only one object can move to an address: remove one of the blocks.", first.From, first.To))
			return
		}
	}
}

// chain determines the order in which the moved blocks are executed, and reports cycles. A block v comes after these
// blocks:
//   - blocks that may move an object to the source of v;
//   - blocks that move a part of the source of v elsewhere;
//   - blocks that move a module or resource to an address that contains the target of v.
//
// Exception: the blocks of a module come after a block that moves an instance of that module. If the blocks form a
// cycle, chain reports an error and returns false.
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
				"The moved block for %s and other moved blocks form a cycle. Remove one of them.", v.From).At(v.Range))
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

// goesWith reports whether b is a block of a module inside the target of the block module, which moves a module
// instance. Such a block is executed after the move of the module instance.
func (b *placedMove) goesWith(module *placedMove) bool {
	return module.To.Mode == 0 && b.In.Under(module.In.Join(module.To.Module()))
}

// stillDeclared reports an error if the source of a move is still declared. It skips sources with instance keys,
// because only planning knows whether count or for_each still creates these instances.
func (m *moveChecker) stillDeclared(b *placedMove) {
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

// declaredAt returns the kind ("resource" or "module") and the range of the declaration of an address. The address has
// no keys, and is relative to a module. declaredAt returns false if the address is not declared, or if a module in the
// address is repeated, because the address then needs a key.
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

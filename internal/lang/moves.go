package lang

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// checkMoves holds the moved blocks of all modules against each other and against what is declared:
// nothing may go to two places, no two things to one, and what is still declared has not moved.
func (p *Program) checkMoves(bag *diag.Bag) bool {
	m := &moveChecker{p: p, bag: bag, ok: true, left: map[move]*config.Moved{}, arrived: map[move]*config.Moved{}}
	p.tree.Root.Walk(func(n *config.Node) {
		for _, b := range n.Module.Moved {
			m.block(n.Path, b)
		}
	})
	p.tree.Root.Walk(func(n *config.Node) {
		for _, b := range n.Module.Moved {
			m.stillThere(n.Path, b)
		}
	})
	return m.ok
}

// move is one end of a move: an address in a module.
type move struct {
	in addr.Module
	at string
}

type moveChecker struct {
	p             *Program
	bag           *diag.Bag
	ok            bool
	left, arrived map[move]*config.Moved
}

func (m *moveChecker) block(in addr.Module, b *config.Moved) {
	from, to := move{in, b.From.Target.String()}, move{in, b.To.Target.String()}
	switch first, again := m.left[from], m.arrived[to]; {
	case first != nil && first.To.Target.String() != to.at:
		m.error(b, first, "Ambiguous move statements", fmt.Sprintf("Another moved block already says that %s moved to %s. An object can move to one place only: remove one of the blocks.", from.at, first.To.Target))
	case again != nil && again.From.Target.String() != from.at:
		m.error(b, again, "Ambiguous move statements", fmt.Sprintf("Another moved block already says that %s moved to %s. Only one object can move to a place: remove one of the blocks.", again.From.Target, to.at))
	default:
		m.left[from], m.arrived[to] = b, b
	}
}

// stillThere refuses to move what is declared where it was. Instances that count or for_each may or
// may not still make are the business of planning, and so are circles, which it reports as a whole.
func (m *moveChecker) stillThere(in addr.Module, b *config.Moved) {
	from, to := b.From.Target, b.To.Target
	if from.Keyed() || sameThing(from, to) {
		return
	}
	what, at, ok := m.declared(in, from)
	if !ok || m.comesBack(in, b) {
		return
	}
	m.ok = false
	m.bag.Add(diag.Errorf("Moved object still exists", "This block says that %s moved to %s, but that %s is still declared. Declare it under its new name only, or remove the moved block.", from, to, what).At(b.Range).See("declared here", at))
}

// sameThing reports whether two addresses differ in instance keys only.
func sameThing(a, b addr.Target) bool {
	if a.Mode == 0 || b.Mode == 0 {
		return a.Mode == b.Mode && a.Module() == b.Module()
	}
	return a.Resource() == b.Resource()
}

// comesBack reports whether the way that begins with b leads back to where it began.
func (m *moveChecker) comesBack(in addr.Module, b *config.Moved) bool {
	start := b.From.Target.String()
	for range len(m.left) {
		if b = m.left[move{in, b.To.Target.String()}]; b == nil {
			return false
		}
		if b.To.Target.String() == start {
			return true
		}
	}
	return false
}

// declared finds what an address names in the configuration.
func (m *moveChecker) declared(in addr.Module, t addr.Target) (what string, at diag.Range, ok bool) {
	path := in.Join(t.Module())
	if t.Mode != 0 {
		r := t.Resource()
		r.Module = path
		d, ok := m.p.resources[r]
		if !ok {
			return "", diag.Range{}, false
		}
		return "resource", m.p.decls[d].Range, true
	}
	n := m.p.nodes[path]
	if n == nil || n.parent == nil {
		return "", diag.Range{}, false
	}
	return "module", n.cfg.Call.Range, true
}

func (m *moveChecker) error(b, other *config.Moved, title, detail string) {
	m.ok = false
	m.bag.Add(diag.Errorf(title, "%s", detail).At(b.Range).See("the other block", other.Range))
}

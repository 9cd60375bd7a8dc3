package plan

import "github.com/lethe-iac/lethe/internal/walk"

// link sorts the edges.
func (b *building) link(edges []edge) {
	n := len(b.nodes)
	b.out = walk.Sorted(n, edges, func(e edge) int32 { return e.from.node() }, func(e edge) arc { return e.to | e.from&1 })
	b.in = walk.Sorted(n, edges, func(e edge) int32 { return e.to.node() }, func(e edge) arc { return e.from })
}

// sort finds an order of the nodes and reports whether all are in it.
func (b *building) sort() bool {
	b.order = walk.Topological(b.in, b.out, arc.node)
	return len(b.order) == len(b.nodes)
}

// acyclic reports whether the graph with its soft edges has no cycle.
func (b *building) acyclic() bool {
	hard := len(b.edges)
	b.edges = append(b.edges, b.soft...)
	b.link(b.edges)
	b.edges = b.edges[:hard]
	return b.sort()
}

// harden drops the soft edges that lie on cycles, and reports whether that was enough. It is not
// where the other edges have a cycle of their own.
func (b *building) harden() bool {
	b.link(b.edges)
	if !b.sort() {
		return false
	}
	b.acyclic() // to link all of them again
	comp, _ := walk.Components(len(b.nodes), b.out.Of, arc.node)
	kept := b.soft[:0]
	for _, e := range b.soft {
		if comp[e.from.node()] != comp[e.to.node()] {
			kept = append(kept, e)
		}
	}
	b.soft = kept
	return b.acyclic()
}

// emit makes the steps: every node with work, and the gates that stand between them and save
// edges.
func (b *building) emit(s *Steps) {
	cyclic := len(b.order) < len(b.nodes)
	useful := b.useful()
	if cyclic { // our bug: everything is emitted, so that it can be shown
		b.order = b.order[:0]
		for i := range b.nodes {
			b.order, useful[i] = append(b.order, int32(i)), true
		}
	}
	deps := newLists(len(b.nodes))
	dissolved := make([]bool, len(b.nodes))
	for _, n := range b.order {
		if !useful[n] {
			continue
		}
		b.collect(n, deps, useful, dissolved)
		dissolved[n] = !cyclic && b.nodes[n].kind == Gate && dissolves(len(deps.of(n)), b.followers(n, useful))
	}
	number := make([]uint32, len(b.nodes))
	for n, x := range b.nodes {
		if useful[n] && !dissolved[n] {
			number[n] = uint32(len(s.List))
			s.List = append(s.List, Step{Kind: x.kind, Face: x.face, Part: x.part, Late: x.late, Index: x.index})
		}
	}
	s.start = make([]uint32, 1, len(s.List)+1)
	for n := range b.nodes {
		if !useful[n] || dissolved[n] {
			continue
		}
		for _, a := range deps.of(int32(n)) {
			s.deps = append(s.deps, number[a.node()]<<1|uint32(a&1))
		}
		s.start = append(s.start, uint32(len(s.deps)))
	}
}

// useful finds the nodes with work, and the gates with such before and after them.
func (b *building) useful() []bool {
	before, after := make([]bool, len(b.nodes)), make([]bool, len(b.nodes))
	for _, n := range b.order {
		before[n] = before[n] || b.nodes[n].kind != Gate
		for _, a := range b.out.Of(n) {
			before[a.node()] = before[a.node()] || before[n]
		}
	}
	for i := len(b.order) - 1; i >= 0; i-- {
		n := b.order[i]
		after[n] = after[n] || b.nodes[n].kind != Gate
		for _, a := range b.in.Of(n) {
			after[a.node()] = after[a.node()] || after[n]
		}
	}
	for n := range before {
		before[n] = before[n] && after[n]
	}
	return before
}

// dissolves reports whether a gate with so many nodes before and after it saves no edges.
func dissolves(before, after int) bool { return before <= 8 && before*after <= before+after }

func (b *building) followers(n int32, useful []bool) int {
	count := 0
	for _, a := range b.out.Of(n) {
		count += bit(useful[a.node()])
	}
	return count
}

// collect lists what n comes after, gates that are dissolved replaced by what they come after.
func (b *building) collect(n int32, deps *lists, useful, dissolved []bool) {
	deps.begin(n)
	for _, a := range b.in.Of(n) {
		switch d := a.node(); {
		case !useful[d]:
		case !dissolved[d]:
			deps.put(n, a)
		default:
			for _, far := range deps.of(d) {
				if !a.needs() {
					far &^= 1
				}
				deps.put(n, far)
			}
		}
	}
	deps.end(n)
}

// lists are lists of arcs by node, written one after the other.
type lists struct {
	start, stop []int32
	arcs        []arc
	seen        []struct{ by, at int32 } // by node: the last list it was put on, and where
}

func newLists(n int) *lists {
	return &lists{start: make([]int32, n), stop: make([]int32, n), seen: make([]struct{ by, at int32 }, n)}
}

func (l *lists) of(n int32) []arc { return l.arcs[l.start[n]:l.stop[n]] }

func (l *lists) begin(n int32) { l.start[n] = int32Len(l.arcs) }
func (l *lists) end(n int32)   { l.stop[n] = int32Len(l.arcs) }

// put adds an arc to the list of n; of two to the same node, a need remains.
func (l *lists) put(n int32, a arc) {
	s := &l.seen[a.node()]
	if s.by == n+1 {
		l.arcs[s.at] |= a & 1
		return
	}
	s.by, s.at = n+1, int32Len(l.arcs)
	l.arcs = append(l.arcs, a)
}

func int32Len[T any](s []T) int32 { return int32(len(s)) }

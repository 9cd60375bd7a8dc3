package plan

import "github.com/lethe-iac/lethe/internal/walk"

// link sets g.out and g.in: the successors and the predecessors of each node.
func (g *graph) link(edges []edge) {
	n := len(g.nodes)
	g.out = walk.Sorted(n, edges, func(e edge) int32 { return e.from.node() }, func(e edge) arc { return e.to | e.from&1 })
	g.in = walk.Sorted(n, edges, func(e edge) int32 { return e.to.node() }, func(e edge) arc { return e.from })
}

// sort orders the nodes topologically. It returns false if g.order lacks some nodes, because they are on a cycle or
// come after one.
func (g *graph) sort() bool {
	g.order = walk.Topological(g.in, g.out, arc.node)
	return len(g.order) == len(g.nodes)
}

// acyclic links and sorts the graph with its soft edges, which may be dropped to break cycles. It reports whether the
// graph has no cycle.
func (g *graph) acyclic() bool {
	hard := len(g.edges)
	g.edges = append(g.edges, g.soft...)
	g.link(g.edges)
	g.edges = g.edges[:hard]
	return g.sort()
}

// harden drops the soft edges that are on cycles. It returns false if a cycle of other edges remains.
func (g *graph) harden() bool {
	g.link(g.edges)
	if !g.sort() {
		return false
	}
	g.acyclic() // acyclic links all edges again
	comp, _ := walk.Components(len(g.nodes), g.out.Of, arc.node)
	kept := g.soft[:0]
	for _, e := range g.soft {
		if comp[e.from.node()] != comp[e.to.node()] {
			kept = append(kept, e)
		}
	}
	g.soft = kept
	return g.acyclic()
}

// emit appends a step to s for each node with work, and for each gate (a node without work) that saves edges between
// such nodes. It sets the edges of the steps.
func (g *graph) emit(s *Steps) {
	cyclic := len(g.order) < len(g.nodes)
	useful := g.useful()
	if cyclic { // a cycle is a bug in the rules: emit all nodes, so that messages can show the cycle
		g.order = g.order[:0]
		for i := range g.nodes {
			g.order, useful[i] = append(g.order, int32(i)), true
		}
	}
	deps := newLists(len(g.nodes))
	dissolved := make([]bool, len(g.nodes))
	for _, n := range g.order {
		if !useful[n] {
			continue
		}
		g.collect(n, deps, useful, dissolved)
		dissolved[n] = !cyclic && g.nodes[n].kind == Gate && dissolves(len(deps.of(n)), g.followers(n, useful))
	}
	number := make([]uint32, len(g.nodes))
	for n, x := range g.nodes {
		if useful[n] && !dissolved[n] {
			number[n] = uint32(len(s.List))
			s.List = append(s.List, Step{Kind: x.kind, Face: x.face, Part: x.part, Lazy: x.lazy, Index: x.index})
		}
	}
	s.start = make([]uint32, 1, len(s.List)+1)
	for n := range g.nodes {
		if !useful[n] || dissolved[n] {
			continue
		}
		for _, a := range deps.of(int32(n)) {
			s.deps = append(s.deps, number[a.node()]<<1|uint32(a&1))
		}
		s.start = append(s.start, uint32(len(s.deps)))
	}
}

// useful returns, by node, true for a node with work, and for a gate with work both before and after it.
func (g *graph) useful() []bool {
	before, after := make([]bool, len(g.nodes)), make([]bool, len(g.nodes))
	for _, n := range g.order {
		before[n] = before[n] || g.nodes[n].kind != Gate
		for _, a := range g.out.Of(n) {
			before[a.node()] = before[a.node()] || before[n]
		}
	}
	for i := len(g.order) - 1; i >= 0; i-- {
		n := g.order[i]
		after[n] = after[n] || g.nodes[n].kind != Gate
		for _, a := range g.in.Of(n) {
			after[a.node()] = after[a.node()] || after[n]
		}
	}
	for n := range before {
		before[n] = before[n] && after[n]
	}
	return before
}

// dissolves reports whether a gate saves no edges. before and after are the numbers of nodes directly before and after
// the gate.
func dissolves(before, after int) bool { return before <= 8 && before*after <= before+after }

func (g *graph) followers(n int32, useful []bool) int {
	count := 0
	for _, a := range g.out.Of(n) {
		count += bit(useful[a.node()])
	}
	return count
}

// collect lists the predecessors of n. It leaves out gates that are not useful, and replaces a dissolved gate by the
// predecessors of the gate. The edge to such a predecessor is a need if the edges before and after the gate are needs.
func (g *graph) collect(n int32, deps *lists, useful, dissolved []bool) {
	deps.begin(n)
	for _, a := range g.in.Of(n) {
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

// lists has a list of arcs for each node: its predecessors. An arc is a node at one end of an edge. All lists share one
// array.
type lists struct {
	start, stop []int32
	arcs        []arc
	seen        []struct{ by, at int32 } // by node x: one plus the node whose list last received x, and the index of x in arcs
}

func newLists(n int) *lists {
	return &lists{start: make([]int32, n), stop: make([]int32, n), seen: make([]struct{ by, at int32 }, n)}
}

func (l *lists) of(n int32) []arc { return l.arcs[l.start[n]:l.stop[n]] }

func (l *lists) begin(n int32) { l.start[n] = int32Len(l.arcs) }
func (l *lists) end(n int32)   { l.stop[n] = int32Len(l.arcs) }

// put adds an arc to the list of n. If the list already has an arc to the same node, the two become one arc, which is a
// need if either of them is.
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

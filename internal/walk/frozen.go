package walk

import (
	"slices"
	"strings"
)

// frozen is a graph with the predecessors and successors of each node.
type frozen struct {
	traits  []traits
	in, out Rows[arc]
}

func (g *Graph) freeze() *frozen {
	n := len(g.traits)
	return &frozen{
		traits: g.traits,
		in:     Sorted(n, g.edges, func(e edge) int32 { return int32(e.n) }, func(e edge) arc { return e.after }),
		out: Sorted(n, g.edges, func(e edge) int32 { return e.after.to() }, func(e edge) arc {
			return makeArc(e.n, e.after.needs())
		}),
	}
}

// before returns the predecessors of n, and after returns its successors. Each arc also tells whether the edge was made
// by Graph.Needs or by Graph.Waits.
func (f *frozen) before(n Node) []arc { return f.in.Of(int32(n)) }
func (f *frozen) after(n Node) []arc  { return f.out.Of(int32(n)) }

// ranks returns the rank of each node in the ready list, and the node of each rank. Of the nodes that are ready, the
// node with the lowest rank runs first. Closers (nodes that run even after failures) have the lowest ranks, in the
// order of their addition to the graph. All other nodes are sorted by these keys, the first key first. A chain is a
// sequence of dependent nodes that starts at the node:
//
//   - a node with a longer chain of successors comes before a node with a shorter one;
//   - a lazy node comes after other nodes with the same length;
//   - a node that was added earlier comes first.
//
// The length of a chain is the number of its nodes, including the first node, without gates (nodes without work) and
// lazy nodes (nodes that run only when another node needs them). Thus a lazy node has the same length as its longest
// successor, and this successor, which uses the value of the lazy node, runs before another lazy node of this length.
func (f *frozen) ranks() (rank []uint32, byRank []Node) {
	n := len(f.traits)
	chain := make([]uint32, n)
	order := Topological(f.in, f.out, arc.to)
	longest := uint32(0)
	for i := len(order) - 1; i >= 0; i-- {
		x := Node(order[i])
		for _, a := range f.after(x) {
			chain[x] = max(chain[x], chain[a.node()])
		}
		if f.traits[x]&(gate|lazy) == 0 {
			chain[x]++
		}
		longest = max(longest, chain[x])
	}
	place := func(x int) uint32 { // 0 for closers; nodes with long chains of successors before nodes with short chains
		switch p := 1 + 2*(longest-chain[x]); {
		case f.traits[x]&closer != 0:
			return 0
		case f.traits[x]&lazy != 0:
			return p + 1
		default:
			return p
		}
	}
	starts := make([]int32, 2*longest+3)
	for x := range n {
		starts[place(x)]++
	}
	pileUp(starts)
	rank, byRank = make([]uint32, n), make([]Node, n)
	for x := n - 1; x >= 0; x-- {
		p := place(x)
		starts[p]--
		rank[x], byRank[starts[p]] = uint32(starts[p]), Node(x)
	}
	return rank, byRank
}

// Text lists the nodes in the order of their addition, one on a line, with labels, traits and predecessors. The words
// for the traits are late (a lazy node), closer and gate. label returns the label of a node. For example:
//
//	+S
//	+P late; needs +E
//	+X; needs +S +P
//	-P closer; waits +P +X
func (g *Graph) Text(label func(Node) string) string {
	var b strings.Builder
	f := g.freeze()
	for n := range g.traits {
		b.WriteString(label(Node(n)))
		for i, word := range []string{" late", " closer", " gate"} {
			if g.traits[n]&(1<<i) != 0 {
				b.WriteString(word)
			}
		}
		deps := slices.Compact(slices.Sorted(slices.Values(f.before(Node(n)))))
		list(&b, label, "; needs", deps, true)
		list(&b, label, "; waits", deps, false)
		b.WriteByte('\n')
	}
	return b.String()
}

func list(b *strings.Builder, label func(Node) string, word string, deps []arc, needs bool) {
	for _, d := range deps {
		if d.needs() != needs {
			continue
		}
		b.WriteString(word)
		b.WriteByte(' ')
		b.WriteString(label(d.node()))
		word = ""
	}
}

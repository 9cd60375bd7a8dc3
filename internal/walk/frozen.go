package walk

// frozen is a graph in the form that is fast to go through: the neighbours of node n, in either
// direction, are one stretch of an array.
type frozen struct {
	traits            []traits
	inStart, outStart []uint32
	in, out           []arc
}

func (g *Graph) freeze() *frozen {
	n := len(g.traits)
	f := &frozen{traits: g.traits, inStart: make([]uint32, n+1), outStart: make([]uint32, n+1),
		in: make([]arc, len(g.edges)), out: make([]arc, len(g.edges))}
	for _, e := range g.edges {
		f.inStart[e.n]++
		f.outStart[e.after.node()]++
	}
	pileUp(f.inStart)
	pileUp(f.outStart)
	for i := len(g.edges) - 1; i >= 0; i-- { // from the end, so that stretches are in order
		e := g.edges[i]
		dep := e.after.node()
		f.inStart[e.n]--
		f.in[f.inStart[e.n]] = e.after
		f.outStart[dep]--
		f.out[f.outStart[dep]] = makeArc(e.n, e.after.needs())
	}
	return f
}

// pileUp turns counts into the ends of stretches.
func pileUp(counts []uint32) {
	var sum uint32
	for i, c := range counts {
		sum += c
		counts[i] = sum
	}
}

// before is what n comes after; after is what comes after n.
func (f *frozen) before(n Node) []arc { return f.in[f.inStart[n]:f.inStart[n+1]] }
func (f *frozen) after(n Node) []arc  { return f.out[f.outStart[n]:f.outStart[n+1]] }

// order lists nodes so that each stands after all it comes after. Nodes on a cycle, and what comes
// after them, are missing.
func (f *frozen) order() []Node {
	n := len(f.traits)
	left := make([]uint32, n)
	done := make([]Node, 0, n)
	for i := range n {
		if left[i] = f.inStart[i+1] - f.inStart[i]; left[i] == 0 {
			done = append(done, Node(i))
		}
	}
	for i := 0; i < len(done); i++ {
		for _, a := range f.after(done[i]) {
			if left[a.node()]--; left[a.node()] == 0 {
				done = append(done, a.node())
			}
		}
	}
	return done
}

// ranks gives every node its place in the ready list, and the other way round: closers, then by
// the number of nodes on the longest chain that starts with it, then late ones last, then as added.
// Gates cost nothing, nor do late nodes: what a late one opens is to be used before another opens.
func (f *frozen) ranks() (rank []uint32, byRank []Node) {
	n := len(f.traits)
	chain := make([]uint32, n)
	order := f.order()
	longest := uint32(0)
	for i := len(order) - 1; i >= 0; i-- {
		x := order[i]
		for _, a := range f.after(x) {
			chain[x] = max(chain[x], chain[a.node()])
		}
		if f.traits[x]&(gate|late) == 0 {
			chain[x]++
		}
		longest = max(longest, chain[x])
	}
	place := func(x int) uint32 { // 0 for closers, then long chains before short ones
		switch p := 1 + 2*(longest-chain[x]); {
		case f.traits[x]&closer != 0:
			return 0
		case f.traits[x]&late != 0:
			return p + 1
		default:
			return p
		}
	}
	starts := make([]uint32, 2*longest+3)
	for x := range n {
		starts[place(x)]++
	}
	pileUp(starts)
	rank, byRank = make([]uint32, n), make([]Node, n)
	for x := n - 1; x >= 0; x-- {
		p := place(x)
		starts[p]--
		rank[x], byRank[starts[p]] = starts[p], Node(x)
	}
	return rank, byRank
}

package plan

import (
	"cmp"
	"slices"
	"sort"
)

// adjacency is a list of edges that is fast to go through: those from v are one stretch of it.
type adjacency struct {
	start []int32
	edges []Edge
}

func adjacent(vertices int, edges []Edge) adjacency {
	a := adjacency{make([]int32, vertices+1), make([]Edge, len(edges))}
	for _, e := range edges {
		a.start[e.From]++
	}
	pileUp(a.start)
	for i := len(edges) - 1; i >= 0; i-- { // from the end, so that stretches keep their order
		e := edges[i]
		a.start[e.From]--
		a.edges[a.start[e.From]] = e
	}
	return a
}

func (a adjacency) from(v Vertex) []Edge { return a.edges[a.start[v]:a.start[v+1]] }

// pileUp turns counts into the ends of stretches.
func pileUp(counts []int32) {
	var sum int32
	for i, c := range counts {
		sum += c
		counts[i] = sum
	}
}

// breakCycles removes the edges inside strongly connected components and gives the components that
// had any.
func (a *adjacency) breakCycles() [][]Vertex {
	if len(a.edges) == 0 {
		return nil
	}
	n := len(a.start) - 1
	comp := components(n, func(v int32) int { return len(a.from(v)) }, func(v int32, i int) int32 { return a.from(v)[i].To })
	var inside []Edge
	kept := a.edges[:0:0]
	for _, e := range a.edges {
		if comp[e.From] == comp[e.To] {
			inside = append(inside, e)
		}
	}
	if inside == nil {
		return nil
	}
	cyclic := map[int32][]Vertex{}
	for _, e := range inside {
		cyclic[comp[e.From]] = append(cyclic[comp[e.From]], e.From, e.To)
	}
	for _, e := range a.edges {
		if comp[e.From] != comp[e.To] {
			kept = append(kept, e)
		}
	}
	*a = adjacent(n, kept)
	var out [][]Vertex
	for _, vs := range cyclic {
		slices.Sort(vs)
		out = append(out, slices.Compact(vs))
	}
	slices.SortFunc(out, func(x, y []Vertex) int { return cmp.Compare(x[0], y[0]) })
	return out
}

// components numbers the strongly connected components of a graph (Tarjan's algorithm, without
// recursion): nodes with equal numbers reach each other.
func components(n int, degree func(int32) int, to func(v int32, i int) int32) []int32 {
	comp, low, next := make([]int32, n), make([]int32, n), make([]int32, n)
	var stack, path []int32 // nodes without a component yet; nodes being visited
	count, found := int32(0), int32(0)
	for root := range int32(n) {
		if low[root] != 0 {
			continue
		}
		for path = append(path, root); len(path) > 0; {
			v := path[len(path)-1]
			if low[v] == 0 {
				count++
				low[v] = count
				stack = append(stack, v)
			}
			if i := next[v]; int(i) < degree(v) {
				next[v]++
				if w := to(v, int(i)); low[w] == 0 {
					path = append(path, w)
				}
				continue
			}
			path = path[:len(path)-1]
			if closeComponent(v, &stack, low, comp, found+1, degree, to) {
				found++
			}
		}
	}
	return comp
}

// closeComponent ends the visit of v. If v is the first node of a component, that is all nodes on
// the stack from v on.
func closeComponent(v int32, stack *[]int32, low, comp []int32, number int32, degree func(int32) int, to func(int32, int) int32) bool {
	lowest := low[v]
	for i := range degree(v) {
		if w := to(v, i); comp[w] == 0 {
			lowest = min(lowest, low[w])
		}
	}
	if lowest < low[v] {
		low[v] = lowest
		return false
	}
	s := *stack
	at := len(s) - 1
	for s[at] != v {
		at--
	}
	for _, w := range s[at:] {
		comp[w] = number
	}
	*stack = s[:at]
	return true
}

// sortMembers groups the objects.
func (p *problem) sortMembers() {
	p.start = make([]int32, len(p.Groups)+1)
	for i := range p.Objects {
		p.start[p.Objects[i].Group]++
	}
	pileUp(p.start)
	p.members = make([]int32, len(p.Objects))
	for i := len(p.Objects) - 1; i >= 0; i-- {
		g := p.Objects[i].Group
		p.start[g]--
		p.members[p.start[g]] = int32(i)
	}
	less := func(a, b int32) int {
		x, y := &p.Objects[a], &p.Objects[b]
		if x.Deposed != y.Deposed && x.Key == y.Key {
			return cmp.Compare(bit(x.Deposed), bit(y.Deposed))
		}
		return cmp.Compare(x.Key, y.Key)
	}
	for g := range p.Groups {
		if m := p.objects(Vertex(g)); !slices.IsSortedFunc(m, less) {
			slices.SortStableFunc(m, less)
		}
	}
}

// searchKey finds the first of the objects whose key is not below.
func searchKey(objects []Object, among []int32, key int32) int {
	return sort.Search(len(among), func(i int) bool { return objects[among[i]].Key >= key })
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

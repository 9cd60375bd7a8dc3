package plan

import (
	"cmp"
	"slices"
	"sort"

	"github.com/lethe-iac/lethe/internal/walk"
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
	comp, _ := walk.Components(n, func(v int32) []Edge { return a.from(v) }, func(e Edge) int32 { return e.To })
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

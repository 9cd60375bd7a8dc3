package plan

import (
	"cmp"
	"slices"
	"sort"

	"github.com/lethe-iac/lethe/internal/walk"
)

// adjacent are edges by where they come from.
func adjacent(vertices int, edges []Edge) walk.Rows[Edge] {
	return walk.Sorted(vertices, edges, func(e Edge) int32 { return e.From }, func(e Edge) Edge { return e })
}

// breakCycles removes the edges inside strongly connected components and gives the components that
// had any.
func breakCycles(a walk.Rows[Edge]) (walk.Rows[Edge], [][]Vertex) {
	if len(a.All()) == 0 {
		return a, nil
	}
	n := a.Len()
	comp, _ := walk.Components(n, a.Of, func(e Edge) int32 { return e.To })
	cyclic := map[int32][]Vertex{}
	for _, e := range a.All() {
		if comp[e.From] == comp[e.To] {
			cyclic[comp[e.From]] = append(cyclic[comp[e.From]], e.From, e.To)
		}
	}
	if len(cyclic) == 0 {
		return a, nil
	}
	a = adjacent(n, slices.DeleteFunc(a.All(), func(e Edge) bool { return comp[e.From] == comp[e.To] }))
	var out [][]Vertex
	for _, vs := range cyclic {
		slices.Sort(vs)
		out = append(out, slices.Compact(vs))
	}
	slices.SortFunc(out, func(x, y []Vertex) int { return cmp.Compare(x[0], y[0]) })
	return a, out
}

// sortMembers groups the objects.
func (p *problem) sortMembers() {
	all := make([]int32, len(p.Objects))
	for i := range all {
		all[i] = int32(i)
	}
	p.members = walk.Sorted(len(p.Groups), all, func(i int32) int32 { return p.Objects[i].Group }, func(i int32) int32 { return i })
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

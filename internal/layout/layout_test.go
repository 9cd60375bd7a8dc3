package layout

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// random returns a random graph of n nodes with groups and edges, which may have cycles.
func random(r *rand.Rand, n int) *Graph {
	g := &Graph{}
	groups := []int{-1}
	for i := range n {
		node := Node{Parent: groups[r.IntN(len(groups))], Group: r.IntN(4) == 0, Width: 20 + 50*r.Float64(), Height: 20}
		g.Nodes = append(g.Nodes, node)
		if node.Group {
			groups = append(groups, i)
		}
	}
	for range n * 2 {
		if a, b := r.IntN(n), r.IntN(n); !g.Nodes[a].Group && !g.Nodes[b].Group {
			g.Edges = append(g.Edges, [2]int{a, b})
		}
	}
	return g
}

// Boxes of the same group do not overlap, and lie inside the box of their group.
func TestBoxes(t *testing.T) {
	for seed := range 50 {
		g := random(rand.New(rand.NewPCG(uint64(seed), 1)), 1+seed*3)
		boxes, all := g.Place()
		for i, a := range boxes {
			in := all
			if p := g.Nodes[i].Parent; p >= 0 {
				in = boxes[p]
			}
			if a.X < in.X-.001 || a.Y < in.Y-.001 || a.X+a.Width > in.X+in.Width+.001 || a.Y+a.Height > in.Y+in.Height+.001 {
				t.Fatalf("seed %d: the box %v of node %d is not inside %v", seed, a, i, in)
			}
			for j, b := range boxes[:i] {
				if g.Nodes[i].Parent == g.Nodes[j].Parent && a.X < b.X+b.Width && b.X < a.X+a.Width && a.Y < b.Y+b.Height && b.Y < a.Y+a.Height {
					t.Fatalf("seed %d: the boxes %v and %v overlap", seed, a, b)
				}
			}
		}
	}
}

// Without cycles, each node is right of the nodes that it depends on.
func TestDirection(t *testing.T) {
	for seed := range 50 {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		g := &Graph{}
		for i := range 40 {
			g.Nodes = append(g.Nodes, Node{Parent: -1, Width: 10, Height: 10})
			if i > 0 {
				g.Edges = append(g.Edges, [2]int{i, r.IntN(i)}, [2]int{i, r.IntN(i)})
			}
		}
		boxes, _ := g.Place()
		for _, e := range g.Edges {
			if boxes[e[0]].X <= boxes[e[1]].X {
				t.Fatalf("seed %d: node %d is not right of node %d", seed, e[0], e[1])
			}
		}
	}
}

// Place returns equal places for equal graphs, and puts every node in one column.
func TestColumns(t *testing.T) {
	g := random(rand.New(rand.NewPCG(7, 7)), 200)
	a, _ := g.Place()
	b, _ := g.Place()
	if !slices.Equal(a, b) {
		t.Error("two placements differ")
	}
	seen := map[int]int{}
	for _, columns := range g.Members() {
		for _, c := range columns {
			for _, i := range c {
				seen[i]++
			}
		}
	}
	for i := range g.Nodes {
		if seen[i] != 1 {
			t.Errorf("node %d is in %d columns", i, seen[i])
		}
	}
	if boxes, size := (&Graph{}).Place(); len(boxes) > 0 || size != (Box{}) {
		t.Error("an empty graph has a size")
	}
}

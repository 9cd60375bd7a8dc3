// Package layout places the nodes of a graph in layers, with boxes around groups.
//
// A layer is a column of the drawing. A node is left of the nodes that depend on it, except where dependencies form a
// cycle. The content of a group is placed before its box, so that the box can then be placed like a node. The cost is
// linear in nodes and edges, apart from sorting and the depth of nested groups.
package layout

import (
	"cmp"
	"math"
	"slices"
)

// Node is a node or a group. Width and Height are the size of a node; they do not count for a group, whose size follows
// from its members. Parent is the index of the group that contains the node, or -1 without a group. A group has a lower
// index than its members.
type Node struct {
	Parent int
	Group  bool
	Width  float64
	Height float64
}

// Box is the rectangle of a node or a group in the drawing. X and Y are the coordinates of its upper left corner. X
// grows to the right, Y grows downwards.
type Box struct{ X, Y, Width, Height float64 }

// Graph is the graph to draw. An edge goes from a node to a node that the first node depends on.
type Graph struct {
	Nodes []Node
	Edges [][2]int // indexes in Nodes: from, to
}

const (
	gapX    = 48 // the distance between columns
	gapY    = 12 // the distance between the nodes of a column
	padding = 12 // the distance between the border of a group and the boxes inside
	heading = 22 // the height of the title above the content of a group
)

// Members returns the columns of the members of each group, by the index of the group. The last element has the columns
// of the nodes without a group. Two nodes of a column do not depend on each other, except on a cycle.
func (g *Graph) Members() [][][]int {
	n := len(g.Nodes)
	groups := make([][]int, n+1)
	depth := make([]int, n)
	for i, node := range g.Nodes {
		p := node.Parent
		if p < 0 {
			p = n
		} else {
			depth[i] = depth[p] + 1
		}
		groups[p] = append(groups[p], i)
	}
	lifted := make([][][2]int, n+1)
	for _, e := range g.Edges {
		a, b := e[0], e[1]
		for depth[a] > depth[b] {
			a = g.Nodes[a].Parent
		}
		for depth[b] > depth[a] {
			b = g.Nodes[b].Parent
		}
		for g.Nodes[a].Parent != g.Nodes[b].Parent {
			a, b = g.Nodes[a].Parent, g.Nodes[b].Parent
		}
		p := g.Nodes[a].Parent
		if p < 0 {
			p = n
		}
		if a != b {
			lifted[p] = append(lifted[p], [2]int{a, b})
		}
	}
	out := make([][][]int, n+1)
	local := make([]int, n)
	for p, members := range groups {
		for i, m := range members {
			local[m] = i
		}
		edges := lifted[p]
		for i, e := range edges {
			edges[i] = [2]int{local[e[0]], local[e[1]]}
		}
		for _, column := range columns(len(members), edges) {
			for i, m := range column {
				column[i] = members[m]
			}
			out[p] = append(out[p], column)
		}
	}
	return out
}

// Place returns the boxes of all nodes and groups, by their index, and a box with the size of the drawing.
func (g *Graph) Place() ([]Box, Box) {
	members := g.Members()
	boxes := make([]Box, len(g.Nodes))
	var all Box
	for p := len(g.Nodes); p >= 0; p-- { // inner groups before the groups around them; the drawing itself last
		i := p - 1
		if p == 0 {
			i = len(g.Nodes)
		}
		size := g.pack(members[i], boxes)
		if p == 0 {
			all = size
			continue
		}
		if g.Nodes[i].Group {
			boxes[i].Width, boxes[i].Height = size.Width+2*padding, size.Height+padding+heading
		} else {
			boxes[i].Width, boxes[i].Height = g.Nodes[i].Width, g.Nodes[i].Height
		}
	}
	for i, node := range g.Nodes {
		if node.Parent >= 0 {
			boxes[i].X += boxes[node.Parent].X + padding
			boxes[i].Y += boxes[node.Parent].Y + heading
		}
	}
	return boxes, all
}

// pack places columns side by side, from left to right, each with its middle at the same height. It sets X and Y of the
// boxes of their nodes, relative to the upper left corner of the first column. The caller must have set the sizes of
// these boxes. pack returns the size of all columns together.
func (g *Graph) pack(cols [][]int, boxes []Box) (size Box) {
	heights := make([]float64, len(cols))
	for c, column := range cols {
		for _, i := range column {
			heights[c] += boxes[i].Height + gapY
		}
		heights[c] = max(heights[c]-gapY, 0)
		size.Height = max(size.Height, heights[c])
	}
	x := 0.0
	for c, column := range cols {
		y, width := (size.Height-heights[c])/2, 0.0
		for _, i := range column {
			boxes[i].X, boxes[i].Y = x, y
			y += boxes[i].Height + gapY
			width = max(width, boxes[i].Width)
		}
		x += width + gapX
	}
	size.Width = max(x-gapX, 0)
	return size
}

// columns assigns n nodes to columns: a node comes in a later column than the nodes that it depends on, apart from
// cycles. Long columns are divided, so that a drawing is not much higher than wide.
func columns(n int, edges [][2]int) [][]int {
	rank := ranks(n, edges)
	layers := make([][]int, slices.Max(append(rank, -1))+1)
	for i, r := range rank {
		layers[r] = append(layers[r], i)
	}
	sweep(n, layers, edges)
	limit := max(8, int(math.Sqrt(float64(n))*1.5))
	var out [][]int
	for _, l := range layers {
		parts := (len(l) + limit - 1) / limit
		if parts == 0 {
			continue
		}
		for part := range slices.Chunk(l, (len(l)+parts-1)/parts) {
			out = append(out, part)
		}
	}
	return out
}

// ranks returns, for each of n nodes, the number of edges in the longest chain of dependencies that starts at the node.
// It ignores edges that close a cycle.
func ranks(n int, edges [][2]int) []int {
	next := make([][]int, n)
	for _, e := range edges {
		next[e[0]] = append(next[e[0]], e[1])
	}
	rank, state, at := make([]int, n), make([]uint8, n), make([]int, n)
	var stack []int
	for root := range n {
		if state[root] > 0 {
			continue
		}
		stack = append(stack[:0], root)
		state[root] = 1
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			if at[i] < len(next[i]) {
				d := next[i][at[i]]
				at[i]++
				if state[d] == 0 {
					state[d] = 1
					stack = append(stack, d)
				}
				if state[d] == 2 {
					rank[i] = max(rank[i], rank[d]+1)
				}
				continue
			}
			state[i] = 2
			stack = stack[:len(stack)-1]
			if len(stack) > 0 {
				before := stack[len(stack)-1]
				rank[before] = max(rank[before], rank[i]+1)
			}
		}
	}
	return rank
}

// sweeps is the number of times that sweep orders the nodes of all layers.
const sweeps = 4

// sweep orders the nodes of each layer by the mean position of their neighbours, so that few edges cross. n is the
// number of nodes.
func sweep(n int, layers [][]int, edges [][2]int) {
	near := make([][]int, n)
	for _, e := range edges {
		near[e[0]] = append(near[e[0]], e[1])
		near[e[1]] = append(near[e[1]], e[0])
	}
	place := make([]float64, n)
	number := func(layer []int) {
		for i, v := range layer {
			place[v] = (float64(i) + .5) / float64(len(layer))
		}
	}
	for _, l := range layers {
		number(l)
	}
	mean := make([]float64, n)
	for s := range sweeps {
		for k := range layers {
			l := layers[k]
			if s%2 == 1 {
				l = layers[len(layers)-1-k]
			}
			for _, v := range l {
				mean[v] = place[v]
				if len(near[v]) == 0 {
					continue
				}
				sum := 0.0
				for _, u := range near[v] {
					sum += place[u]
				}
				mean[v] = sum / float64(len(near[v]))
			}
			slices.SortStableFunc(l, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
			number(l)
		}
	}
}

package graphview

import "github.com/lethe-iac/lethe/internal/layout"

// groups is the layout of a drawing. Each module is a group of nodes. Module i of the list names is layout.Nodes[i],
// and node i of the drawing is layout.Nodes[len(names)+i]. paths[i] has the names of the modules around module i, the
// outermost first.
type groups struct {
	names  []string
	paths  [][]string
	layout layout.Graph
}

// newGroups returns the layout of a drawing. size returns the width and height of a node.
func newGroups(d *Drawing, size func(Node) (width, height float64)) *groups {
	g := &groups{}
	index := map[string]int{}
	for _, n := range d.Nodes {
		for i, name := range n.Module {
			if _, is := index[name]; is {
				continue
			}
			parent := -1
			if i > 0 {
				parent = index[n.Module[i-1]]
			}
			index[name] = len(g.names)
			g.names, g.paths = append(g.names, name), append(g.paths, n.Module[:i])
			g.layout.Nodes = append(g.layout.Nodes, layout.Node{Parent: parent, Group: true})
		}
	}
	for _, n := range d.Nodes {
		parent := -1
		if len(n.Module) > 0 {
			parent = index[n.Module[len(n.Module)-1]]
		}
		w, h := size(n)
		g.layout.Nodes = append(g.layout.Nodes, layout.Node{Parent: parent, Width: w, Height: h})
	}
	for _, e := range d.Edges {
		g.layout.Edges = append(g.layout.Edges, [2]int{e[0] + len(g.names), e[1] + len(g.names)})
	}
	return g
}

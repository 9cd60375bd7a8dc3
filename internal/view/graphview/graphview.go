// Package graphview draws the declarations of a configuration: as an SVG image, as a page, and for Mermaid.
//
//	graphview.go  Drawing, and how it becomes smaller: a part of it, and folded modules
//	svg.go        the image
//	page.go       the page
//	mermaid.go    the flowchart
package graphview

import (
	"cmp"
	"slices"
	"strings"
)

// Node is a drawn declaration, or a folded module.
type Node struct {
	Name   string   // the whole address
	Label  string   // the address in its module
	Module []string // the addresses of the modules around it, the outermost first
	Lease  bool     // an ephemeral resource
	Action string   // of the plan: "create", "update", "replace", "delete", "read", or "" for none
	Folded int      // the number of declarations in a folded module
}

// Drawing is a set of nodes, sorted by module. An edge goes from a node to a node that it refers to.
type Drawing struct {
	Nodes []Node
	Edges [][2]int
}

// Selection selects a part of a drawing. From and To are addresses of nodes or of modules, or "".
type Selection struct {
	From, To string
	Depth    int // the largest number of edges from a selected node; 0 for any
}

// Most is the number of nodes above which a drawing folds its modules.
const Most = 300

// Names returns the addresses that a selection may have.
func (d *Drawing) Names() []string {
	seen := map[string]bool{}
	var out []string
	for _, n := range d.Nodes {
		for _, name := range append(slices.Clone(n.Module), n.Name) {
			if !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}

// Has reports whether a node or a module has this address.
func (d *Drawing) Has(name string) bool { return len(d.under(name)) > 0 }

func (d *Drawing) under(name string) (out []int) {
	for i, n := range d.Nodes {
		if n.Name == name || slices.Contains(n.Module, name) {
			out = append(out, i)
		}
	}
	return out
}

// Select returns the part of a drawing that From depends on, and that depends on To.
func (d *Drawing) Select(s Selection) *Drawing {
	keep := make([]bool, len(d.Nodes))
	for i := range keep {
		keep[i] = true
	}
	if s.From != "" {
		d.reach(keep, d.under(s.From), 0, s.Depth)
	}
	if s.To != "" {
		d.reach(keep, d.under(s.To), 1, s.Depth)
	}
	place := make([]int, len(d.Nodes))
	out := &Drawing{}
	for i, n := range d.Nodes {
		if keep[i] {
			place[i] = len(out.Nodes)
			out.Nodes = append(out.Nodes, n)
		}
	}
	for _, e := range d.Edges {
		if keep[e[0]] && keep[e[1]] {
			out.Edges = append(out.Edges, [2]int{place[e[0]], place[e[1]]})
		}
	}
	return out
}

// reach keeps the nodes that can be reached from others along edges (side 0) or against them (side 1).
func (d *Drawing) reach(keep []bool, from []int, side, depth int) {
	next := make([][]int, len(d.Nodes))
	for _, e := range d.Edges {
		next[e[side]] = append(next[e[side]], e[1-side])
	}
	far := make([]int, len(d.Nodes))
	for _, i := range from {
		far[i] = 1
	}
	for n := 0; n < len(from); n++ {
		i := from[n]
		if depth > 0 && far[i] > depth {
			continue
		}
		for _, to := range next[i] {
			if far[to] == 0 {
				far[to] = far[i] + 1
				from = append(from, to)
			}
		}
	}
	for i := range keep {
		keep[i] = keep[i] && far[i] > 0
	}
}

// Deepest returns the depth of the deepest module.
func (d *Drawing) Deepest() int {
	deepest := 0
	for _, n := range d.Nodes {
		deepest = max(deepest, len(n.Module))
	}
	return deepest
}

// Fold returns the drawing with the modules below a depth folded: each is one node.
func (d *Drawing) Fold(depth int) *Drawing {
	out := &Drawing{}
	place := make([]int, len(d.Nodes))
	folded := map[string]int{}
	for i, n := range d.Nodes {
		if len(n.Module) <= depth {
			place[i] = len(out.Nodes)
			out.Nodes = append(out.Nodes, n)
			continue
		}
		name := n.Module[depth]
		at, is := folded[name]
		if !is {
			at = len(out.Nodes)
			folded[name] = at
			out.Nodes = append(out.Nodes, Node{Name: name, Label: Local(name, n.Module[:depth]), Module: n.Module[:depth]})
		}
		place[i] = at
		out.Nodes[at].Folded++
		out.Nodes[at].Action = worse(out.Nodes[at].Action, n.Action)
	}
	seen := map[[2]int]bool{}
	for _, e := range d.Edges {
		f := [2]int{place[e[0]], place[e[1]]}
		if f[0] != f[1] && !seen[f] {
			seen[f] = true
			out.Edges = append(out.Edges, f)
		}
	}
	return out
}

// FoldTo returns the drawing, with the deepest modules folded until fits accepts it, and whether it does.
func (d *Drawing) FoldTo(fits func(*Drawing) bool) (*Drawing, bool) {
	out := d
	for depth := d.Deepest() - 1; !fits(out); depth-- {
		if depth < 0 {
			return out, false
		}
		out = d.Fold(depth)
	}
	return out, true
}

// Few reports whether a drawing has few nodes enough to be read.
func Few(d *Drawing) bool { return len(d.Nodes) <= Most }

// Local returns an address inside the modules around it.
func Local(name string, modules []string) string {
	if len(modules) == 0 {
		return name
	}
	return strings.TrimPrefix(name, modules[len(modules)-1]+".")
}

// actions are the actions of a plan, the most dangerous last, with their symbols.
var actions = []struct{ name, symbol string }{{"", ""}, {"read", "<="}, {"create", "+"}, {"update", "~"}, {"forget", "."}, {"replace", "-/+"}, {"delete", "-"}}

func rank(action string) int {
	for i, a := range actions {
		if a.name == action {
			return i
		}
	}
	return 0
}

// worse returns the more dangerous of two actions.
func worse(a, b string) string {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

// Worse returns the more dangerous of two actions.
func Worse(a, b string) string { return worse(a, b) }

// text returns the label of a node with the symbol of its action.
func (n Node) text() string {
	out := n.Label
	if n.Folded > 0 {
		out += " …"
	}
	if s := actions[rank(n.Action)].symbol; s != "" {
		out = s + " " + out
	}
	return out
}

// class returns the classes of an element for the node.
func (n Node) class() string {
	out := "node " + cmp.Or(n.Action, "none")
	if n.Lease {
		out += " lease"
	}
	if n.Folded > 0 {
		out += " folded"
	}
	return out
}

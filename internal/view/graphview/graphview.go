// Package graphview draws the declarations of a configuration, and the references between them: as an SVG image, as an
// HTML page, and as a flowchart for Mermaid.
//
//	graphview.go  Drawing, and how it becomes smaller: selected parts, folded modules and folded types
//	groups.go     the layout, in which modules are groups of nodes
//	svg.go        the image
//	page.go       the page
//	mermaid.go    the flowchart
package graphview

import (
	"cmp"
	"slices"
	"strings"
)

// Node is a drawn declaration, or a module whose content is drawn as one node (a folded module).
type Node struct {
	Name   string   // the whole address
	Label  string   // the address in its module
	Module []string // the addresses of the modules that contain the node, the outermost first
	Lease  bool     // the node is an ephemeral resource
	Action string   // the action of the plan: "create", "update", "replace", "delete", "read", "forget", or ""
	Folded int      // the number of declarations that a folded module represents; 0 for a declaration
}

// Drawing is a set of nodes, sorted by module. An edge goes from a node to a node that it refers to.
type Drawing struct {
	Nodes []Node
	Edges [][2]int // indexes in Nodes: from, to
}

// Selection selects a part of a drawing. From and To are addresses of nodes or of modules; "" selects everything.
type Selection struct {
	From, To string
	Depth    int // the largest number of edges between From or To and a node; 0 for any number
}

// Most is the number of nodes above which a drawing folds its modules.
const Most = 300

// Names returns the addresses that From and To of a Selection may have: the addresses of the nodes and of their
// modules.
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

// Has reports whether a node or a module has the given address.
func (d *Drawing) Has(name string) bool { return len(d.under(name)) > 0 }

func (d *Drawing) under(name string) (out []int) {
	for i, n := range d.Nodes {
		if n.Name == name || slices.Contains(n.Module, name) {
			out = append(out, i)
		}
	}
	return out
}

// Select returns the nodes on which From depends and that depend on To, with the edges between them. An empty From or
// To does not restrict the nodes. Depth limits the distance from From and To.
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

// reach sets keep[i] to false for each node i that cannot be reached from the given nodes: along edges (side 0) or
// against them (side 1). depth is the maximum number of edges; 0 means no limit.
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

// Deepest returns the number of modules around the node that has most modules around it; 0 if all nodes are in the root
// module.
func (d *Drawing) Deepest() int {
	deepest := 0
	for _, n := range d.Nodes {
		deepest = max(deepest, len(n.Module))
	}
	return deepest
}

// Fold returns a drawing in which each module at a depth is one node that contains the module's content. Depth 0 folds
// the modules that the root module calls, and so leaves no called module open.
func (d *Drawing) Fold(depth int) *Drawing {
	return d.merged(func(n Node) (Node, bool) {
		if len(n.Module) <= depth {
			return n, false
		}
		name := n.Module[depth]
		return Node{Name: name, Label: Local(name, n.Module[:depth]), Module: n.Module[:depth]}, true
	})
}

// merged returns a drawing in which nodes are merged. into returns the node into which a node is merged, and false for
// a node that stays.
func (d *Drawing) merged(into func(Node) (Node, bool)) *Drawing {
	out := &Drawing{}
	place := make([]int, len(d.Nodes))
	folded := map[string]int{}
	for i, n := range d.Nodes {
		m, merges := into(n)
		if !merges {
			place[i] = len(out.Nodes)
			out.Nodes = append(out.Nodes, n)
			continue
		}
		at, is := folded[m.Name]
		if !is {
			at = len(out.Nodes)
			folded[m.Name] = at
			out.Nodes = append(out.Nodes, m)
		}
		place[i] = at
		out.Nodes[at].Folded++
		out.Nodes[at].Action = worse(out.Nodes[at].Action, n.Action)
		out.Nodes[at].Lease = out.Nodes[at].Lease || n.Lease && len(m.Module) == len(n.Module)
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

// FoldTypes returns a drawing in which all declarations of one type in one module are one node. Folded modules do not
// change.
func (d *Drawing) FoldTypes() *Drawing {
	return d.merged(func(n Node) (Node, bool) {
		typ, _, _ := strings.Cut(n.Label, "[") // the label of a provider has its address in brackets
		if i := strings.LastIndexByte(typ, '.'); i > 0 {
			typ = typ[:i]
		}
		name := typ
		if k := len(n.Module); k > 0 {
			name = n.Module[k-1] + "." + typ
		}
		return Node{Name: name, Label: typ, Module: n.Module}, n.Folded == 0
	})
}

// FoldTo folds the deepest modules, level by level, until fits accepts the drawing. It returns false if fits refuses
// even the drawing with all modules folded.
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

// Few reports whether a drawing has at most Most nodes.
func Few(d *Drawing) bool { return len(d.Nodes) <= Most }

// Local returns an address without the address of its innermost module. modules has the addresses of the modules that
// contain the declaration, the innermost last.
func Local(name string, modules []string) string {
	if len(modules) == 0 {
		return name
	}
	return strings.TrimPrefix(name, modules[len(modules)-1]+".")
}

// actions are the actions of a plan with their symbols, sorted by danger: the most dangerous is the last.
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

// text returns the label of a node, after the symbol of its action. If other nodes are folded into the node, "…"
// follows.
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

// class returns the CSS classes of the element for a node.
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

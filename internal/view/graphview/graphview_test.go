package graphview

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"
)

// large returns a drawing of some modules, each with nodes that form a chain.
func large(modules, each int) *Drawing {
	d := &Drawing{}
	for m := range modules {
		path := []string{fmt.Sprintf("module.a%d", m/10), fmt.Sprintf("module.a%d.module.b%d", m/10, m)}
		for i := range each {
			n := len(d.Nodes)
			label := fmt.Sprintf("test_thing.n%d", i)
			d.Nodes = append(d.Nodes, Node{Name: path[1] + "." + label, Label: label, Module: path, Lease: i == 0})
			if n > 0 {
				d.Edges = append(d.Edges, [2]int{n, n - 1})
			}
		}
	}
	return d
}

// TestSelect checks that a selection has the nodes that From depends on, the nodes that depend on To, and no nodes that are
// further away than Depth.
func TestSelect(t *testing.T) {
	d := large(1, 5) // n4 → n3 → n2 → n1 → n0
	const in = "module.a0.module.b0.test_thing."
	for _, c := range []struct {
		s    Selection
		want string
	}{
		{Selection{}, "n0 n1 n2 n3 n4"}, {Selection{From: in + "n2"}, "n0 n1 n2"}, {Selection{To: in + "n2"}, "n2 n3 n4"},
		{Selection{From: in + "n3", To: in + "n1"}, "n1 n2 n3"}, {Selection{From: in + "n4", Depth: 1}, "n3 n4"}, {Selection{To: "module.a0", Depth: 1}, "n0 n1 n2 n3 n4"},
	} {
		var got []string
		part := d.Select(c.s)
		for _, n := range part.Nodes {
			got = append(got, strings.TrimPrefix(n.Label, "test_thing."))
		}
		if strings.Join(got, " ") != c.want || len(part.Edges) != len(got)-1 {
			t.Errorf("%+v: %v, %d edges", c.s, got, len(part.Edges))
		}
	}
	if !d.Has("module.a0") || d.Has("module.b") || len(d.Names()) != 7 {
		t.Errorf("names %v", d.Names())
	}
}

// Folding replaces a module by one node. The node has the number of its declarations and their worst action. Edges inside
// the module are omitted.
func TestFold(t *testing.T) {
	d := large(40, 10)
	d.Nodes[3].Action, d.Nodes[4].Action = "delete", "create"
	f, ok := d.FoldTo(Few)
	if !ok || len(f.Nodes) != 40 || len(f.Edges) != 39 || f.Nodes[0].Folded != 10 || f.Nodes[0].Action != "delete" || f.Nodes[0].Label != "module.b0" {
		t.Errorf("%v: %d nodes, %d edges, %+v", ok, len(f.Nodes), len(f.Edges), f.Nodes[0])
	}
	if f = d.Fold(0); len(f.Nodes) != 4 || f.Nodes[0].Folded != 100 {
		t.Errorf("%d nodes, %+v", len(f.Nodes), f.Nodes[0])
	}
}

// A flowchart is within the limits of Mermaid if modules can be folded.
func TestMermaid(t *testing.T) {
	for _, d := range []*Drawing{large(3, 5), large(100, 10), large(400, 20)} {
		text, ok := Mermaid(d)
		if edges := strings.Count(text, " --> "); !ok || edges > mermaidEdges || len(text) > mermaidText {
			t.Errorf("%v: %d edges, %d bytes", ok, edges, len(text))
		}
		if strings.Count(text, "subgraph") != strings.Count(text, "end\n") {
			t.Error("a subgraph is not closed")
		}
	}
	if text, _ := Mermaid(&Drawing{Nodes: []Node{{Label: `provider["example.com/a/b"]`, Module: []string{`module.m["k"]`}}}}); text != `flowchart RL
  subgraph m0["module.m[#quot;k#quot;]"]
    n0["provider[#quot;example.com/a/b#quot;]"]
  end
` {
		t.Errorf("quotes: %s", text)
	}
	many := &Drawing{}
	for i := range 600 {
		name := fmt.Sprintf("test_%d.a", i)
		many.Nodes = append(many.Nodes, Node{Name: name, Label: name})
		many.Edges = append(many.Edges, [2]int{i, 0})
	}
	if _, ok := Mermaid(many); ok {
		t.Error("600 types without modules fit")
	}
	for i := range many.Nodes {
		name := fmt.Sprintf("data.test_%d.n%d", i%3, i)
		many.Nodes[i] = Node{Name: name, Label: name}
	}
	if text, ok := Mermaid(many); !ok || !strings.Contains(text, `n1["data.test_1 (200 folded)"]`) || strings.Count(text, " --> ") != 2 {
		t.Errorf("%v: %s", ok, text)
	}
}

// An image is well-formed, whatever the names are, and large drawings are folded.
func TestSVG(t *testing.T) {
	hostile := &Drawing{Nodes: []Node{{Name: `</svg><script>"`, Label: `</text>&'<`, Action: "replace"}, {Name: "canary", Label: "canary"}}, Edges: [][2]int{{0, 1}, {1, 0}}}
	for _, d := range []*Drawing{{}, hostile, large(3, 5), large(400, 20)} {
		var b bytes.Buffer
		if err := SVG(&b, d, func(s string) string { return strings.ReplaceAll(s, "canary", "hidden") }); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "canary") || strings.Count(b.String(), `class="node `) > Most {
			t.Error("a secret or too many nodes")
		}
		for x := xml.NewDecoder(&b); ; {
			if _, err := x.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
}

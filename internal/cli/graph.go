package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang"
)

var graphCommand = &Command{
	Name: "graph", Short: "Generate a Graphviz graph of the steps in an operation",
	Long: "Produces a representation of the dependency graph between different\nobjects in the current configuration and state, in the DOT language.",
	Flags: func(c *call) {
		c.flags.String("plan", "", "Accepted for compatibility: the graph of a plan `file` is that of its configuration.")
		c.flags.Bool("draw-cycles", false, "Accepted for compatibility: a configuration with a cycle is refused with its path.")
		c.flags.String("type", "", "Accepted for compatibility: the `kind` of graph.")
		c.varFlags()
	},
	Run: runGraph,
}

func runGraph(ctx context.Context, c *call) int {
	p, ok := c.open()
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	if !p.load() || !p.compile(ctx) { // which needs no values of variables
		return p.doneQuiet()
	}
	c.ui.print(dot(p.program))
	return p.doneQuiet()
}

// dot draws resources and what they refer to, through values.
func dot(p *lang.Program) string {
	var b strings.Builder
	b.WriteString("digraph G {\n  rankdir = \"RL\";\n  node [shape = rect, fontname = \"sans-serif\"];\n")
	for _, d := range p.Decls() {
		if d.Kind == lang.Resource {
			fmt.Fprintf(&b, "  %q [label=%q];\n", d.Resource.String(), d.Resource.Local())
		}
	}
	for _, d := range p.Decls() {
		if d.Kind != lang.Resource {
			continue
		}
		for _, to := range resourcesBehind(p, d.ID) {
			fmt.Fprintf(&b, "  %q -> %q;\n", d.Resource.String(), to.String())
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// resourcesBehind are the resources that a declaration refers to, through values.
func resourcesBehind(p *lang.Program, d lang.Decl) []addr.Resource {
	var out []addr.Resource
	seen := map[lang.Decl]bool{d: true}
	var walk func(lang.Decl)
	walk = func(d lang.Decl) {
		for _, r := range p.Refs(d) {
			if seen[r.To] {
				continue
			}
			seen[r.To] = true
			if to := p.Decls()[r.To]; to.Kind == lang.Resource {
				out = append(out, to.Resource)
			} else {
				walk(r.To)
			}
		}
	}
	walk(d)
	return out
}

package devcmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
)

// Graph is `graph`.
var Graph = &base.Command{
	Name: "graph", Short: "Generate a Graphviz graph of the steps in an operation",
	Long: `Produces a representation of the dependency graph between different
objects in the current configuration, in the DOT language, or as a flowchart of
Mermaid.

By default it shows only resources and which of them refer to which. With
-type or -plan it shows everything that is declared: variables, locals,
outputs, modules, providers and checks, too.`,
	Examples: [][2]string{
		{"lethe graph | dot -Tsvg > graph.svg", "Draw the resources and what they need"},
		{"lethe graph -type=plan", "Show all steps of a plan"},
		{"lethe graph -format=mermaid", "Draw the resources in Markdown"},
	},
	Setup: base.Flags(func(c *base.Call, f *graphFlags) {
		c.Flags.StringVar(&f.plan, "plan", "", "Draw the configuration in this plan `file`, with all that is declared.")
		c.Flags.StringVar(&f.kind, "type", "", "Draw all that is declared. The `kind` is one of "+strings.Join(GraphTypes, ", ")+";\nthe drawing is the same for all of them.")
		c.Flags.StringVar(&f.format, "format", "dot", "The `language` of the drawing: dot or mermaid.")
		c.Flags.Bool("draw-cycles", false, "Accepted for compatibility: a configuration with a cycle is refused with its path.")
		c.Flags.Int("module-depth", -1, "Accepted for compatibility: all `levels` of modules are drawn.")
		c.Flags.Bool("verbose", false, "Accepted for compatibility.")
		f.VarFlags(c)
	}, runGraph),
}

// GraphTypes are the operations that Terraform and OpenTofu draw different graphs of.
var GraphTypes = []string{"plan", "plan-refresh-only", "plan-destroy", "apply"}

type graphFlags struct {
	project.Options
	plan, kind, format string
}

func runGraph(ctx context.Context, c *base.Call, f *graphFlags) int {
	if f.kind != "" && !slices.Contains(GraphTypes, f.kind) {
		c.Bag.Add(diag.Errorf("Unsupported graph type", "The kind of graph given with -type must be one of %s, and not %q.", strings.Join(GraphTypes, ", "), f.kind))
		return c.UI.Fail()
	}
	if f.format != "dot" && f.format != "mermaid" {
		c.Bag.Add(diag.Errorf("Unsupported graph type", "The format of the graph given with -format must be dot or mermaid, and not %q.", f.format))
		return c.UI.Fail()
	}
	p, ok := project.Open(c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	if !readDrawn(ctx, p, f.plan) {
		return p.UI.DoneQuiet()
	}
	switch all := f.kind+f.plan != ""; {
	case f.format == "mermaid":
		c.UI.Print(mermaid(p.Program, all))
	case all:
		c.UI.Print(fullGraph(p.Program))
	default:
		c.UI.Print(resourceGraph(p.Program, c.Renamed))
	}
	return p.UI.DoneQuiet()
}

// readDrawn reads the configuration to draw. It needs no values of variables.
func readDrawn(ctx context.Context, p *project.Project, plan string) bool {
	if plan == "" {
		return p.Load() && p.Compile(ctx, vet.CheckOptions{})
	}
	saved, ok := p.ReadPlan(ctx, plan)
	if !ok {
		return false
	}
	p.Recall(saved)
	return p.LoadSaved(ctx, saved)
}

// resourceGraph draws resources, those of each module together, and what they refer to, through
// values. named gives a sentence the names that the program is called by.
func resourceGraph(p *program.Program, named func(string) string) string {
	list := resourcesOf(p)
	var b strings.Builder
	b.WriteString("digraph G {\n  rankdir = \"RL\";\n  node [shape = rect, fontname = \"sans-serif\"];\n")
	module, indent := (addr.Module{}), "  "
	for _, d := range list {
		if d.Module != module {
			if !module.IsRoot() {
				b.WriteString("  }\n")
			}
			module, indent = d.Module, "    "
			fmt.Fprintf(&b, "  subgraph %q {\n    label = %q\n    fontname = \"sans-serif\"\n", "cluster_"+module.String(), module.String())
		}
		fmt.Fprintf(&b, "%s%q [label=%q];\n", indent, d.Resource.String(), d.Resource.Local())
	}
	if !module.IsRoot() {
		b.WriteString("  }\n")
	}
	if len(list) == 0 {
		try := named("For a more detailed graph, try: lethe graph -type=plan")
		fmt.Fprintf(&b, "  /* %-*s */\n  /* %s */\n", len(try), "This configuration does not contain any resources.", try)
	}
	for _, d := range list {
		for _, to := range resourcesBehind(p, d.ID) {
			fmt.Fprintf(&b, "  %q -> %q;\n", d.Resource.String(), to.Resource.String())
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// fullGraph draws every declaration and what it refers to directly, with the names and shapes that
// programs know from Terraform and OpenTofu.
func fullGraph(p *program.Program) string {
	var nodes, edges []string
	drawn, reached := map[string]bool{}, map[string]bool{}
	for _, d := range p.Decls() {
		from := drawnName(d)
		if shape := drawnShape(d); shape != "" {
			nodes = append(nodes, fmt.Sprintf("\t\t%q [label = %q, shape = %q]\n", from, d.String(), shape))
		}
		for _, r := range p.Refs(d.ID) {
			to := drawnName(p.Decls()[r.To])
			if edge := fmt.Sprintf("\t\t%q -> %q\n", from, to); !drawn[edge] {
				drawn[edge], reached[to] = true, true
				edges = append(edges, edge)
			}
		}
	}
	for _, d := range p.Decls() {
		if name := drawnName(d); !reached[name] {
			edges = append(edges, fmt.Sprintf("\t\t\"[root] root\" -> %q\n", name))
		}
	}
	slices.Sort(nodes)
	slices.Sort(edges)
	return "digraph {\n\tcompound = \"true\"\n\tnewrank = \"true\"\n\tsubgraph \"root\" {\n" + strings.Join(nodes, "") + strings.Join(edges, "") + "\t}\n}\n"
}

// drawnName is a declaration's name in a graph.
func drawnName(d *program.Declaration) string {
	name := "[root] " + d.String()
	switch {
	case d.Kind == program.ModuleContents:
		return name + " (close)"
	case d.Kind == program.Provider, d.Kind == program.Variable && d.Module.IsRoot():
		return name
	}
	return name + " (expand)"
}

// drawnShape is the shape of what is not only text on the way, "" for that.
func drawnShape(d *program.Declaration) string {
	switch {
	case d.Kind == program.Resource:
		return "box"
	case d.Kind == program.Provider:
		return "diamond"
	case d.Kind == program.Variable && d.Module.IsRoot():
		return "note"
	}
	return ""
}

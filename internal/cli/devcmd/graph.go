package devcmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/savedplan"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/operation"
)

// Graph is the command `graph`.
var Graph = &base.Command{
	Name: "graph", Short: "Generate a Graphviz graph of the steps in an operation",
	Long: `Produces a representation of the dependency graph between different
objects in the current configuration, in the DOT language, or as a flowchart of
Mermaid.

By default it shows resources and the references between them. With
-type or -plan it shows all declarations: variables, locals,
outputs, modules, providers and checks, too.`,
	Examples: [][2]string{
		{"lethe graph | dot -Tsvg > graph.svg", "Draw the resources and their dependencies"},
		{"lethe graph -type=plan", "Show all steps of a plan"},
		{"lethe graph -format=mermaid", "Draw the resources in Markdown"},
	},
	Setup: base.Flags(func(c *base.Call, f *graphFlags) {
		c.Flags.StringVar(&f.plan, "plan", "", "Draw all declarations of the configuration in this plan `file`.")
		c.Flags.StringVar(&f.kind, "type", "", "Draw all declarations. The `kind` is one of "+strings.Join(GraphTypes, ", ")+";\nthe drawing is the same for all of them.")
		c.Flags.StringVar(&f.format, "format", "dot", "The `language` of the drawing: dot or mermaid.")
		c.Flags.Bool("draw-cycles", false, "Accepted for compatibility. A cycle is always reported with its path.")
		c.Flags.Int("module-depth", -1, "Accepted for compatibility. All `levels` of modules are drawn.")
		c.Flags.Bool("verbose", false, "Accepted for compatibility.")
		f.VarFlags(c)
	}, runGraph),
}

// GraphTypes are the operations for which Terraform and OpenTofu draw different graphs.
var GraphTypes = []string{"plan", "plan-refresh-only", "plan-destroy", "apply"}

type graphFlags struct {
	workdir.Options
	plan, kind, format string
}

func runGraph(ctx context.Context, c *base.Call, f *graphFlags) int {
	if f.kind != "" && !slices.Contains(GraphTypes, f.kind) {
		c.Bag.Add(diag.Errorf("Unsupported graph type", "The option -type must be one of %s, not %q.", strings.Join(GraphTypes, ", "), f.kind))
		return c.UI.Fail()
	}
	if f.format != "dot" && f.format != "mermaid" {
		c.Bag.Add(diag.Errorf("Unsupported graph type", "The option -format must be dot or mermaid, not %q.", f.format))
		return c.UI.Fail()
	}
	s, ok := session.Open(c, &f.Options, operation.None)
	if !ok {
		return c.UI.Fail()
	}
	if !readDrawn(ctx, s, f.plan) {
		return c.UI.DoneDocument()
	}
	switch all := f.kind+f.plan != ""; {
	case f.format == "mermaid":
		c.UI.Print(mermaid(s.Program, all))
	case all:
		c.UI.Print(fullGraph(s.Program))
	default:
		c.UI.Print(resourceGraph(s.Program, c.Renamed))
	}
	return c.UI.DoneDocument()
}

// readDrawn reads the configuration to draw. It needs no values of variables.
func readDrawn(ctx context.Context, s *session.Session, plan string) bool {
	if plan == "" {
		return s.Loader.Load() && s.Compile(ctx, vet.CheckOptions{})
	}
	plans := savedplan.New(s)
	saved, ok := plans.Read(ctx, plan)
	if !ok {
		return false
	}
	plans.Recall(saved)
	return plans.Load(ctx, saved)
}

// resourceGraph draws the resources, grouped by module, and their references, directly or through values. named
// replaces the names of the program in a sentence.
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

// fullGraph draws all declarations and their direct references, with the names and shapes of Terraform and OpenTofu.
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

// drawnName returns the name of a declaration in a graph.
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

// drawnShape returns the shape of a declaration, or "" if the graph has only edges for it.
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

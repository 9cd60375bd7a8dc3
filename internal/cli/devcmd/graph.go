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
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/plan"
)

// Graph is the command `graph`.
var Graph = &base.Command{
	Name: "graph", Short: "Generate a Graphviz graph of the steps in an operation",
	Long: `Produces a representation of the dependency graph between different
objects in the current configuration, in the DOT language, as a flowchart of
Mermaid, as an image (svg) or as a page (html).

Images and pages of more than 300 declarations fold modules. Flowcharts fold
modules before they reach the limits of Mermaid: 50,000 characters, 500
references. If that is not enough, they fold the resources of each type. With -plan, images and pages colour the resources by their actions.

By default it shows resources and the references between them. With
-type or -plan it shows all declarations: variables, locals,
outputs, modules, providers and checks, too. With -from and -to together,
it shows the declarations between both addresses.`,
	Examples: [][2]string{
		{"lethe graph | dot -Tsvg > graph.svg", "Draw the resources and their dependencies"},
		{"lethe graph -type=plan", "Draw all declarations"},
		{"lethe graph -format=mermaid", "Draw the resources in Markdown"},
		{"lethe graph -format=html -plan=tfplan > graph.html", "Draw the resources of a plan as a page"},
		{"lethe graph -format=svg -from=module.web -depth=2 > graph.svg", "Draw the dependencies of a module"},
	},
	Setup: base.Flags(func(c *base.Call, f *graphFlags) {
		c.Flags.StringVar(&f.plan, "plan", "", "Draw the configuration in this plan `file`: all declarations, or with svg and html the resources with their actions.")
		c.Flags.StringVar(&f.kind, "type", "", "Draw all declarations. The `kind` is one of "+strings.Join(GraphTypes, ", ")+";\nthe drawing is the same for all of them.")
		c.Flags.StringVar(&f.format, "format", "dot", "The `form` of the drawing: "+formats+".")
		c.Flags.StringVar(&f.from, "from", "", "Draw only the resource or module with this `address` and its dependencies.")
		c.Flags.StringVar(&f.to, "to", "", "Draw only the resource or module with this `address` and its dependents.")
		c.Flags.IntVar(&f.depth, "depth", 0, "With -from or -to: draw at most this `number` of references away. By default, or with 0, draw all.")
		c.Flags.Bool("draw-cycles", false, "Accepted for compatibility. A cycle is always reported with its path.")
		c.Flags.Int("module-depth", -1, "Accepted for compatibility. All `levels` of modules are drawn.")
		c.Flags.Bool("verbose", false, "Accepted for compatibility.")
		f.VarFlags(c)
	}, runGraph),
}

// GraphTypes are the values of -type: the operations for which Terraform and OpenTofu draw different graphs.
var GraphTypes = []string{"plan", "plan-refresh-only", "plan-destroy", "apply"}

func runGraph(ctx context.Context, c *base.Call, f *graphFlags) int {
	if f.kind != "" && !slices.Contains(GraphTypes, f.kind) {
		c.Bag.Add(diag.Errorf("Unsupported graph type", "The option -type must be one of %s, not %q.", strings.Join(GraphTypes, ", "), f.kind))
		return c.UI.Fail()
	}
	if !slices.Contains([]string{"dot", "mermaid", "svg", "html"}, f.format) {
		c.Bag.Add(diag.Errorf("Unsupported graph type", "The option -format must be %s, not %q.", formats, f.format))
		return c.UI.Fail()
	}
	if f.depth < 0 || f.depth > 0 && f.from+f.to == "" {
		c.Bag.Add(diag.Errorf("Wrong combination of options", "The option -depth takes a number of 0 or more, and needs -from or -to."))
		return c.UI.Fail()
	}
	s, ok := session.Open(c, &f.Options, operation.None)
	if !ok {
		return c.UI.Fail()
	}
	saved, ok := readDrawn(ctx, s, f.plan)
	if !ok {
		return c.UI.DoneDocument()
	}
	draws := f.format == "svg" || f.format == "html"
	all := f.kind != "" || f.plan != "" && !draws
	d, keep, ok := f.drawing(c, s.Program, all)
	switch {
	case !ok:
	case draws:
		f.draw(c, withActions(d, saved, f.kind+f.from+f.to == ""))
	case f.format == "mermaid":
		f.flowchart(c, d)
	case all:
		c.UI.Print(fullGraph(s.Program, keep))
	default:
		c.UI.Print(resourceGraph(s.Program, keep, c.Renamed))
	}
	return c.UI.DoneDocument()
}

// readDrawn reads the plan file with this name and the configuration in it, and returns the plan. If name is "", it
// reads the configuration of the working directory and returns a nil plan; it needs no values of variables. If reading
// fails, readDrawn reports an error and returns false.
func readDrawn(ctx context.Context, s *session.Session, name string) (*plan.Plan, bool) {
	if name == "" {
		return nil, s.Loader.Load() && s.Compile(ctx, vet.CheckOptions{})
	}
	plans := savedplan.New(s)
	saved, ok := plans.Read(ctx, name)
	if !ok {
		return nil, false
	}
	plans.Recall(saved)
	return saved.Plan, plans.Load(ctx, saved)
}

// resourceGraph returns a graph of the resources, grouped by module, and of their references, directly or through
// values such as locals. named replaces the names of the program in a sentence. keep selects declarations.
func resourceGraph(p *program.Program, keep func(program.Decl) bool, named func(string) string) string {
	list := slices.DeleteFunc(resourcesOf(p), func(d *program.Declaration) bool { return !keep(d.ID) })
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
			if keep(to.ID) {
				fmt.Fprintf(&b, "  %q -> %q;\n", d.Resource.String(), to.Resource.String())
			}
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// fullGraph returns a graph of all declarations and their direct references, with the names and shapes of Terraform and
// OpenTofu. keep selects declarations.
func fullGraph(p *program.Program, keep func(program.Decl) bool) string {
	var nodes, edges []string
	drawn, reached := map[string]bool{}, map[string]bool{}
	for _, d := range p.Decls() {
		if !keep(d.ID) {
			continue
		}
		from := drawnName(d)
		if shape := drawnShape(d); shape != "" {
			nodes = append(nodes, fmt.Sprintf("\t\t%q [label = %q, shape = %q]\n", from, d.String(), shape))
		}
		for _, r := range p.Refs(d.ID) {
			to := drawnName(p.Decls()[r.To])
			if !keep(r.To) {
				continue
			}
			if edge := fmt.Sprintf("\t\t%q -> %q\n", from, to); !drawn[edge] {
				drawn[edge], reached[to] = true, true
				edges = append(edges, edge)
			}
		}
	}
	for _, d := range p.Decls() {
		if name := drawnName(d); keep(d.ID) && !reached[name] {
			edges = append(edges, fmt.Sprintf("\t\t\"[root] root\" -> %q\n", name))
		}
	}
	slices.Sort(nodes)
	slices.Sort(edges)
	return "digraph {\n\tcompound = \"true\"\n\tnewrank = \"true\"\n\tsubgraph \"root\" {\n" + strings.Join(nodes, "") + strings.Join(edges, "") + "\t}\n}\n"
}

// drawnName returns the name of a declaration in a graph: its address with the prefix and suffix that the nodes of
// Terraform and OpenTofu have.
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

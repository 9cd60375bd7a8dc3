package devcmd

import (
	"bytes"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/audit"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/view/graphview"
)

type graphFlags struct {
	workdir.Options
	plan, kind, format string
	from, to           string
	depth              int
}

// formats lists the values of the option -format, for messages.
const formats = "dot, mermaid, svg or html"

// drawing returns a drawing of the resources, or of all declarations if all is true. With -from or -to, it contains
// only the selected part. The second result is a function that reports whether a declaration is in the drawing. If
// -from or -to names nothing in the graph, drawing adds an error, and its last result is false.
func (f *graphFlags) drawing(c *base.Call, p *program.Program, all bool) (*graphview.Drawing, func(program.Decl) bool, bool) {
	d := newDrawing(p, all)
	f.from, f.to = declared(d, f.from), declared(d, f.to)
	for _, name := range []string{f.from, f.to} {
		if name != "" && !d.Has(name) {
			c.Bag.Add(diag.Errorf("Unsupported graph type", "The graph has no declaration or module with the address %q.%s", name, base.MeantOption(name, d.Names())))
			return nil, nil, false
		}
	}
	if f.from+f.to == "" {
		return d, func(program.Decl) bool { return true }, true
	}
	d = d.Select(graphview.Selection{From: f.from, To: f.to, Depth: f.depth})
	kept := map[string]bool{}
	for _, n := range d.Nodes {
		kept[n.Name] = true
	}
	return d, func(id program.Decl) bool { return kept[p.Decls()[id].String()] }, true
}

// declared returns the address of the declaration to which name, the address of an instance, belongs. It returns name
// unchanged if the drawing has it, or has no such declaration.
func declared(d *graphview.Drawing, name string) string {
	if at := strings.Join(audit.NamesOf(name), "."); !d.Has(name) && d.Has(at) {
		return at
	}
	return name
}

// newDrawing returns a drawing of all declarations if all is true, and otherwise of the resources. An edge between
// resources also represents a reference through values, such as locals.
func newDrawing(p *program.Program, all bool) *graphview.Drawing {
	list := resourcesOf(p)
	if all {
		list = p.Decls()
	} else {
		slices.SortStableFunc(list, func(a, b *program.Declaration) int { return slices.Compare(a.Module.Path(), b.Module.Path()) })
	}
	out := &graphview.Drawing{}
	number := map[program.Decl]int{}
	for i, d := range list {
		n := graphview.Node{Name: d.String(), Label: d.String(), Lease: d.Kind == program.Resource && d.Resource.Mode == addr.Ephemeral}
		if !all {
			n.Module = modulesAround(d.Module)
			n.Label = d.Resource.Local()
		}
		number[d.ID] = i
		out.Nodes = append(out.Nodes, n)
	}
	for i, d := range list {
		if all {
			for _, r := range p.Refs(d.ID) {
				out.Edges = append(out.Edges, [2]int{i, number[r.To]})
			}
			continue
		}
		for _, to := range resourcesBehind(p, d.ID) {
			out.Edges = append(out.Edges, [2]int{i, number[to.ID]})
		}
	}
	return out
}

// modulesAround returns the addresses of a module and of the modules that contain it, the outermost first.
func modulesAround(m addr.Module) []string {
	if m.IsRoot() {
		return nil
	}
	return append(modulesAround(m.Parent()), m.String())
}

// withActions adds the actions of a plan to the nodes. A resource gets the most dangerous action of its instances. If
// whole is true, withActions also adds the resources that have a planned action and are not in the drawing, because
// only the state has them. If p is nil, the drawing stays unchanged.
func withActions(d *graphview.Drawing, p *plan.Plan, whole bool) *graphview.Drawing {
	if p == nil {
		return d
	}
	actions, known := map[string]string{}, map[string]bool{}
	for _, n := range d.Nodes {
		known[n.Name] = true
	}
	for _, c := range p.Changes {
		res := c.Object.Resource()
		name := res.String()
		if !known[name] && c.Action != plan.NoOp && whole {
			known[name] = true
			d.Nodes = append(d.Nodes, graphview.Node{Name: name, Label: res.Local(), Module: modulesAround(res.Module)})
		}
		actions[name] = graphview.Worse(actions[name], actionName(c.Action))
	}
	for i, n := range d.Nodes {
		d.Nodes[i].Action = actions[n.Name]
	}
	return d
}

func actionName(a plan.Action) string {
	switch {
	case a == plan.NoOp:
		return ""
	case a.Replaces():
		return "replace"
	}
	return a.String()
}

// draw prints an image or a page.
func (f *graphFlags) draw(c *base.Call, d *graphview.Drawing) {
	var b bytes.Buffer
	begin := "<svg"
	if f.format == "html" {
		begin = "<!doctype html>"
		_ = graphview.Page(&b, d, graphview.Options{Title: "Graph of the configuration", Scrub: c.Secrets.Scrub}) // writing to a buffer never fails
	} else {
		_ = graphview.SVG(&b, d, c.Secrets.Scrub)
	}
	if text, ok := c.Guarded(b.Bytes(), begin); ok {
		c.UI.Print(string(text))
	}
}

// flowchart prints a flowchart. If the flowchart exceeds the limits of Mermaid, flowchart also adds a warning.
func (f *graphFlags) flowchart(c *base.Call, d *graphview.Drawing) {
	text, ok := graphview.Mermaid(d)
	if !ok {
		c.Bag.Add(diag.Warningf("Graph too large for Mermaid", "Mermaid draws at most 50,000 characters and 500 references, and there are no modules and types left to fold. Draw a part with -from, -to and -depth, or use -format=html."))
	}
	c.UI.Print(text)
}

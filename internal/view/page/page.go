// Package page writes a reviewed plan as one HTML file.
//
// The file loads no other file. Its policy (Content-Security-Policy) permits only the style and the script in the file,
// by their hashes. The page is readable without both: headings, <details> elements and the symbols of actions contain
// all information. The script searches, filters and follows permanent links (page.js).
//
// page.go has the document and its sections, change.go has one change, and text.go escapes texts.
package page

import (
	"bufio"
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/review"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/view/actionview"
	"github.com/lethe-iac/lethe/internal/view/sheet"
)

//go:embed page.css
var style string

//go:embed page.js
var script string

// Write writes the page of a reviewed plan. It returns the first error of w.
func Write(w io.Writer, r *review.Review, o Options) error {
	p := &page{Writer: bufio.NewWriterSize(w, 64<<10), r: r, o: o}
	sheet.Head(p, "Plan: "+p.r.Counts.Text(), style, script)
	p.body()
	return p.Flush()
}

// mostOpen is the maximum number of destroyed and replaced objects that are unfolded at first. If the plan has more,
// all are folded, so that readers see them together with their reasons.
const mostOpen = 4

// leading returns the number of changes that are drawn. A group counts once.
func leading(list []*review.Change) (n int) {
	for _, c := range list {
		if c.Leads() {
			n++
		}
	}
	return n
}

func (p *page) body() {
	p.WriteString("<body>\n<a class=\"skip\" href=\"#changes\">Skip to the changes</a>\n<header>\n")
	fmt.Fprintf(p, "<h1>%s</h1>\n", p.r.Counts.Text())
	p.facts()
	p.WriteString("</header>\n")
	p.tools()
	p.WriteString("<main id=\"changes\">\n")
	dangers := review.Dangers(p.r.Changes)
	if len(dangers) > 0 {
		p.section("danger", "Destroyed or replaced", func() { p.changes(dangers, "", leading(dangers) <= mostOpen) })
	}
	p.rest()
	p.list("actions", "Actions to be invoked", actionview.Texts(p.r.Plan.Invocations, p.code))
	p.outputs()
	if len(p.r.Drift) > 0 {
		p.section("drift", "Changed outside, and this plan depends on it", func() { p.changes(p.r.Drift, "outside:", false) })
	}
	if len(p.r.Rest) > 0 {
		p.section("other-drift", "Other changes outside", func() { p.changes(p.r.Rest, "outside:", false) })
	}
	p.notes()
	fmt.Fprintf(p, "</main>\n<script>%s</script>\n</body>\n</html>\n", script)
}

// facts writes facts about the plan, and the meaning of the symbols.
func (p *page) facts() {
	pl := p.r.Plan
	kind := map[plan.Mode]string{plan.Destroy: "Plan to destroy everything", plan.RefreshOnly: "Refresh-only plan"}[pl.Mode]
	if pl.Requested() {
		kind = "Plan to invoke an action"
	}
	fmt.Fprintf(p, "<p class=\"facts\">%s by %s", cmp.Or(kind, "Plan"), p.text(cmp.Or(p.o.Product, "Lethe")))
	if pl.Workspace != "" {
		fmt.Fprintf(p, ", workspace <code>%s</code>", p.text(pl.Workspace))
	}
	if !pl.Timestamp.IsZero() {
		at := pl.Timestamp.UTC().Format(time.RFC3339)
		fmt.Fprintf(p, ", made at <time datetime=\"%s\">%s</time>", at, at)
	}
	p.WriteString(".</p>\n")
	switch {
	case pl.Errored:
		p.WriteString("<p class=\"warn\"><strong>Planning failed.</strong> The plan is incomplete and cannot be applied.</p>\n")
	case pl.Requested():
		p.WriteString("<p class=\"warn\">The plan invokes one action, because of -invoke. It changes no object.</p>\n")
	case pl.Partial():
		p.WriteString("<p class=\"warn\">The plan covers only a part of the objects, because of -target, -exclude or -changed.</p>\n")
	}
	if len(p.r.Changes)+len(p.r.Drift)+len(p.r.Outputs)+len(pl.Invocations) == 0 {
		p.WriteString("<p>No changes.</p>\n")
	}
	p.WriteString("<p class=\"facts\">Symbols: + add, ~ change, - remove, ? sensitive and not compared.</p>\n")
}

// tools writes the form for search and filters, which the script makes visible.
func (p *page) tools() {
	all := slices.Concat(p.r.Changes, p.r.Drift, p.r.Rest)
	fmt.Fprintf(p, "<form id=\"tools\" role=\"search\" aria-label=\"Search and filters\" data-total=\"%d\" hidden>\n", len(all))
	p.WriteString("<label>Search <input id=\"search\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\"></label>\n")
	for _, f := range []struct {
		name, label string
		of          func(*review.Change) string
	}{
		{"action", "Action", func(c *review.Change) string { return action(c).name }}, {"module", "Module", (*review.Change).Module},
		{"type", "Type", func(c *review.Change) string { return c.Object.Type }},
		{"provider", "Provider", func(c *review.Change) string { return c.Provider().ForDisplay() }},
	} {
		values := map[string]bool{}
		for _, c := range all {
			values[f.of(c)] = true
		}
		fmt.Fprintf(p, "<label>%s <select name=\"%s\"><option value=\"\">all</option>", f.label, f.name)
		for _, v := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(p, "<option value=\"=%s\">%s</option>", p.text(v), cmp.Or(p.text(v), "(root module)"))
		}
		p.WriteString("</select></label>\n")
	}
	p.WriteString("<button type=\"button\" id=\"open\">Open all</button>\n<button type=\"button\" id=\"close\">Close all</button>\n<button type=\"button\" id=\"reset\">Reset</button>\n")
	fmt.Fprintf(p, "<output id=\"found\" for=\"search\" aria-live=\"polite\">%d of %d changes shown</output>\n</form>\n", len(all), len(all))
}

// section writes a part of the page with a heading. The caller must escape title.
func (p *page) section(id, title string, write func()) {
	fmt.Fprintf(p, "<section class=\"part\" aria-labelledby=\"heading-%s\">\n<h2 id=\"heading-%s\">%s</h2>\n", id, id, title)
	write()
	p.WriteString("</section>\n")
}

// rest writes the changes that destroy nothing, grouped by module.
func (p *page) rest() {
	var modules []string
	by := map[string][]*review.Change{}
	for _, c := range p.r.Changes {
		if m := c.Module(); c.Risk() != review.High {
			if by[m] == nil {
				modules = append(modules, m)
			}
			by[m] = append(by[m], c)
		}
	}
	if len(modules) == 0 {
		return
	}
	slices.Sort(modules)
	p.section("rest", "Other changes", func() {
		for _, m := range modules {
			if !slices.ContainsFunc(by[m], (*review.Change).Leads) {
				continue // the group of these changes is shown in another module
			}
			p.WriteString("<div class=\"part\">\n<h3>")
			if m == "" {
				p.WriteString("Root module")
			} else {
				fmt.Fprintf(p, "<code>%s</code>", p.text(m))
			}
			p.WriteString("</h3>\n")
			p.changes(by[m], "", false)
			p.WriteString("</div>\n")
		}
	})
}

func (p *page) outputs() {
	if len(p.r.Outputs) == 0 {
		return
	}
	p.section("outputs", "Outputs", func() {
		for _, o := range p.r.Outputs {
			p.WriteString("<pre>")
			p.buf.Reset()
			view.OutputContent(&p.buf, o.Name, o.Content, p.content())
			p.lines(p.buf.Bytes())
			p.WriteString("</pre>\n")
		}
	})
}

// notes writes the facts of a plan that are not changes of objects.
func (p *page) notes() {
	var moves, imports, deferred []string
	for _, c := range p.r.Changes {
		if c.Moved() {
			moves = append(moves, fmt.Sprintf("%s moved from %s", p.link(c), p.code(c.Was.String())))
		}
		if c.Importing != nil {
			imports = append(imports, p.link(c))
		}
	}
	for _, c := range p.r.Plan.Deferred {
		deferred = append(deferred, p.code(c.Subject())+" "+p.text(view.DeferralText(c)))
	}
	p.list("deferred", "Decided in a later round", deferred)
	p.list("later-actions", "Actions that later rounds may invoke", actionview.Texts(p.r.Plan.LaterInvocations, p.code))
	p.list("moves", "Moved objects", moves)
	p.list("imports", "Imported objects", imports)
	p.list("checks", "Checks", view.CheckTexts(p.r.Checks, p.code, p.text))
	p.list("leases", "Leases at apply", view.LeaseTexts(p.r.Plan.Leases, p.code))
}

// list writes a section with a list. The items are HTML.
func (p *page) list(id, title string, items []string) {
	if len(items) == 0 {
		return
	}
	p.section(id, title, func() {
		p.WriteString("<ul>\n")
		for _, item := range items {
			fmt.Fprintf(p, "<li>%s</li>\n", item)
		}
		p.WriteString("</ul>\n")
	})
}

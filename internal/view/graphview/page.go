package graphview

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"slices"

	"github.com/lethe-iac/lethe/internal/view/sheet"
)

//go:embed page.css
var pageStyle string

//go:embed page.js
var script string

// Options are settings of a page.
type Options struct {
	Title string
	Scrub func(string) string // masks secrets in names, values and messages; nil: these stay unchanged
}

// page writes the page of one drawing.
type page struct {
	*bufio.Writer
	d *Drawing
	g *groups
	o Options
}

// Page writes a drawing as an HTML page. The columns and the modules are HTML elements, so that readers can fold
// modules without a script. The script draws the edges. Without the script, readers see the edges in a list. If the
// drawing has more than Most nodes, the modules are folded at first.
func Page(w io.Writer, d *Drawing, o Options) error {
	p := &page{bufio.NewWriterSize(w, 64<<10), d, newGroups(d, size), o}
	sheet.Head(p, p.text(o.Title), pageStyle, script)
	fmt.Fprintf(p, "<body>\n<header>\n<h1>%s</h1>\n", p.text(o.Title))
	fmt.Fprintf(p, "<p class=\"facts\">%d declarations, %d references. Symbols: + create, ~ update, -/+ replace, - destroy, . forget, &lt;= read. A dashed border is a lease.</p>\n</header>\n", len(d.Nodes), len(d.Edges))
	p.WriteString("<main>\n<div id=\"tools\" hidden><button type=\"button\" id=\"open\">Open all modules</button> <button type=\"button\" id=\"close\">Fold all modules</button></div>\n")
	p.WriteString("<div id=\"graph\" tabindex=\"0\" role=\"region\" aria-label=\"Graph\"><svg id=\"edges\" aria-hidden=\"true\"></svg>\n")
	columns := p.g.layout.Members()
	p.columns(columns, columns[len(columns)-1])
	p.WriteString("</div>\n")
	p.references()
	fmt.Fprintf(p, "</main>\n<script>%s</script>\n</body>\n</html>\n", script)
	return p.Flush()
}

func (p *page) text(s string) string { return sheet.Text(s, p.o.Scrub) }

func (p *page) columns(all [][][]int, of [][]int) {
	p.WriteString("<div class=\"columns\">\n")
	for _, column := range of {
		p.WriteString("<div class=\"column\">\n")
		for _, i := range column {
			if n := i - len(p.g.names); n >= 0 {
				p.node(n)
				continue
			}
			open := " open"
			if !Few(p.d) {
				open = ""
			}
			fmt.Fprintf(p, "<details class=\"module\"%s>\n<summary>%s</summary>\n", open, p.text(Local(p.g.names[i], p.g.paths[i])))
			p.columns(all, all[i])
			p.WriteString("</details>\n")
		}
		p.WriteString("</div>\n")
	}
	p.WriteString("</div>\n")
}

func (p *page) node(i int) {
	n := p.d.Nodes[i]
	fmt.Fprintf(p, "<div class=\"%s\" id=\"n%d\"><a href=\"#r%d\">%s</a></div>\n", n.class(), i, i, p.text(n.text()))
}

// references lists the edges of the drawing in words.
func (p *page) references() {
	to, from := make([][]int, len(p.d.Nodes)), make([][]int, len(p.d.Nodes))
	for _, e := range p.d.Edges {
		to[e[0]] = append(to[e[0]], e[1])
		from[e[1]] = append(from[e[1]], e[0])
	}
	p.WriteString("<section aria-labelledby=\"references\">\n<h2 id=\"references\">References</h2>\n<dl>\n")
	for i, n := range p.d.Nodes {
		action := ""
		if n.Action != "" {
			action = ": " + n.Action
		}
		fmt.Fprintf(p, "<dt id=\"r%d\"><code>%s</code>%s</dt>\n", i, p.text(n.Name), action)
		p.names("refers to", to[i])
		p.names("is used by", from[i])
		if len(to[i])+len(from[i]) == 0 {
			p.WriteString("<dd>has no references</dd>\n")
		}
	}
	p.WriteString("</dl>\n</section>\n")
	fmt.Fprint(p, "<ol id=\"list\" hidden>")
	for _, e := range p.d.Edges {
		class := ""
		if p.d.Nodes[e[0]].Lease || p.d.Nodes[e[1]].Lease {
			class = " class=\"lease\""
		}
		fmt.Fprintf(p, "<li%s>%d %d</li>", class, e[0], e[1])
	}
	p.WriteString("</ol>\n")
}

func (p *page) names(verb string, list []int) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(p, "<dd>%s ", verb)
	slices.Sort(list)
	for k, i := range list {
		if k > 0 {
			p.WriteString(", ")
		}
		fmt.Fprintf(p, "<a href=\"#r%d\"><code>%s</code></a>", i, p.text(p.d.Nodes[i].Name))
	}
	p.WriteString("</dd>\n")
}

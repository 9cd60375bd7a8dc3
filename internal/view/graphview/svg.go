package graphview

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/layout"
	"github.com/lethe-iac/lethe/internal/view/sheet"
)

//go:embed svg.css
var svgStyle string

const (
	letter     = 7.3 // the width of a letter in pixels
	nodeHeight = 26
)

func size(n Node) (float64, float64) {
	return float64(utf8.RuneCountInString(n.text()))*letter + 20, nodeHeight
}

// SVG writes a drawing as an image. If the drawing has more than Most nodes, SVG folds modules. scrub masks secrets in
// texts; it may be nil.
func SVG(w io.Writer, d *Drawing, scrub func(string) string) error {
	d, _ = d.FoldTo(Few)
	g := newGroups(d, size)
	boxes, all := g.layout.Place()
	p := bufio.NewWriter(w)
	const margin = 10
	fmt.Fprintf(p, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"%d %d %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" role=\"img\" aria-label=\"Graph of the configuration\">\n<style>%s</style>\n",
		-margin, -margin, all.Width+2*margin, all.Height+2*margin, all.Width+2*margin, all.Height+2*margin, svgStyle)
	p.WriteString("<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path class=\"head\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n")
	for i, name := range g.names {
		b := boxes[i]
		fmt.Fprintf(p, "<g class=\"module\"><title>%s</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\"/><text x=\"%.1f\" y=\"%.1f\">%s</text></g>\n",
			sheet.Text(name, scrub), b.X, b.Y, b.Width, b.Height, b.X+8, b.Y+15, sheet.Text(Local(name, g.paths[i]), scrub))
	}
	first := len(g.names)
	for _, e := range d.Edges {
		class := "edge"
		if d.Nodes[e[0]].Lease || d.Nodes[e[1]].Lease {
			class += " lease"
		}
		fmt.Fprintf(p, "<path class=\"%s\" d=\"%s\" marker-end=\"url(#arrow)\"/>\n", class, curve(boxes[first+e[0]], boxes[first+e[1]]))
	}
	for i, n := range d.Nodes {
		b := boxes[first+i]
		title := n.Name
		if n.Folded > 0 {
			title += fmt.Sprintf(": %d declarations", n.Folded)
		}
		if n.Action != "" {
			title += ": " + n.Action
		}
		fmt.Fprintf(p, "<g class=\"%s\"><title>%s</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\"/><text x=\"%.1f\" y=\"%.1f\">%s</text></g>\n",
			n.class(), sheet.Text(title, scrub), b.X, b.Y, b.Width, b.Height, b.X+10, b.Y+17, sheet.Text(n.text(), scrub))
	}
	p.WriteString("</svg>\n")
	return p.Flush()
}

// curve returns the SVG path of an edge between two boxes. The edge usually leads to the left.
func curve(from, to layout.Box) string {
	x1, y1 := from.X, from.Y+from.Height/2
	x2, y2 := to.X+to.Width, to.Y+to.Height/2
	bend := max((x1-x2)/2, 24)
	return fmt.Sprintf("M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", x1, y1, x1-bend, y1, x2+bend, y2, x2, y2)
}

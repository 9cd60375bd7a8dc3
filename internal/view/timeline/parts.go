package timeline

import (
	"bufio"
	"fmt"
	"time"

	"github.com/lethe-iac/lethe/internal/timing"
	"github.com/lethe-iac/lethe/internal/view/sheet"
)

// Options are settings of a page.
type Options struct {
	Product string
	Scrub   func(string) string // masks secrets in names, values and messages; nil: these stay unchanged
}

// page is a page while it is written.
type page struct {
	*bufio.Writer
	r *timing.Run
	o Options
}

func (p *page) text(s string) string { return sheet.Text(s, p.o.Scrub) }

func (p *page) section(id, title string) {
	fmt.Fprintf(p, "<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">%s</h2>\n", id, id, title)
}

func (p *page) end() { p.WriteString("</section>\n") }

// table begins a table. A column whose name begins with "#" has numbers.
func (p *page) table(caption string, columns ...string) {
	fmt.Fprintf(p, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table>\n<caption>%s</caption>\n<thead><tr>", caption, caption)
	for _, c := range columns {
		class := ""
		if c[0] == '#' {
			class, c = ` class="n"`, c[1:]
		}
		fmt.Fprintf(p, "<th scope=\"col\"%s>%s</th>", class, c)
	}
	p.WriteString("</tr></thead>\n<tbody>\n")
}

func (p *page) endTable() { p.WriteString("</tbody>\n</table></div>\n") }

// line writes a row of a table. Durations and integers become cells with numbers. Other values are written as texts.
func (p *page) line(cells ...any) {
	p.WriteString("<tr>")
	for _, c := range cells {
		switch c := c.(type) {
		case time.Duration:
			fmt.Fprintf(p, "<td class=\"n\">%s</td>", timing.Text(c))
		case int:
			fmt.Fprintf(p, "<td class=\"n\">%d</td>", c)
		default:
			fmt.Fprintf(p, "<td>%s</td>", p.text(fmt.Sprint(c)))
		}
	}
	p.WriteString("</tr>\n")
}

func word(s timing.Span) string {
	switch s.Kind {
	case timing.Limit:
		return "waiting because of -parallelism"
	case timing.Wait:
		return "waiting for " + s.Name
	case timing.Configure:
		return "starting and configuring " + s.Name
	}
	return s.Name
}

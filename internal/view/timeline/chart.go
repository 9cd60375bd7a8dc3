package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-iac/lethe/internal/timing"
)

const (
	width     = 1000 // the width of a chart in pixels
	rowHeight = 18
	topMargin = 22
	mostDrawn = 600 // maximum number of rows of objects
	fewRows   = 15  // with at most this number of rows of objects, short ones are drawn, too
)

// bar is a row of the chart. began is the time at which the label is placed.
type bar struct {
	label string
	began time.Duration
	parts []part
}

// part is a rectangle in a row of the chart.
type part struct {
	class, title string
	began, ended time.Duration
}

func (p *page) x(d time.Duration) float64 {
	return float64(d) / float64(max(p.r.Took, time.Microsecond)) * width
}

// bars returns the rows of the chart: the phases, the starts of providers, the leases, and the work on objects. It also
// returns the number of omitted rows. Only rows of objects are counted and omitted: with more than fewRows, the short
// ones. If more than mostDrawn remain, it keeps only mostDrawn: first those of the longest chain of dependent rows, then
// the longest others.
func (p *page) bars() (out []bar, omitted int) {
	for _, s := range p.r.Phases {
		out = append(out, bar{s.Name, s.Began, []part{{"phase", s.Name, s.Began, s.Ended}}})
	}
	for _, s := range p.r.Starts {
		out = append(out, bar{"start of " + s.Name, s.Began, []part{{"start", "start of " + s.Name, s.Began, s.Ended}}})
	}
	for _, l := range p.r.Leases {
		out = append(out, bar{"lease " + l.Name, l.Began, []part{{"lease", "lease " + l.Name + " is open", l.Began, l.Ended}}})
	}
	rows := slices.Clone(p.r.Rows)
	if len(rows) > fewRows {
		rows = slices.DeleteFunc(rows, func(r timing.Row) bool { return r.Ended-r.Ready < p.r.Took/500 })
	}
	if len(rows) > mostDrawn {
		slices.SortStableFunc(rows, func(a, b timing.Row) int {
			if a.Critical != b.Critical {
				if a.Critical {
					return -1
				}
				return 1
			}
			return cmp.Compare(b.Ended-b.Began, a.Ended-a.Began)
		})
		rows = rows[:mostDrawn]
		slices.SortStableFunc(rows, func(a, b timing.Row) int { return cmp.Compare(a.Began, b.Began) })
	}
	for _, r := range rows {
		out = append(out, rowBar(r))
	}
	return out, len(p.r.Rows) - len(rows)
}

func rowBar(r timing.Row) bar {
	b := bar{label: r.Name, began: r.Ready}
	if n := len(r.Spans); n > 0 && r.Spans[n-1].Kind == timing.Call {
		b.label += ", " + r.Spans[n-1].Name
	}
	if r.Began-r.Ready >= time.Millisecond {
		why := r.Name + ": waiting because of -parallelism"
		if r.After != "" {
			why += ", after " + r.After
		}
		b.parts = append(b.parts, part{"limit", why, r.Ready, r.Began})
	}
	for _, s := range r.Spans {
		class := s.Kind.String()
		if r.Critical && (s.Kind == timing.Call || s.Kind == timing.Configure) {
			class += " critical"
		}
		if r.Failed && s.Kind == timing.Call {
			class += " failed"
		}
		title := r.Name + ": " + word(s)
		if r.After != "" {
			title += ", after " + r.After
		}
		b.parts = append(b.parts, part{class, title, s.Began, s.Ended})
	}
	return b
}

// drawing writes the start of a scrollable SVG drawing and its time axis. Screen readers read the label. The caller
// closes the elements svg and div.
func (p *page) drawing(label string, height int) {
	fmt.Fprintf(p, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s. The tables below have the same facts.\">\n", label, width, height, label)
	for i := range 10 {
		x := i * width / 10
		fmt.Fprintf(p, "<path class=\"axis\" d=\"M%d 0V%d\"/><text class=\"tick\" x=\"%d\" y=\"12\">%s</text>\n", x, height, x+3, timing.Text(p.r.Took*time.Duration(i)/10))
	}
}

func (p *page) chart() {
	bars, omitted := p.bars()
	p.section("chart", "Chart")
	p.WriteString("<p class=\"facts\">Solid bars are calls. Thick bars are the longest chain. Dashed bars are waiting: red because of -parallelism, grey for other work. Blue dashed bars are open leases.</p>\n")
	p.drawing("Chart of the run", topMargin+len(bars)*rowHeight+4)
	for i, b := range bars {
		p.bar(b, topMargin+i*rowHeight)
	}
	p.WriteString("</svg>\n</div>\n")
	if omitted > 0 {
		fmt.Fprintf(p, "<p>%d shorter rows are not drawn.</p>\n", omitted)
	}
	p.end()
}

func (p *page) bar(b bar, y int) {
	for _, r := range b.parts {
		x, w := p.x(r.began), max(p.x(r.ended)-p.x(r.began), .5)
		fmt.Fprintf(p, "<rect class=\"%s\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"><title>%s: %s</title></rect>", r.class, x, y+2, w, rowHeight-4, p.text(r.title), timing.Text(r.ended-r.began))
	}
	x, anchor := p.x(b.began)+4, "start"
	if x > width*.6 {
		x, anchor = x-8, "end"
	}
	fmt.Fprintf(p, "<text x=\"%.2f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", x, y+13, anchor, p.text(b.label))
}

// concurrency draws the number of calls that were in progress at each time.
func (p *page) concurrency() {
	most := p.r.Most()
	if most == 0 {
		return
	}
	const height, columns = 120, 500
	var peaks [columns]int
	n, next := 0, 0
	for c := range peaks {
		peaks[c] = n
		for next < len(p.r.Running) && p.x(p.r.Running[next].At) < float64(c+1)*width/columns {
			n = p.r.Running[next].N
			peaks[c] = max(peaks[c], n)
			next++
		}
	}
	p.section("concurrency", "Calls in progress")
	fmt.Fprintf(p, "<p class=\"facts\">At most %d at the same time; -parallelism permits %d.</p>\n", most, p.r.Parallelism)
	p.drawing(fmt.Sprintf("Calls in progress, at most %d", most), height)
	fmt.Fprintf(p, "<path class=\"level\" d=\"M0 %d", height)
	for c, v := range peaks {
		fmt.Fprintf(p, "V%dH%d", height-v*(height-topMargin)/most, (c+1)*width/columns)
	}
	fmt.Fprintf(p, "V%dZ\"/>\n</svg>\n</div>\n", height)
	p.end()
}

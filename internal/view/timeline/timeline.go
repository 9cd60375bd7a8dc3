// Package timeline writes a recorded run as one HTML file: a chart of its calls to providers, and the facts as text.
// The page has no script. Its tables have all facts that the chart shows.
//
//	timeline.go  the page and its facts
//	chart.go     the drawings
//	parts.go     the page, its tables and its texts
package timeline

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"time"

	"github.com/lethe-iac/lethe/internal/timing"
	"github.com/lethe-iac/lethe/internal/view/sheet"
)

//go:embed timeline.css
var style string

// mostListed is the maximum number of rows in the table of all rows.
const mostListed = 5000

// Write writes the page of a run. It returns the first error of w.
func Write(w io.Writer, r *timing.Run, o Options) error {
	p := &page{Writer: bufio.NewWriterSize(w, 64<<10), r: r, o: o}
	sheet.Head(p, fmt.Sprintf("Timings: %s, %s", p.text(r.Command), timing.Text(r.Took)), style, "")
	fmt.Fprintf(p, "<body>\n<header>\n<h1>%s took %s</h1>\n", p.text(r.Command), timing.Text(r.Took))
	at := r.Began.UTC().Format(time.RFC3339)
	fmt.Fprintf(p, "<p class=\"facts\">%s, started at <time datetime=\"%s\">%s</time>, -parallelism=%d.</p>\n", p.text(o.Product), at, at, r.Parallelism)
	if r.Interrupted {
		p.WriteString("<p class=\"warn\"><strong>The run was interrupted.</strong> Work that did not start is missing.</p>\n")
	}
	p.WriteString("</header>\n<main>\n")
	p.facts()
	p.chart()
	p.concurrency()
	p.chain()
	p.phases()
	p.types()
	p.leases()
	p.starts()
	p.rows()
	p.WriteString("</main>\n</body>\n</html>\n")
	return p.Flush()
}

func (p *page) facts() {
	r := p.r
	p.section("facts", "Facts")
	p.WriteString("<ul>\n")
	fmt.Fprintf(p, "<li>Bound: with unlimited <code>-parallelism</code> this run cannot take less than <strong>%s</strong>, if each call takes as long as it did. This is a bound, not a prediction.</li>\n", timing.Text(r.Bound))
	var length time.Duration
	for _, l := range r.Chain {
		length += l.Took
	}
	if len(r.Chain) > 0 {
		fmt.Fprintf(p, "<li>The longest chain of calls takes %s. Its long parts are listed below.</li>\n", timing.Text(length))
	}
	all, critical := r.Waited()
	fmt.Fprintf(p, "<li>All objects together waited %s because of <code>-parallelism=%d</code>, %s of it in the longest chain.</li>\n", timing.Text(all), r.Parallelism, timing.Text(critical))
	fmt.Fprintf(p, "<li>Calls in progress at the same time: at most %d.</li>\n", r.Most())
	p.WriteString("</ul>\n")
	p.end()
}

func (p *page) chain() {
	if len(p.r.Chain) == 0 {
		return
	}
	p.section("chain", "The longest chain")
	p.table("Each part waits for the part before it", "Object", "Part of the run", "#Calls take")
	for _, l := range p.r.Chain {
		p.line(l.Name, l.Walk, l.Took)
	}
	p.endTable()
	p.end()
}

func (p *page) phases() {
	p.section("phases", "Parts of the run")
	p.table("In order of their begin", "Part", "#Begins at", "#Takes")
	for _, s := range p.r.Phases {
		p.line(s.Name, s.Began, s.Took())
	}
	p.endTable()
	p.end()
}

func (p *page) types() {
	if len(p.r.Types) == 0 {
		return
	}
	p.section("types", "Time per type")
	p.table("Calls of providers and provisioners", "Type", "#Calls", "#Total", "#Longest", "#Waited for -parallelism")
	for _, t := range p.r.Types {
		p.line(t.Type, t.Calls, t.Total, t.Longest, t.Waited)
	}
	p.endTable()
	p.end()
}

func (p *page) leases() {
	if len(p.r.Leases) == 0 {
		return
	}
	p.section("leases", "Leases")
	p.table("From opening to closing", "Lease", "#Opened at", "#Open for", "#Renewals", "End")
	for _, l := range p.r.Leases {
		end := "closed"
		if l.Open {
			end = "not closed"
		}
		p.line(l.Name, l.Began, l.Ended-l.Began, len(l.Renewed), end)
	}
	p.endTable()
	p.end()
}

func (p *page) starts() {
	if len(p.r.Starts) == 0 {
		return
	}
	p.section("starts", "Provider starts")
	p.table("Processes", "Provider", "#Begins at", "#Takes")
	for _, s := range p.r.Starts {
		p.line(s.Name, s.Began, s.Took())
	}
	p.endTable()
	p.end()
}

// rows writes a table of the calls, one row for each object: at most mostListed rows, and the number of the other rows.
func (p *page) rows() {
	if len(p.r.Rows) == 0 {
		return
	}
	p.section("rows", "All objects")
	fmt.Fprintf(p, "<details>\n<summary>%d rows in order of their begin</summary>\n", len(p.r.Rows))
	p.table("When each object was ready, and why it waited", "Object", "Part of the run", "Ready after", "#Ready at", "#Began at", "#Took", "Calls and waiting")
	for i, row := range p.r.Rows {
		if i == mostListed {
			break
		}
		p.line(mark(row), row.Walk, row.After, row.Ready, row.Began, row.Ended-row.Began, words(row))
	}
	p.endTable()
	if more := len(p.r.Rows) - mostListed; more > 0 {
		fmt.Fprintf(p, "<p>%d more rows are not listed. The JSON form has all of them.</p>\n", more)
	}
	p.WriteString("</details>\n")
	p.end()
}

func mark(row timing.Row) string {
	name := row.Name
	if row.Critical {
		name += " (longest chain)"
	}
	if row.Failed {
		name += " (failed)"
	}
	return name
}

// words describes the calls in a row as text.
func words(row timing.Row) string {
	out := ""
	for i, s := range row.Spans {
		if i > 0 {
			out += ", "
		}
		out += word(s) + " " + timing.Text(s.Took())
	}
	return out
}

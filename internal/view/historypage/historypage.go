// Package historypage writes the history of a state as an HTML page: who changed which objects when. It contains no
// values of attributes and outputs.
package historypage

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/view/sheet"
)

//go:embed historypage.css
var style string

// Writing is a state in the history (the result of one write), with its differences from the previous state.
type Writing struct {
	store.Past
	Changes *view.StateDifference // nil if the previous state is not kept or cannot be read
}

// Options are settings of a page.
type Options struct {
	Workspace string
	Scrub     func(string) string // masks secrets in names, values and messages; nil: these stay unchanged
}

type page struct {
	*bufio.Writer
	list []Writing
	o    Options
}

// Write writes the page of a history, and returns the first error of w. list begins with the present state, which the
// page shows open. The other states follow, the latest first.
func Write(w io.Writer, list []Writing, o Options) error {
	p := &page{bufio.NewWriterSize(w, 64<<10), list, o}
	title := fmt.Sprintf("History of the workspace %s", p.text(o.Workspace))
	sheet.Head(p, title, style, "")
	fmt.Fprintf(p, "<body>\n<header>\n<h1>%s</h1>\n<p class=\"facts\">%d states. To compare values, run <code>lethe state diff SERIAL SERIAL</code>.</p>\n</header>\n<main>\n", title, len(list))
	p.WriteString("<section aria-labelledby=\"states\">\n<h2 id=\"states\">States</h2>\n")
	for i, s := range list {
		p.state(s, i == 0)
	}
	p.WriteString("</section>\n")
	p.objects()
	p.WriteString("</main>\n</body>\n</html>\n")
	return p.Flush()
}

func (p *page) text(s string) string { return sheet.Text(s, p.o.Scrub) }

// by returns the writer of a state and the command that wrote it, as HTML: "user@host, command", or "unknown writer"
// for the writer. If the command is not known, the result omits it.
func (p *page) by(s store.Past) string {
	out := "unknown writer"
	if s.Who != "" {
		out = p.text(s.Who)
	}
	if s.Operation != "" {
		out += ", " + p.text(store.ShortOperation(s.Operation))
	}
	return out
}

// moment returns the time when a state was written, as HTML in UTC with seconds. If the time is not known, it returns
// "at an unknown time".
func moment(s store.Past) string {
	if s.Time.IsZero() {
		return "at an unknown time"
	}
	at := s.Time.UTC().Format(time.RFC3339)
	return fmt.Sprintf("<time datetime=\"%s\">%s</time>", at, at)
}

// state writes the section of one state: when and by whom it was written, and the names of the changed objects and
// outputs. The parameter now is true for the present state.
func (p *page) state(s Writing, now bool) {
	open, present := "", ""
	if now {
		open, present = " open", " (now)"
	}
	fmt.Fprintf(p, "<details id=\"s%d\"%s>\n<summary>Serial %d%s, %s, %s", s.Serial, open, s.Serial, present, moment(s.Past), p.by(s.Past))
	if s.Changes == nil {
		p.WriteString("</summary>\n<p>The state before it is not kept, or cannot be read.</p>\n</details>\n")
		return
	}
	added, changed, removed := s.Changes.Counts()
	fmt.Fprintf(p, ": %d added, %d changed, %d removed</summary>\n", added, changed, removed)
	if s.Changes.Empty() {
		p.WriteString("<p>No object and no output changed.</p>\n</details>\n")
		return
	}
	p.WriteString("<ul>\n")
	for _, d := range s.Changes.Objects {
		fmt.Fprintf(p, "<li>%s <code>%s</code></li>\n", verb(d.Before == nil, d.After == nil), p.text(d.Object.String()))
	}
	for _, name := range s.Changes.Outputs {
		fmt.Fprintf(p, "<li>changed output <code>%s</code></li>\n", p.text(name))
	}
	p.WriteString("</ul>\n</details>\n")
}

// verb returns the word for a change, as HTML. If neither added nor removed is true, the object was changed.
func verb(added, removed bool) string {
	switch {
	case added:
		return "<ins>+ added</ins>"
	case removed:
		return "<del>- removed</del>"
	}
	return "<span class=\"u\">~ changed</span>"
}

// objects writes a section with the changes of each object, sorted by address. Without changes, it writes nothing.
func (p *page) objects() {
	by := map[string][]string{}
	for _, s := range p.list {
		if s.Changes == nil {
			continue
		}
		for _, d := range s.Changes.Objects {
			name := d.Object.String()
			by[name] = append(by[name], fmt.Sprintf("<li>%s by %s, %s, <a href=\"#s%d\">serial %d</a></li>\n", verb(d.Before == nil, d.After == nil), p.by(s.Past), moment(s.Past), s.Serial, s.Serial))
		}
	}
	if len(by) == 0 {
		return
	}
	p.WriteString("<section aria-labelledby=\"objects\">\n<h2 id=\"objects\">Objects</h2>\n")
	for _, name := range slices.Sorted(maps.Keys(by)) {
		fmt.Fprintf(p, "<details>\n<summary><code>%s</code>: %d changes</summary>\n<ul>\n%s</ul>\n</details>\n", p.text(name), len(by[name]), strings.Join(by[name], ""))
	}
	p.WriteString("</section>\n")
}

package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/diag"
)

func isError(d diag.Diagnostic) bool { return d.Severity == diag.Error }

// gathered is a diagnostic that is printed for several equal diagnostics. The field more has the others.
type gathered struct {
	diag.Diagnostic
	more []diag.Diagnostic
}

// grouped combines equal diagnostics. Warnings are equal if their titles are equal. Errors are equal if their titles,
// details and values are equal, because other values mean another mistake. grouped never combines failed assertions of
// check blocks, nor diagnostics of a severity in o.Apart.
func grouped(ds []diag.Diagnostic, o Options) []gathered {
	var out []gathered
	at := map[string]int{}
	for _, d := range ds {
		d = o.named(d)
		key := fmt.Sprint("error\x00", d.Summary, "\x00", d.Detail, "\x00", d.Values)
		if d.Severity == diag.Warning {
			key = "warning\x00" + d.Summary
		}
		if strings.HasPrefix(d.Summary, "Check block assertion") || slices.Contains(o.Apart, d.Severity) {
			key = ""
		}
		if i, ok := at[key]; ok && key != "" {
			out[i].more = append(out[i].more, d)
			continue
		}
		at[key] = len(out)
		out = append(out, gathered{Diagnostic: d})
	}
	return out
}

// compactWarnings lists warnings by their titles and places. It returns "" without warnings.
func compactWarnings(groups []gathered, o Options) string {
	if len(groups) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n" + o.paint("Warnings:", bold, yellow) + "\n\n")
	for _, g := range groups {
		head, _, _ := strings.Cut(g.Summary, "\n")
		b.WriteString("- " + o.oneLine(head) + "\n")
		if place := shortPlace(g.Diagnostic); place != "" {
			b.WriteString("  " + place)
			if n := len(g.more); n > 0 {
				fmt.Fprintf(&b, " (and %d more)", n)
			}
			b.WriteByte('\n')
		}
	}
	fmt.Fprintf(&b, "\nTo see the full warning notes, run %s without -compact-warnings.\n", o.product())
	return b.String()
}

func shortPlace(d diag.Diagnostic) string {
	switch {
	case d.Subject != nil && d.Subject.Filename != "":
		return fmt.Sprintf("on %s line %d", EscapeLine(d.Subject.Filename), d.Subject.Start.Line)
	case d.Address != "":
		return "with " + EscapeLine(d.Address)
	}
	return ""
}

// DiagnosticText returns a diagnostic as text with a bar at its left side.
func DiagnosticText(d diag.Diagnostic, o Options) string {
	return diagnosticText(gathered{Diagnostic: o.named(d)}, o)
}

// diagnosticText returns a diagnostic, or several equal diagnostics, as text with a bar at its left side.
func diagnosticText(g gathered, o Options) string {
	t := diagText{o: o, title: "Error: ", style: red}
	if g.Severity == diag.Warning {
		t.title, t.style = "Warning: ", yellow
	}
	if o.Width > 0 {
		t.width = o.Width - 2 // two columns for the bar at the left side
	}
	head, more, _ := strings.Cut(g.Summary, "\n") // the titles of some providers have several lines
	t.line(o.paint(t.title, bold, t.style) + o.paint(o.oneLine(head), bold))
	for line := range strings.Lines(more) {
		t.line(o.paint(o.oneLine(strings.TrimSuffix(line, "\n")), bold))
	}
	t.line("")
	t.place(g.Diagnostic)
	t.related(g.Diagnostic)
	t.paragraphs(g.Detail)
	t.others(g)
	if g.Code != "" {
		t.line(o.paint(o.command()+" explain "+g.Code, dim))
	}
	return t.boxed()
}

// diagText collects the lines of a diagnostic.
type diagText struct {
	o     Options
	title string
	style style
	width int // the maximum number of columns; 0: no wrapping
	lines []string
}

func (t *diagText) line(s string) { t.lines = append(t.lines, s) }

// boxed returns the lines, each behind a bar. With o.Plain it draws no bar, as Terraform and OpenTofu with -no-color.
func (t *diagText) boxed() string {
	for len(t.lines) > 0 && t.lines[len(t.lines)-1] == "" {
		t.lines = t.lines[:len(t.lines)-1]
	}
	o := t.o
	if o.Plain {
		return "\n" + strings.Join(t.lines, "\n") + "\n"
	}
	var b strings.Builder
	b.WriteString(o.paint("╷", t.style) + "\n")
	for _, l := range t.lines {
		b.WriteString(o.paint("│", t.style) + " " + l + "\n")
	}
	b.WriteString(o.paint("╵", t.style) + "\n")
	return b.String()
}

// place writes the address of the diagnostic's object, and the place in the configuration with its source.
func (t *diagText) place(d diag.Diagnostic) {
	if d.Address != "" {
		end := ","
		if d.Subject == nil {
			end = ""
		}
		t.line("  with " + t.o.oneLine(d.Address) + end)
	}
	if d.Subject != nil {
		t.source("on", *d.Subject, d.Context)
		t.values(d.Call, d.Values)
	}
	if d.Address != "" || d.Subject != nil {
		t.line("")
	}
}

// source writes a place in the configuration, as in "  on main.tf line 1, in block:", and the lines of the source.
func (t *diagText) source(word string, subject diag.Range, context *diag.Range) {
	head := fmt.Sprintf("  %s %s line %d", word, EscapeLine(subject.Filename), subject.Start.Line)
	s, ok := t.o.Sources.Snippet(subject, context)
	if !ok {
		t.line(head + ":")
		t.line("  (source code not available)")
		return
	}
	if s.Context != "" {
		head += ", in " + EscapeLine(s.Context)
	}
	t.line(head + ":")
	at := 0
	for i, l := range strings.Split(s.Code, "\n") {
		t.code(s.Line+i, l, s.Start-at, s.End-at)
		at += len(l) + 1
	}
}

// code writes the line l of source, with its number. It marks the bytes from start to end: underlined if colours are
// on, otherwise with carets on the next line.
func (t *diagText) code(number int, l string, start, end int) {
	o := t.o
	start, end = max(start, 0), min(end, len(l))
	prefix := fmt.Sprintf("%4d: ", number)
	show := func(s string) string { return escapeLineTabs(o.scrub(s)) }
	if start >= end {
		t.line(prefix + show(strings.TrimSuffix(l, "\r")))
		return
	}
	before, marked, after := show(l[:start]), show(strings.TrimRight(l[start:end], "\r")), show(strings.TrimSuffix(l[end:], "\r"))
	t.line(prefix + before + o.paint(marked, underline) + after)
	if lead := len(marked) - len(strings.TrimLeft(marked, " \t")); lead > 0 {
		before, marked = before+marked[:lead], marked[lead:]
	}
	if !o.Color && marked != "" {
		t.line(strings.Repeat(" ", len(prefix)) + blankOut(before) + strings.Repeat("^", columns(marked)))
	}
}

// escapeLineTabs makes a line of source safe for a terminal. It keeps tabs, because source is indented with them.
func escapeLineTabs(s string) string { return strings.ReplaceAll(escape(s), "\n", `\n`) }

// blankOut returns white space that is as wide as s. It keeps tabs.
func blankOut(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\t' {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Repeat(" ", runeColumns(r)))
		}
	}
	return b.String()
}

func (t *diagText) values(call *diag.Call, values []diag.Value) {
	if call != nil {
		values = slices.Concat([]diag.Value{{Traversal: "while calling", Statement: call.String()}}, values)
	}
	if len(values) == 0 {
		return
	}
	o := t.o
	t.line("    " + o.paint("├────────────────", dim))
	for _, v := range values {
		t.line("    " + o.paint("│", dim) + " " + o.paint(t.o.oneLine(v.Traversal), bold) + " " + t.o.oneLine(v.Statement))
	}
}

// related writes the other places in the configuration that the diagnostic names.
func (t *diagText) related(d diag.Diagnostic) {
	for _, r := range d.Related {
		t.source(t.o.oneLine(r.Note)+":", r.Range, nil)
		t.line("")
	}
}

// paragraphs writes the detail of a diagnostic. It wraps lines, except lines that begin with white space.
func (t *diagText) paragraphs(s string) {
	if s == "" {
		return
	}
	for _, l := range strings.Split(t.o.free(s), "\n") {
		if t.width == 0 || strings.HasPrefix(l, " ") || strings.HasPrefix(l, "\t") {
			t.line(l)
			continue
		}
		t.lines = append(t.lines, wrap(l, t.width)...)
	}
}

// others writes how many equal diagnostics were combined with this diagnostic, and where they are.
func (t *diagText) others(g gathered) {
	if g.Others > 0 {
		t.line("")
		t.line(fmt.Sprintf("(and %d more like it, with other values)", g.Others))
	}
	n := len(g.more)
	if n == 0 {
		return
	}
	what := "warning"
	if g.Severity == diag.Error {
		what = "error"
	}
	number := "one"
	if n > 1 {
		number, what = strconv.Itoa(n), what+"s"
	}
	t.line("")
	t.line(fmt.Sprintf("(and %s more similar %s elsewhere)", number, what))
	if g.Severity != diag.Error {
		return
	}
	for _, d := range g.more {
		if p := longPlace(d); p != "" {
			t.line("  - " + t.o.oneLine(p) + t.lineOf(d))
		}
	}
}

// lineOf returns ": " and the first line of the source of a diagnostic, or "" if the source is not available.
func (t *diagText) lineOf(d diag.Diagnostic) string {
	if d.Subject == nil {
		return ""
	}
	s, ok := t.o.Sources.Snippet(*d.Subject, nil)
	if !ok {
		return ""
	}
	line, _, _ := strings.Cut(s.Code, "\n")
	return ": " + strings.TrimSpace(t.o.oneLine(line))
}

func longPlace(d diag.Diagnostic) string {
	p := shortPlace(d)
	if d.Address != "" && d.Subject != nil && d.Subject.Filename != "" {
		p = "with " + d.Address + ", " + p
	}
	return p
}

// fit wraps text if a line is wider than the terminal. It joins the lines of a sentence first. It does not change empty
// lines, and lines that begin with a space or a hyphen. The end of a sentence at the end of a line stays a line end.
func (o Options) fit(text string) string {
	lines := strings.Split(text, "\n")
	if o.Width == 0 || !slices.ContainsFunc(lines, func(s string) bool { return columns(s) > o.Width }) {
		return text
	}
	var out []string
	before := "" // the lines of a sentence that has not ended
	for i, line := range lines {
		line = before + line
		if before = ""; line == "" || line[0] == ' ' || line[0] == '-' {
			out = append(out, line)
			continue
		}
		last, _ := utf8.DecodeLastRuneInString(line)
		if i+1 < len(lines) && lines[i+1] != "" && (unicode.IsLetter(last) || last == ',') {
			before = line + " "
			continue
		}
		out = append(out, wrap(line, o.Width)...)
	}
	return strings.Join(out, "\n")
}

// wrap breaks a line between words, so that no part is wider than space columns. A longer word stays whole.
func wrap(s string, space int) []string {
	var out []string
	line := ""
	for _, word := range strings.Split(s, " ") {
		switch {
		case line == "":
			line = word
		case columns(line)+1+columns(word) > space:
			out, line = append(out, line), word
		default:
			line += " " + word
		}
	}
	return append(out, line)
}

package view

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/diff"
)

// lines writes a string of several lines as a heredoc, and its changes line by line.
//
// It omits white space at both ends of the string, unless that hides a difference. If this white space changes, the
// lines are shown completely, and words describe a line break at the end.
func (r *renderer) lines(n *diff.Node, h renderOptions, tail string) {
	b, a, note := shownTexts(n, r.o.scrub)
	if hasControl(b) || hasControl(a) { // escape backslashes, too, so that an escape differs from the same characters in the text
		b, a = doubleBackslashes(b), doubleBackslashes(a)
	}
	r.WriteString("<<-EOT")
	r.forced(n)
	r.WriteByte('\n')
	in := h.depth + 1
	if n.Op != diff.Update {
		text := a
		if n.Op == diff.Remove {
			text = b
		}
		for l := range strings.SplitSeq(text, "\n") {
			r.line(in, diff.Same, l)
		}
	} else {
		r.editedLines(in, strings.Split(b, "\n"), strings.Split(a, "\n"))
	}
	r.closeIndent(h.depth)
	r.WriteString("EOT")
	r.removedNote(n.Op, h)
	r.WriteString(tail)
	if note != "" {
		r.WriteString(r.o.paint(note, dim))
	}
}

// shownTexts returns the strings before and after a change, with secrets masked by scrub, and a remark about the line
// break that it omitted, or "". White space at both ends is omitted if it did not change.
func shownTexts(n *diff.Node, scrub func(string) string) (b, a, note string) {
	if n.Before != nil {
		b = scrub(n.Before.Text)
	}
	if n.After != nil {
		a = scrub(n.After.Text)
	}
	if n.Op != diff.Update || n.Before.Kind != diff.StringValue || n.After.Kind != diff.StringValue {
		return strings.TrimSpace(b), strings.TrimSpace(a), ""
	}
	bt, at := strings.TrimSpace(b), strings.TrimSpace(a)
	if leading(b) == leading(a) && trailing(b) == trailing(a) {
		return bt, at, ""
	}
	b, bEnds := strings.CutSuffix(b, "\n")
	a, aEnds := strings.CutSuffix(a, "\n")
	switch {
	case bEnds && !aEnds:
		note = " # without the line break at the end"
	case aEnds && !bEnds:
		note = " # with a line break at the end"
	}
	if leading(b) == leading(a) {
		b, a = b[len(leading(b)):], a[len(leading(a)):]
	}
	return b, a, note
}

func leading(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t\r\n"))] }

func trailing(s string) string { return s[len(strings.TrimRight(s, " \t\r\n")):] }

func (r *renderer) editedLines(depth int, b, a []string) {
	pairs := diff.Align(textValues(b), textValues(a))
	if r.limit > 0 {
		r.hunks(depth, b, a, pairs)
		return
	}
	r.linePairs(depth, b, a, pairs)
}

// hunks writes the lines that differ, and three lines around each of them.
func (r *renderer) hunks(depth int, b, a []string, pairs []diff.Pair) {
	const around = 3
	near := make([]bool, len(pairs))
	for i, p := range pairs {
		if p.Before < 0 || p.After < 0 || b[p.Before] != a[p.After] {
			for j := max(0, i-around); j < min(len(pairs), i+around+1); j++ {
				near[j] = true
			}
		}
	}
	for i := 0; i < len(pairs); {
		j := i
		for j < len(pairs) && near[j] == near[i] {
			j++
		}
		if near[i] || j-i < around {
			r.linePairs(depth, b, a, pairs[i:j])
		} else {
			r.hidden(depth, j-i, "line")
		}
		i = j
	}
}

func (r *renderer) linePairs(depth int, b, a []string, pairs []diff.Pair) {
	for _, p := range pairs {
		switch {
		case p.Before < 0:
			r.line(depth, diff.Add, a[p.After])
		case p.After < 0:
			r.line(depth, diff.Remove, b[p.Before])
		case b[p.Before] == a[p.After]:
			r.line(depth, diff.Same, a[p.After])
		default:
			r.line(depth, diff.Remove, b[p.Before])
			r.line(depth, diff.Add, a[p.After])
		}
	}
}

func textValues(lines []string) []*diff.Value {
	var out []*diff.Value
	for _, l := range lines {
		out = append(out, &diff.Value{Kind: diff.StringValue, Text: l})
	}
	return out
}

func (r *renderer) line(depth int, a diff.Op, text string) {
	r.lead(depth, a)
	r.WriteString(escape(text))
	r.WriteByte('\n')
}

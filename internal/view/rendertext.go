package view

import "strings"

// lines writes a string of several lines as a heredoc, and changes of one line by line.
//
// White space around the whole is left out, as long as leaving it out hides nothing: where it
// differs, the lines are shown as they are, and a line break at the very end is said in words.
func (r *renderer) lines(n *node, h renderOptions, tail string) {
	b, a, note := n.texts(r.o.scrub)
	if hasControl(b) || hasControl(a) { // so that an escape and the same characters in the text look different
		b, a = doubleBackslashes(b), doubleBackslashes(a)
	}
	r.WriteString("<<-EOT")
	r.forced(n)
	r.WriteByte('\n')
	in := h.depth + 1
	if n.act != edit {
		text := a
		if n.act == drop {
			text = b
		}
		for l := range strings.SplitSeq(text, "\n") {
			r.line(in, same, l)
		}
	} else {
		r.editedLines(in, strings.Split(b, "\n"), strings.Split(a, "\n"))
	}
	r.closeIndent(h.depth)
	r.WriteString("EOT")
	r.gone(n.act, h)
	r.WriteString(tail)
	if note != "" {
		r.WriteString(r.o.paint(note, dim))
	}
}

// texts are the strings to be shown, and a remark about what is not shown of them.
func (n *node) texts(scrub func(string) string) (b, a, note string) {
	if n.before != nil {
		b = scrub(n.before.text)
	}
	if n.after != nil {
		a = scrub(n.after.text)
	}
	if n.act != edit || n.before.kind != vString || n.after.kind != vString {
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
	for _, p := range align(textValues(b), textValues(a)) {
		switch {
		case p.b < 0:
			r.line(depth, add, a[p.a])
		case p.a < 0:
			r.line(depth, drop, b[p.b])
		case b[p.b] == a[p.a]:
			r.line(depth, same, a[p.a])
		default:
			r.line(depth, drop, b[p.b])
			r.line(depth, add, a[p.a])
		}
	}
}

func textValues(lines []string) []*docValue {
	var out []*docValue
	for _, l := range lines {
		out = append(out, &docValue{kind: vString, text: l})
	}
	return out
}

func (r *renderer) line(depth int, a act, text string) {
	r.lead(depth, a)
	r.WriteString(escape(text))
	r.WriteByte('\n')
}

package view

import (
	"bufio"
	"strconv"
	"unicode/utf8"
)

// renderer writes nodes as text, as it goes: a value may have 70 MB.
type renderer struct {
	*bufio.Writer
	o     Options
	plain bool // no symbols: an object as it is
}

// renderOptions say how a value is written.
type renderOptions struct {
	depth  int
	suffix bool // what is removed is followed by "-> null"
	all    bool // unchanged parts are shown
}

func (h renderOptions) in(suffix bool) renderOptions {
	h.depth++
	h.suffix = suffix
	return h
}

// Symbols of changes inside an object.
var (
	symbols = [...]string{same: " ", add: "+", edit: "~", drop: "-"}
	styles  = [...]style{add: green, edit: yellow, drop: red}
)

// lead begins a line.
func (r *renderer) lead(depth int, a act) {
	r.indent(depth)
	if !r.plain {
		r.WriteString("  ")
		r.WriteString(r.o.paint(symbols[a], styles[a]))
		r.WriteByte(' ')
	}
}

func (r *renderer) indent(depth int) {
	r.pad(4 * depth)
}

func (r *renderer) pad(n int) {
	for range n {
		r.WriteByte(' ')
	}
}

// closeIndent begins the line that closes what a line at that depth opened.
func (r *renderer) closeIndent(depth int) {
	if !r.plain {
		depth++
	}
	r.indent(depth)
}

// piece is how much of a string is quoted at once.
const piece = 16 << 10

// quoted writes a string as quote spells it, piece by piece.
func (r *renderer) quoted(s string) {
	r.WriteByte('"')
	for len(s) > 0 {
		n := min(len(s), piece)
		for back := range utf8.UTFMax { // no character is in two pieces
			if n == len(s) || utf8.RuneStart(s[n-back]) {
				n -= back
				break
			}
		}
		text := strconv.AppendQuote(r.AvailableBuffer(), s[:n])
		r.Write(text[1 : len(text)-1])
		s = s[n:]
	}
	r.WriteByte('"')
}

// arrow stands between what was and what will be.
func (r *renderer) arrow() { r.WriteString(r.o.paint(" -> ", yellow)) }

func (r *renderer) gone(n act, h renderOptions) {
	if n == drop && h.suffix {
		r.WriteString(r.o.paint(" -> null", dim))
	}
}

// end writes what follows a value on its line.
func (r *renderer) end(n *node, h renderOptions, tail string) {
	r.gone(n.act, h)
	r.WriteString(tail)
	r.forced(n)
}

// forced ends a line that must say why the object is replaced.
func (r *renderer) forced(n *node) {
	if n.forces {
		r.WriteString(r.o.paint(" # forces replacement", red))
	}
}

func (r *renderer) remark(depth int, text string) {
	r.closeIndent(depth)
	r.WriteString(r.o.paint(text, dim))
	r.WriteByte('\n')
}

// hidden says how much is not shown.
func (r *renderer) hidden(depth, n int, what string) {
	if n == 0 {
		return
	}
	if n > 1 {
		what += "s"
	}
	r.remark(depth, "# ("+strconv.Itoa(n)+" unchanged "+what+" hidden)")
}

// warnings writes a remark above a value that becomes sensitive or is no longer sensitive.
func (r *renderer) warnings(depth int, n *node, block bool) {
	if n.sensitivityChange == steady || r.plain {
		return
	}
	what, end := "attribute value", ""
	if block {
		what = "block"
	} else if n.sameValue {
		end = " The value is unchanged."
	}
	lines := []string{"this " + what + " will no longer be marked as sensitive", "after applying this change." + end}
	if n.sensitivityChange == closing {
		lines = []string{"this " + what + " will be marked as sensitive and will not", "display in UI output after applying this change." + end}
	}
	for i, l := range lines {
		r.indent(depth)
		r.WriteString("  # ")
		if i == 0 {
			r.WriteString(r.o.paint("Warning:", yellow) + " ")
		}
		r.WriteString(l + "\n")
	}
}

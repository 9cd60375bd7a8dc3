package view

import (
	"bufio"
	"strconv"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/diff"
)

// renderer writes nodes as text directly to a writer, without collecting the text: a value may have 70 MB.
type renderer struct {
	*bufio.Writer
	o     Options
	plain bool // write no symbols, because the object has no change

	// Only Content sets the following fields.
	gutter bool // the symbol is the first character of each line
	bare   bool // hide unchanged attributes, even if they usually identify an object
	limit  int  // values of more bytes are shortened; 0: no limit
}

// renderOptions are settings for writing a value.
type renderOptions struct {
	depth  int
	suffix bool // write "-> null" after removed values
	all    bool // show unchanged parts
}

func (h renderOptions) in(suffix bool) renderOptions {
	h.depth++
	h.suffix = suffix
	return h
}

// Symbols and styles of operations inside an object.
var (
	symbols = [...]string{diff.Same: " ", diff.Add: "+", diff.Update: "~", diff.Remove: "-", diff.Opaque: "?"}
	styles  = [...]style{diff.Add: green, diff.Update: yellow, diff.Remove: red, diff.Opaque: dim}
)

// lead writes the beginning of a line: the indentation and the symbol of the operation a.
func (r *renderer) lead(depth int, a diff.Op) {
	if r.gutter {
		r.WriteString(symbols[a])
		r.pad(1 + gutterIndent(depth))
		return
	}
	r.indent(depth)
	if !r.plain {
		r.WriteString("  ")
		r.WriteString(r.o.paint(symbols[a], styles[a]))
		r.WriteByte(' ')
	}
}

func (r *renderer) indent(depth int) {
	if r.gutter {
		r.pad(2 + gutterIndent(depth))
		return
	}
	r.pad(4 * depth)
}

// gutterIndent returns the indentation after the symbol in column 1. The attributes of an object have depth 1.
func gutterIndent(depth int) int { return 2 * max(0, depth-1) }

func (r *renderer) pad(n int) {
	for range n {
		r.WriteByte(' ')
	}
}

// closeIndent writes the indentation of a closing bracket at depth.
func (r *renderer) closeIndent(depth int) {
	if !r.plain && !r.gutter {
		depth++
	}
	r.indent(depth)
}

// piece is the number of bytes of a string that are quoted at once.
const piece = 16 << 10

// quoted writes the same text as quote, but in pieces, so that a long string needs little memory.
func (r *renderer) quoted(s string) {
	r.WriteByte('"')
	for len(s) > 0 {
		n := min(len(s), piece)
		for back := range utf8.UTFMax { // end the piece at the end of a character
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

// arrow writes the arrow between the old and the new value.
func (r *renderer) arrow() { r.WriteString(r.o.paint(" -> ", yellow)) }

func (r *renderer) removedNote(n diff.Op, h renderOptions) {
	if n == diff.Remove && h.suffix {
		r.WriteString(r.o.paint(" -> null", dim))
	}
}

// end writes the rest of the line after a value, without the line break.
func (r *renderer) end(n *diff.Node, h renderOptions, tail string) {
	r.removedNote(n.Op, h)
	r.WriteString(tail)
	r.forced(n)
}

// forced writes a remark if the change of an attribute causes the replacement of the object.
func (r *renderer) forced(n *diff.Node) {
	if n.Forces {
		r.WriteString(r.o.paint(" # forces replacement", red))
	}
}

func (r *renderer) remark(depth int, text string) {
	r.closeIndent(depth)
	r.WriteString(r.o.paint(text, dim))
	r.WriteByte('\n')
}

// hidden writes the number of hidden parts. It writes nothing if n is 0.
func (r *renderer) hidden(depth, n int, what string) {
	if n == 0 {
		return
	}
	if n > 1 {
		what += "s"
	}
	r.remark(depth, "# ("+strconv.Itoa(n)+" unchanged "+what+" hidden)")
}

// warnings writes a remark above a value that becomes sensitive or is no longer sensitive. block is true for a block.
func (r *renderer) warnings(depth int, n *diff.Node, block bool) {
	if n.Sensitivity == diff.SameSensitivity || r.plain {
		return
	}
	what, end := "attribute value", ""
	if block {
		what = "block"
	} else if n.SameValue {
		end = " The value is unchanged."
	}
	lines := []string{"this " + what + " will no longer be marked as sensitive", "after applying this change." + end}
	if n.Sensitivity == diff.BecomesSensitive {
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

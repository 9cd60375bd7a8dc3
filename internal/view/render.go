package view

import (
	"bufio"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/diff"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/view/printable"
)

// Each line at nesting depth n begins with 4n spaces, and then four columns for a symbol. If renderer.plain is set (an
// object without a change), the four columns are missing. If renderer.gutter is set, column 1 has the symbol, and 2n-1
// spaces follow.

// value writes a value and the end of its last line. tail is a comma or empty.
func (r *renderer) value(n *diff.Node, h renderOptions, tail string) {
	switch n.Kind {
	case diff.SensitiveNode:
		r.WriteString(mark.Sensitive.Mask())
		r.end(n, h, tail)
	case diff.WriteOnlyNode:
		r.WriteString("(write-only attribute)" + tail)
		r.forced(n)
	case diff.UnknownNode:
		r.unknown(n, h, tail)
	case diff.RetypedNode:
		r.value(n.Old, h.sides(), "")
		r.arrow()
		r.value(n.New, h.sides(), "")
		r.end(n, h, tail)
	case diff.ScalarNode:
		r.scalar(n, h, tail)
	case diff.TextNode:
		r.lines(n, h, tail)
	case diff.JSONNode:
		r.json(n, h, tail)
	case diff.SequenceNode:
		r.container(n, h, tail, "[]", r.elements)
	case diff.DictNode:
		r.container(n, h, tail, "{}", r.parts)
	}
}

// sides returns the options for writing the old and the new value on both sides of an arrow.
func (h renderOptions) sides() renderOptions {
	h.suffix, h.all = false, true
	return h
}

func (r *renderer) unknown(n *diff.Node, h renderOptions, tail string) {
	if n.Old != nil {
		if n.Old.Kind == diff.ScalarNode && n.Old.Before.IsEmptyString() {
			r.WriteString(`""`)
		} else {
			r.value(n.Old, h.sides(), "")
		}
		r.WriteString(" -> ")
	}
	r.WriteString("(known after apply)" + tail)
	r.forced(n)
}

func (r *renderer) scalar(n *diff.Node, h renderOptions, tail string) {
	switch n.Op {
	case diff.Update:
		if r.limit > 0 && r.longUpdate(n) {
			break
		}
		r.atom(n.Before)
		r.arrow()
		r.atom(n.After)
	case diff.Remove:
		r.atom(n.Before)
	default:
		r.atom(n.After)
	}
	r.end(n, h, tail)
}

// atom writes a value that has no parts.
func (r *renderer) atom(v *diff.Value) {
	switch {
	case v == nil || v.Kind == diff.NullValue:
		r.WriteString(r.o.paint("null", dim))
	case v.Kind == diff.StringValue:
		r.stringAtom(r.o.scrub(v.Text), 0)
	default:
		r.WriteString(v.Text)
	}
}

// container writes a list, an object or a map, and then tail. The function inside writes the content, on separate lines
// between the brackets.
func (r *renderer) container(n *diff.Node, h renderOptions, tail, brackets string, inside func(*diff.Node, renderOptions)) {
	if len(n.Children) == 0 {
		r.WriteString(brackets)
		r.end(n, h, tail)
		return
	}
	r.WriteString(brackets[:1])
	r.forced(n)
	r.WriteByte('\n')
	inside(n, h)
	r.closeIndent(h.depth)
	r.WriteString(brackets[1:])
	r.removedNote(n.Op, h)
	r.WriteString(tail)
}

// elements writes the elements of a list, and the number of unchanged elements that it hides.
func (r *renderer) elements(n *diff.Node, h renderOptions) {
	in := h.in(false)
	hidden := 0
	for i, k := range n.Children {
		if !h.all && k.Op == diff.Same && !(n.Context && (changed(n.Children, i-1) || changed(n.Children, i+1))) {
			hidden++
			continue
		}
		if n.Context {
			r.hidden(in.depth, hidden, "element")
			hidden = 0
		}
		r.element(k, in)
	}
	r.hidden(in.depth, hidden, "element")
}

func changed(kids []*diff.Node, i int) bool { return i >= 0 && i < len(kids) && kids[i].Changes() }

// element writes one element of a list on a separate line.
func (r *renderer) element(k *diff.Node, h renderOptions) {
	if k.Op == diff.Same {
		h.all = true
	}
	r.warnings(h.depth, k, false)
	r.lead(h.depth, k.Op)
	r.value(k, h, ",")
	r.WriteByte('\n')
}

// telling reports whether an attribute usually identifies an object, so that it is shown even if it is unchanged.
func telling(name string) bool { return name == "id" || name == "name" || name == "tags" }

// parts writes the attributes of an object or the elements of a map, and the number of unchanged parts that it hides.
func (r *renderer) parts(n *diff.Node, h renderOptions) {
	in := h.in(n.Nested || n.Quoted && h.suffix && n.Op != diff.Remove)
	tail, what := "", "attribute"
	if n.Quoted {
		what = "element"
		if n.Nested {
			in.suffix, tail = false, ","
		}
	}
	width := n.Width
	for i, name := range n.Names {
		if tail == "" && (n.Children[i].Kind != diff.WriteOnlyNode || h.all || n.Children[i].Op != diff.Same) {
			width = max(width, utf8.RuneCountInString(name))
		}
	}
	hidden := 0
	for i, k := range n.Children {
		if !h.all && k.Op == diff.Same && (n.Quoted || r.bare || !telling(n.Names[i])) {
			if k.Kind != diff.WriteOnlyNode {
				hidden++
			}
			continue
		}
		r.attribute(n.Names[i], width, k, in, tail)
	}
	r.hidden(in.depth, hidden, what)
}

// attribute writes "name = value", with name padded to width characters. The value may have further lines.
func (r *renderer) attribute(name string, width int, k *diff.Node, h renderOptions, tail string) {
	if k.Op == diff.Same || telling(name) {
		h.all = true
	}
	r.warnings(h.depth, k, false)
	r.lead(h.depth, k.Op)
	r.WriteString(name)
	r.pad(width - utf8.RuneCountInString(name))
	r.WriteString(" = ")
	if r.limit > 0 && size(k) > r.limit {
		r.shortened(k, h, tail)
	} else {
		r.value(k, h, tail)
	}
	r.WriteByte('\n')
}

// json writes a string that contains JSON as a call of jsonencode.
func (r *renderer) json(n *diff.Node, h renderOptions, tail string) {
	in := n.New
	spaces := ""
	switch {
	case n.OnlySpaces && n.Forces:
		spaces = r.o.paint(" # whitespace changes force replacement", dim)
	case n.OnlySpaces:
		spaces = r.o.paint(" # whitespace changes", dim)
	}
	r.WriteString("jsonencode(")
	inner := h.in(false)
	inner.all = h.all || in.Op == diff.Same
	why := func() {
		if r.WriteString(spaces); !n.OnlySpaces {
			r.forced(n)
		}
	}
	if fitsOneLine(in) {
		r.value(in, inner, "")
		r.WriteByte(')')
		r.removedNote(n.Op, h)
		r.WriteString(tail)
		why()
		return
	}
	why()
	r.WriteByte('\n')
	symbol := diff.Same
	if n.Op == diff.Update {
		symbol = in.Op
	}
	r.lead(inner.depth, symbol)
	r.value(in, inner, "")
	r.WriteByte('\n')
	r.closeIndent(h.depth)
	r.WriteByte(')')
	r.removedNote(n.Op, h)
	r.WriteString(tail)
}

// fitsOneLine reports whether the text of a node has only one line.
func fitsOneLine(n *diff.Node) bool {
	switch n.Kind {
	case diff.SequenceNode, diff.DictNode:
		return len(n.Children) == 0
	case diff.RetypedNode:
		return fitsOneLine(n.Old) && fitsOneLine(n.New)
	}
	return n.Kind != diff.TextNode && n.Kind != diff.JSONNode
}

// block writes the inside of a block.
func (r *renderer) block(n *diff.Node, h renderOptions) {
	if n.Kind == diff.SensitiveNode {
		for _, l := range []string{"# At least one attribute in this block is (or was) sensitive,", "# so its contents will not be displayed."} {
			if r.indent(h.depth + 1); !r.plain {
				r.WriteString("  ")
			}
			r.WriteString(l + "\n")
		}
		return
	}
	r.parts(n, h)
	for _, note := range n.Notes {
		r.remark(h.depth+1, note)
	}
	attrs, hidden := len(n.Children) > 0, 0
	for _, g := range n.Groups {
		shown := false
		start := func() {
			if !shown && attrs {
				r.WriteByte('\n')
			}
			shown, attrs = true, true
		}
		if g.Unknown != diff.Same {
			start()
			r.unknownGroup(g, h)
		}
		for _, b := range g.Blocks {
			if b.Op == diff.Same && !h.all {
				hidden++
				continue
			}
			start()
			r.nestedBlock(g.Name, b, h)
		}
	}
	if hidden > 0 {
		if attrs {
			r.WriteByte('\n')
		}
		r.hidden(h.depth+1, hidden, "block")
	}
}

func (r *renderer) unknownGroup(g diff.Group, h renderOptions) {
	r.lead(h.depth+1, g.Unknown)
	r.WriteString(g.Name + " (known after apply)")
	if g.Forces {
		r.forced(&diff.Node{Forces: true})
	}
	r.WriteByte('\n')
}

func (r *renderer) nestedBlock(name string, b *diff.Node, h renderOptions) {
	in := renderOptions{depth: h.depth + 1, suffix: true, all: h.all}
	r.warnings(in.depth, b, true)
	r.lead(in.depth, b.Op)
	r.WriteString(name)
	if b.Label != "" {
		r.WriteString(" " + b.Label)
	}
	r.WriteString(" {")
	r.forced(b)
	r.WriteByte('\n')
	r.block(b, in)
	r.closeIndent(in.depth)
	r.WriteString("}\n")
}

// shortened writes a value of more than r.limit bytes. If its text exceeds 1.5 limits, lines in the middle are omitted.
func (r *renderer) shortened(n *diff.Node, h renderOptions, tail string) {
	var b strings.Builder
	in := *r
	in.Writer = bufio.NewWriter(&b)
	in.value(n, h, tail)
	in.Flush()
	text, half := b.String(), r.limit/2
	if len(text) <= r.limit+half {
		r.WriteString(text)
		return
	}
	from, to := strings.LastIndexByte(text[:half], '\n'), len(text)-half
	if next := strings.IndexByte(text[to:], '\n'); next >= 0 {
		to += next
	}
	if from < 0 { // no line break: the value is on one line, which atom has shortened
		r.WriteString(text)
		return
	}
	r.WriteString(text[:from+1])
	r.remarkLine(h.depth+1, fmt.Sprintf("# (%s bytes, of which the middle is not shown)", printable.Grouped(size(n))))
	r.WriteString(text[to:])
}

// remarkLine writes a remark, but not the end of its line.
func (r *renderer) remarkLine(depth int, text string) {
	r.closeIndent(depth)
	r.WriteString(text)
}

// longUpdate writes the old and the new string if one of them is longer than r.limit. It shows the place where they
// begin to differ. For other values, it writes nothing and returns false.
func (r *renderer) longUpdate(n *diff.Node) bool {
	b, a := n.Before, n.After
	if b.Kind != diff.StringValue || a.Kind != diff.StringValue || max(len(b.Text), len(a.Text)) <= r.limit {
		return false
	}
	bt, at, same := r.o.scrub(b.Text), r.o.scrub(a.Text), 0
	for same < min(len(bt), len(at)) && bt[same] == at[same] {
		same++
	}
	r.stringAtom(bt, same)
	r.arrow()
	r.stringAtom(at, same)
	return true
}

package view

import (
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/mark"
)

// Where a change is shown, every line at depth n begins with 4n spaces and four columns for a
// symbol; where an object is merely shown (plain), with 4n spaces.

// value writes a value and what ends its line; tail is a comma or nothing.
func (r *renderer) value(n *node, h renderOptions, tail string) {
	switch n.kind {
	case nSecret:
		r.WriteString(mark.Sensitive.Mask())
		r.end(n, h, tail)
	case nWriteOnly:
		r.WriteString("(write-only attribute)" + tail)
		r.forced(n)
	case nUnknown:
		r.unknown(n, h, tail)
	case nTurn:
		r.value(n.was, h.sides(), "")
		r.arrow()
		r.value(n.is, h.sides(), "")
		r.end(n, h, tail)
	case nScalar:
		r.scalar(n, h, tail)
	case nText:
		r.lines(n, h, tail)
	case nJSON:
		r.json(n, h, tail)
	case nSeq:
		r.container(n, h, tail, "[]", r.elements)
	case nDict:
		r.container(n, h, tail, "{}", r.parts)
	}
}

// sides is how the two sides of an arrow are written.
func (h renderOptions) sides() renderOptions {
	h.suffix, h.all = false, true
	return h
}

func (r *renderer) unknown(n *node, h renderOptions, tail string) {
	if n.was != nil {
		if n.was.kind == nScalar && n.was.before.emptyString() {
			r.WriteString(`""`)
		} else {
			r.value(n.was, h.sides(), "")
		}
		r.WriteString(" -> ")
	}
	r.WriteString("(known after apply)" + tail)
	r.forced(n)
}

func (r *renderer) scalar(n *node, h renderOptions, tail string) {
	switch n.act {
	case edit:
		r.atom(n.before)
		r.arrow()
		r.atom(n.after)
	case drop:
		r.atom(n.before)
	default:
		r.atom(n.after)
	}
	r.end(n, h, tail)
}

// atom writes a value that has no parts.
func (r *renderer) atom(v *docValue) {
	switch {
	case v == nil || v.kind == vNull:
		r.WriteString(r.o.paint("null", dim))
	case v.kind == vString:
		r.quoted(r.o.scrub(v.text))
	default:
		r.WriteString(v.text)
	}
}

// container writes a list or a dict: what is in it stands between its brackets on lines of its own.
func (r *renderer) container(n *node, h renderOptions, tail, brackets string, inside func(*node, renderOptions)) {
	if len(n.kids) == 0 {
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
	r.gone(n.act, h)
	r.WriteString(tail)
}

// elements writes the elements of a list, and how many of them are not shown.
func (r *renderer) elements(n *node, h renderOptions) {
	in := h.in(false)
	hidden := 0
	for i, k := range n.kids {
		if !h.all && k.act == same && !(n.context && (changed(n.kids, i-1) || changed(n.kids, i+1))) {
			hidden++
			continue
		}
		if n.context {
			r.hidden(in.depth, hidden, "element")
			hidden = 0
		}
		r.element(k, in)
	}
	r.hidden(in.depth, hidden, "element")
}

func changed(kids []*node, i int) bool { return i >= 0 && i < len(kids) && kids[i].changes() }

// element writes one element of a list on a line of its own.
func (r *renderer) element(k *node, h renderOptions) {
	if k.act == same {
		h.all = true
	}
	r.warnings(h.depth, k, false)
	r.lead(h.depth, k.act)
	r.value(k, h, ",")
	r.WriteByte('\n')
}

// telling reports whether a part of that name tells a reader what an object is: it is shown though it is unchanged.
func telling(name string) bool { return name == "id" || name == "name" || name == "tags" }

// parts writes the parts of a dict, and how many of them are not shown.
func (r *renderer) parts(n *node, h renderOptions) {
	in := h.in(n.nested || n.quoted && h.suffix && n.act != drop)
	tail, what := "", "attribute"
	if n.quoted {
		what = "element"
		if n.nested {
			in.suffix, tail = false, ","
		}
	}
	width := n.width
	for i, name := range n.names {
		if tail == "" && (n.kids[i].kind != nWriteOnly || h.all || n.kids[i].act != same) {
			width = max(width, utf8.RuneCountInString(name))
		}
	}
	hidden := 0
	for i, k := range n.kids {
		if !h.all && k.act == same && (n.quoted || !telling(n.names[i])) {
			if k.kind != nWriteOnly {
				hidden++
			}
			continue
		}
		r.attribute(n.names[i], width, k, in, tail)
	}
	r.hidden(in.depth, hidden, what)
}

// attribute writes one line "name = value", and what follows of the value.
func (r *renderer) attribute(name string, width int, k *node, h renderOptions, tail string) {
	if k.act == same || telling(name) {
		h.all = true
	}
	r.warnings(h.depth, k, false)
	r.lead(h.depth, k.act)
	r.WriteString(name)
	r.pad(width - utf8.RuneCountInString(name))
	r.WriteString(" = ")
	r.value(k, h, tail)
	r.WriteByte('\n')
}

// json writes a string as the call that makes it.
func (r *renderer) json(n *node, h renderOptions, tail string) {
	in := n.is
	spaces := ""
	switch {
	case n.spaces && n.forces:
		spaces = r.o.paint(" # whitespace changes force replacement", dim)
	case n.spaces:
		spaces = r.o.paint(" # whitespace changes", dim)
	}
	r.WriteString("jsonencode(")
	inner := h.in(false)
	inner.all = h.all || in.act == same
	why := func() {
		if r.WriteString(spaces); !n.spaces {
			r.forced(n)
		}
	}
	if in.flat() {
		r.value(in, inner, "")
		r.WriteByte(')')
		r.gone(n.act, h)
		r.WriteString(tail)
		why()
		return
	}
	why()
	r.WriteByte('\n')
	symbol := same
	if n.act == edit {
		symbol = in.act
	}
	r.lead(inner.depth, symbol)
	r.value(in, inner, "")
	r.WriteByte('\n')
	r.closeIndent(h.depth)
	r.WriteByte(')')
	r.gone(n.act, h)
	r.WriteString(tail)
}

// flat reports whether a value takes one line.
func (n *node) flat() bool {
	switch n.kind {
	case nSeq, nDict:
		return len(n.kids) == 0
	case nTurn:
		return n.was.flat() && n.is.flat()
	}
	return n.kind != nText && n.kind != nJSON
}

// block writes the inside of a block.
func (r *renderer) block(n *node, h renderOptions) {
	if n.kind == nSecret {
		for _, l := range []string{"# At least one attribute in this block is (or was) sensitive,", "# so its contents will not be displayed."} {
			if r.indent(h.depth + 1); !r.plain {
				r.WriteString("  ")
			}
			r.WriteString(l + "\n")
		}
		return
	}
	r.parts(n, h)
	for _, note := range n.notes {
		r.remark(h.depth+1, note)
	}
	attrs, hidden := len(n.kids) > 0, 0
	for _, g := range n.groups {
		shown := false
		start := func() {
			if !shown && attrs {
				r.WriteByte('\n')
			}
			shown, attrs = true, true
		}
		if g.unknown != same {
			start()
			r.unknownGroup(g, h)
		}
		for _, b := range g.blocks {
			if b.act == same && !h.all {
				hidden++
				continue
			}
			start()
			r.nestedBlock(g.name, b, h)
		}
	}
	if hidden > 0 {
		if attrs {
			r.WriteByte('\n')
		}
		r.hidden(h.depth+1, hidden, "block")
	}
}

func (r *renderer) unknownGroup(g group, h renderOptions) {
	r.lead(h.depth+1, g.unknown)
	r.WriteString(g.name + " (known after apply)")
	if g.forces {
		r.forced(&node{forces: true})
	}
	r.WriteByte('\n')
}

func (r *renderer) nestedBlock(name string, b *node, h renderOptions) {
	in := renderOptions{depth: h.depth + 1, suffix: true, all: h.all}
	r.warnings(in.depth, b, true)
	r.lead(in.depth, b.act)
	r.WriteString(name)
	if b.label != "" {
		r.WriteString(" " + b.label)
	}
	r.WriteString(" {")
	r.forced(b)
	r.WriteByte('\n')
	r.block(b, in)
	r.closeIndent(in.depth)
	r.WriteString("}\n")
}

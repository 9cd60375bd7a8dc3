package rewrite

import (
	"bytes"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// edit replaces a range of the text of a part (a top-level block of a file).
type edit struct {
	f        *part
	from, to int
	text     string
}

// replace returns the edit that replaces a range.
func replace(f *part, at hcl.Range, text string) edit {
	return edit{f, at.Start.Byte, at.End.Byte, text}
}

// apply makes edits, which must not overlap. It formats the texts that were formatted before. If a text cannot be
// parsed after the edits, apply undoes them and returns false.
func (d *Draft) apply(edits []edit) bool {
	mark := len(d.log)
	slices.SortStableFunc(edits, func(a, b edit) int { return b.from - a.from })
	texts := map[*part][]byte{}
	for _, e := range edits {
		text, begun := texts[e.f]
		if !begun {
			text = e.f.text
		}
		texts[e.f] = slices.Concat(text[:e.from], []byte(e.f.withEnds(e.text)), text[e.to:])
	}
	for p, text := range texts {
		if p.tidy {
			text = hclwrite.Format(text)
		}
		if bytes.Equal(text, p.text) {
			continue
		}
		body, ok := parse(p.name, text)
		if !ok {
			d.restore(mark)
			return false
		}
		d.log = append(d.log, change{p, p.text, p.body})
		p.set(text, body)
	}
	return true
}

// set replaces the text of a part.
func (p *part) set(text []byte, body *hclsyntax.Body) {
	p.index.remove(p)
	p.text, p.body = text, body
	p.record()
	p.index.add(p)
}

// restore undoes the edits since the time when the log had the length mark.
func (d *Draft) restore(mark int) {
	for len(d.log) > mark {
		last := d.log[len(d.log)-1]
		d.log = d.log[:len(d.log)-1]
		last.p.set(last.text, last.body)
	}
	d.effects = slices.DeleteFunc(d.effects, func(e effect) bool { return e.mark > mark })
}

// edited returns the parts that have changed since the log had the length mark, in order, with their texts at that
// time.
func (d *Draft) edited(mark int) (parts []*part, former map[*part][]byte) {
	former = map[*part][]byte{}
	for _, c := range d.log[mark:] {
		if _, later := former[c.p]; !later {
			former[c.p] = c.text
		}
	}
	return inOrder(former), former
}

// insert returns the edits that add an argument to a block: after the argument that the parameter after names, or at
// the end of the block if after is nil. If the whole block is on one line, insert divides it into lines, and adds the
// argument at the end.
func insert(f *part, b *hclsyntax.Block, after *hclsyntax.Attribute, argument string) []edit {
	outer := f.indent(b.TypeRange.Start.Byte)
	from, to := b.OpenBraceRange.End.Byte, b.CloseBraceRange.Start.Byte
	if b.OpenBraceRange.Start.Line == b.CloseBraceRange.Start.Line {
		last := edit{f, from + len(bytes.TrimRight(f.text[from:to], " \t")), to, "\n" + outer + "  " + argument + "\n" + outer}
		if last.from == from {
			return []edit{last}
		}
		return []edit{{f, from, to - len(bytes.TrimLeft(f.text[from:to], " \t")), "\n" + outer + "  "}, last}
	}
	if after != nil {
		at := f.afterLine(after.SrcRange)
		return []edit{{f, at, at, f.indent(after.NameRange.Start.Byte) + argument + "\n"}}
	}
	at := bytes.LastIndexByte(f.text[:to], '\n') + 1
	return []edit{{f, at, at, outer + "  " + argument + "\n"}}
}

// remove returns the edit that removes a top-level block, with the comment above it and one empty line below it.
func remove(f *part, b *hclsyntax.Block) edit {
	to := f.afterLine(b.CloseBraceRange)
	if next, _, more := bytes.Cut(f.text[to:], []byte("\n")); more && len(bytes.TrimSpace(next)) == 0 {
		to += len(next) + 1
	}
	return edit{f, f.above(b), to, ""}
}

// below returns the edit that adds a block, in the canonical style, after another block and an empty line.
func below(f *part, b *hclsyntax.Block, text string) edit {
	at := f.afterLine(b.CloseBraceRange)
	before := "\n"
	if at == len(f.text) && !bytes.HasSuffix(f.text, []byte("\n")) {
		before = "\n\n"
	}
	return edit{f, at, at, before + string(hclwrite.Format([]byte(text)))}
}

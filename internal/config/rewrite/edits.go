package rewrite

import (
	"bytes"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// edit replaces a range of the text of a file.
type edit struct {
	f        *file
	from, to int
	text     string
}

// replace returns the edit that replaces a range.
func replace(f *file, at hcl.Range, text string) edit {
	return edit{f, at.Start.Byte, at.End.Byte, text}
}

// source returns the text at a range of a file.
func (f *file) source(at hcl.Range) string { return string(f.text[at.Start.Byte:at.End.Byte]) }

// apply makes edits, which must not overlap. It reports false, without a change, if a text cannot be parsed afterwards.
func (d *Draft) apply(edits []edit) bool {
	old := d.texts()
	slices.SortStableFunc(edits, func(a, b edit) int { return b.from - a.from })
	changed := map[*file]bool{}
	for _, e := range edits {
		e.f.text = slices.Concat(e.f.text[:e.from], []byte(e.text), e.f.text[e.to:])
		changed[e.f] = true
	}
	ok := true
	for f := range changed {
		if f.tidy {
			f.text = hclwrite.Format(f.text)
		}
		ok = ok && f.parse()
	}
	for _, m := range d.modules {
		m.index = nil
	}
	if !ok {
		d.restore(old)
	}
	return ok
}

// texts returns the present texts of all files.
func (d *Draft) texts() map[*file][]byte {
	out := map[*file][]byte{}
	for f := range d.files() {
		out[f] = f.text
	}
	return out
}

// restore replaces all texts by former ones.
func (d *Draft) restore(texts map[*file][]byte) {
	for _, m := range d.modules {
		m.index = nil
	}
	for _, f := range d.edited(texts) {
		f.text = texts[f]
		f.parse()
	}
}

// edited returns the files whose texts differ from former ones.
func (d *Draft) edited(since map[*file][]byte) []*file {
	var out []*file
	for f := range d.files() {
		if !bytes.Equal(f.text, since[f]) {
			out = append(out, f)
		}
	}
	return out
}

// indent returns the white space before the text at an offset, on its line.
func (f *file) indent(at int) string {
	line := f.text[bytes.LastIndexByte(f.text[:at], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// afterLine returns the offset behind the line that contains the end of a range.
func (f *file) afterLine(at hcl.Range) int {
	end := at.End.Byte
	if end > 0 && f.text[end-1] == '\n' { // a heredoc
		return end
	}
	if n := bytes.IndexByte(f.text[end:], '\n'); n >= 0 {
		return end + n + 1
	}
	return len(f.text)
}

// insert returns the edit that adds an argument to a block: after another of its arguments, or at its end if after is nil.
func insert(f *file, b *hclsyntax.Block, after *hclsyntax.Attribute, argument string) edit {
	outer := f.indent(b.TypeRange.Start.Byte)
	open, end := b.OpenBraceRange, b.CloseBraceRange
	if open.Start.Line == end.Start.Line {
		inner := strings.TrimSpace(string(f.text[open.End.Byte:end.Start.Byte]))
		if inner != "" {
			inner = outer + "  " + inner + "\n"
		}
		return edit{f, open.End.Byte, end.Start.Byte, "\n" + inner + outer + "  " + argument + "\n" + outer}
	}
	if after != nil {
		at := f.afterLine(after.SrcRange)
		return edit{f, at, at, f.indent(after.NameRange.Start.Byte) + argument + "\n"}
	}
	at := bytes.LastIndexByte(f.text[:end.Start.Byte], '\n') + 1
	return edit{f, at, at, outer + "  " + argument + "\n"}
}

// remove returns the edit that removes a top-level block with its comment and one empty line beside it.
func remove(f *file, b *hclsyntax.Block) edit {
	from := bytes.LastIndexByte(f.text[:b.TypeRange.Start.Byte], '\n') + 1
	for from > 0 {
		start := bytes.LastIndexByte(f.text[:from-1], '\n') + 1
		line := bytes.TrimSpace(f.text[start:from])
		if !bytes.HasPrefix(line, []byte("#")) && !bytes.HasPrefix(line, []byte("//")) {
			break
		}
		from = start
	}
	to := f.afterLine(b.CloseBraceRange)
	if bytes.HasPrefix(f.text[to:], []byte("\n")) {
		to++
	}
	return edit{f, from, to, ""}
}

// below returns the edit that adds a block after another block.
func below(f *file, b *hclsyntax.Block, text string) edit {
	at := f.afterLine(b.CloseBraceRange)
	before := "\n"
	if at == len(f.text) && !bytes.HasSuffix(f.text, []byte("\n")) {
		before = "\n\n"
	}
	return edit{f, at, at, before + string(hclwrite.Format([]byte(text)))}
}

package comment

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/view/printable"
)

// leastBlock is the minimum size in bytes to which a block (such as one change) is shortened. In fewer bytes its
// address might be missing.
const leastBlock = 600

// within returns the comment in at most n bytes. If the comment is longer, within first shortens each long block (such
// as one change). If that is not enough, it leaves out blocks in the middle: it keeps up to n/4 bytes of the blocks in
// the last sections, and fills the rest with blocks from the beginning. A shortened block keeps the address of its
// object.
func (d *draft) within(n int) string {
	last := len(d.blocks)
	whole := d.text(last, last, "")
	if len(whole) <= n {
		return whole
	}
	for i := range d.blocks {
		d.blocks[i].shorten(max(n/4, leastBlock))
	}
	tail := last
	for tail > 1 && d.sections[d.blocks[tail-1].section].last && len(d.text(0, tail-1, "")) <= n/4 {
		tail--
	}
	if text := d.cut(tail, tail, len(whole)); len(text) <= n {
		return text // only the length of the blocks was too large, so no block is left out
	}
	head := sort.Search(tail, func(head int) bool { return len(d.cut(head, tail, len(whole))) > n })
	return d.cut(max(0, head-1), tail, len(whole))
}

// cut returns the comment without blocks[head:tail], with a notice in their place. whole is the size of the complete
// comment in bytes.
func (d *draft) cut(head, tail, whole int) string {
	if head == tail {
		return d.text(head, tail, "")
	}
	changes, size := 0, 0
	for _, b := range d.blocks[head:tail] {
		changes += b.changes
		size += b.size
	}
	return d.text(head, tail, fmt.Sprintf("\n**This comment is too long for all changes.** Left out here: %s changes, %s of %s bytes.\n",
		printable.Grouped(changes), printable.Grouped(size), printable.Grouped(whole)))
}

// text returns blocks[:head] and blocks[tail:], with a notice between them.
func (d *draft) text(head, tail int, notice string) string {
	var b strings.Builder
	open := -1
	in := func(s int) { // in writes the end of the present section and the beginning of the section s; -1: only the end
		if s == open {
			return
		}
		if open >= 0 {
			b.WriteString(d.sections[open].close)
		}
		if open = s; s >= 0 {
			b.WriteString(d.sections[s].open)
		}
	}
	write := func(blocks []block) {
		for _, bl := range blocks {
			in(bl.section)
			b.WriteString(bl.text + fence(bl.lines))
		}
	}
	write(d.blocks[:head])
	if notice != "" {
		in(-1)
		b.WriteString(notice)
	}
	write(d.blocks[tail:])
	in(-1)
	return b.String()
}

// shorten cuts the middle out of a block that is longer than n bytes. It cuts the text only between lines, because the
// text may be a list.
func (b *block) shorten(n int) {
	if len(b.text)+len(b.lines) <= n {
		return
	}
	n -= 200                         // for the notices, and for the lines around the fence (code block)
	room := max(n/2, n-len(b.lines)) // the number of bytes of n that b.text may use
	b.lines = cutLines(b.lines, n-min(room, len(b.text)), "  … %s bytes are left out …\n")
	b.text = cutLines(b.text, room, "- … %s bytes are left out …\n")
}

// cutLines shortens a text of more than n bytes. It keeps whole lines from the beginning and from the end, up to n/2
// bytes each, and puts the notice between them. n does not include the notice.
func cutLines(text string, n int, notice string) string {
	n = max(0, n)
	if len(text) <= n {
		return text
	}
	end := strings.LastIndexByte(text[:n/2], '\n') + 1
	to := len(text) - n/2
	if next := strings.IndexByte(text[to:], '\n'); next >= 0 {
		to += next + 1
	}
	begin := text[:end]
	if end == 0 && strings.HasPrefix(notice, " ") { // in a fence (code block), a line may be cut anywhere
		for end = n / 2; end > 0 && !utf8.RuneStart(text[end]); {
			end--
		}
		begin = text[:end] + " …\n"
	}
	return begin + fmt.Sprintf(notice, printable.Grouped(to-end)) + text[to:]
}

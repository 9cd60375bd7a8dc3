package comment

import "github.com/lethe-iac/lethe/internal/review"

// The limits of Options.Max, in bytes. The default is the limit of GitHub.
const (
	DefaultMax = 65536
	LeastMax   = 1000
)

// Options are settings of a comment.
type Options struct {
	Max   int                 // the maximum size of the comment in bytes
	Full  bool                // show long values completely
	Scrub func(string) string // masks secrets in names, values and messages; nil: these stay unchanged
}

// draft is a comment in blocks. Each block is shown as a whole or not at all.
type draft struct {
	r        *review.Review
	o        Options
	sections []section
	blocks   []block
}

// section is a part of a comment with constant texts around its blocks.
type section struct {
	open, close string
	last        bool // the section stays if blocks in the middle of the comment are left out
}

type block struct {
	section int
	text    string // Markdown
	lines   string // the content of a change, which is written in a fence (code block) below the text
	changes int    // the number of changes that the block shows
	size    int    // the size in bytes before the block is shortened
}

// begin begins a section.
func (d *draft) begin(open, close string) {
	d.sections = append(d.sections, section{open: open, close: close})
}

// folded begins a section that readers must click to open.
func (d *draft) folded(title string) {
	d.begin("\n<details><summary>"+title+"</summary>\n", "\n</details>\n")
}

// ending begins a folded section that stays if blocks in the middle of the comment are left out.
func (d *draft) ending(title string) {
	d.folded(title)
	d.sections[len(d.sections)-1].last = true
}

// add adds a block to the current section. changes is the number of objects that the block represents.
func (d *draft) add(text, lines string, changes int) {
	d.blocks = append(d.blocks, block{len(d.sections) - 1, text, lines, changes, len(text) + len(lines)})
}

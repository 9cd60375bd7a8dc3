package comment

import "github.com/lethe-iac/lethe/internal/review"

// The limits of Options.Max, in bytes. The default is the limit of GitHub.
const (
	DefaultMax = 65536
	LeastMax   = 1000
)

// Options are settings of a comment.
type Options struct {
	Max   int                 // the length of the longest comment in bytes
	Full  bool                // long values are shown as a whole
	Scrub func(string) string // texts from outside pass it; may be nil
}

// draft is a comment in blocks, each of which is shown as a whole or not at all.
type draft struct {
	r        *review.Review
	o        Options
	sections []section
	blocks   []block
}

// section is a part of a comment with constant texts around its blocks.
type section struct {
	open, close string
	last        bool // it is kept if the middle is left out
}

type block struct {
	section int
	text    string // Markdown
	lines   string // of the content of a change, for a fence below the text
	changes int    // the number of changes that the block shows
	size    int    // in bytes
}

// begin begins a section.
func (d *draft) begin(open, close string) {
	d.sections = append(d.sections, section{open: open, close: close})
}

// folded begins a section that its readers must open.
func (d *draft) folded(title string) {
	d.begin("\n<details><summary>"+title+"</summary>\n", "\n</details>\n")
}

// ending begins a folded section that is kept if the middle is left out.
func (d *draft) ending(title string) {
	d.folded(title)
	d.sections[len(d.sections)-1].last = true
}

// add adds a block of changes objects, with the lines of a content.
func (d *draft) add(text, lines string, changes int) {
	d.blocks = append(d.blocks, block{len(d.sections) - 1, text, lines, changes, len(text) + len(lines)})
}

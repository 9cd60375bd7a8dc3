package page

import (
	"bufio"
	"bytes"
	"net/url"
	"strings"

	"github.com/lethe-iac/lethe/internal/review"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/view/sheet"
)

// Options are settings of a page.
type Options struct {
	Product string              // the name of the program; if empty, Lethe
	Full    bool                // show long values completely
	Scrub   func(string) string // masks secrets in names, values and messages; nil: these stay unchanged
}

// page writes the page of one review.
type page struct {
	*bufio.Writer
	r   *review.Review
	o   Options
	buf buffer // the content of a change
}

// buffer has the text of a change before the text is converted to HTML.
type buffer = bytes.Buffer

// text returns a text from outside on one line as HTML. It may be used in an attribute.
func (p *page) text(s string) string {
	return sheet.Text(s, p.o.Scrub)
}

func (p *page) code(s string) string { return "<code>" + p.text(s) + "</code>" }

// link returns a link to a change on the page.
func (p *page) link(c *review.Change) string {
	return "<a href=\"" + p.fragment(c.Address) + "\">" + p.code(c.Address) + "</a>"
}

// fragment returns the URL of the element whose id is the text.
func (p *page) fragment(s string) string {
	if p.o.Scrub != nil {
		s = p.o.Scrub(s)
	}
	return "#" + strings.NewReplacer("'", "%27", "&", "%26").Replace(url.PathEscape(view.EscapeLine(s)))
}

// content returns the settings for showing the content of a change.
func (p *page) content() view.ContentOptions {
	return view.ContentFor(p.o.Scrub, p.o.Full)
}

// marks are the HTML elements around the lines of a content, by the symbol of the lines.
var marks = map[byte][2]string{'+': {"<ins>", "</ins>"}, '-': {"<del>", "</del>"}, '~': {`<span class="u">`, "</span>"}, '?': {`<span class="o">`, "</span>"}}

// lines writes the lines of a content. Adjacent lines with the same symbol share an element, so that a page with many
// changes opens quickly.
func (p *page) lines(text []byte) {
	var open byte
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n') + 1
		if end == 0 {
			end = len(text)
		}
		line := text[:end]
		text = text[end:]
		if symbol := line[0]; symbol != open {
			p.WriteString(marks[open][1])
			p.WriteString(marks[symbol][0])
			open = symbol
		}
		p.escaped(line)
	}
	p.WriteString(marks[open][1])
}

// escaped writes text as HTML. The caller must have escaped control characters.
func (p *page) escaped(text []byte) {
	for {
		i := bytes.IndexAny(text, `&<>"'`)
		if i < 0 {
			p.Write(text)
			return
		}
		p.Write(text[:i])
		switch text[i] {
		case '&':
			p.WriteString("&amp;")
		case '<':
			p.WriteString("&lt;")
		case '>':
			p.WriteString("&gt;")
		case '"':
			p.WriteString("&#34;")
		default:
			p.WriteString("&#39;")
		}
		text = text[i+1:]
	}
}

package view

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/diff"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// ContentOptions are settings of Content.
type ContentOptions struct {
	Scrub func(string) string // masks secrets in every shown string; nil: the strings stay unchanged
	Limit int                 // maximum size in bytes of a value that is shown completely; longer values lack their middle; 0: no limit
	Bare  bool                // hide unchanged id, name and tags: the content represents several objects
	All   bool                // show unchanged attributes
}

// longest is the size in bytes of the longest value that a page or a comment shows completely.
const longest = 4 << 10

// ContentFor returns the options for pages and comments. scrub masks secrets. If full is false, long values are cut.
func ContentFor(scrub func(string) string, full bool) ContentOptions {
	c := ContentOptions{Scrub: scrub}
	if !full {
		c.Limit = longest
	}
	return c
}

// CheckTexts returns a line for each check. code and text convert addresses and messages to HTML or Markdown.
func CheckTexts(checks []state.Check, code, text func(string) string) []string {
	var out []string
	for _, c := range checks {
		line := code(c.Addr) + ": " + c.Status.String()
		for _, o := range c.Objects {
			for _, message := range o.Failures {
				line += "; " + text(message)
			}
		}
		out = append(out, line)
	}
	return out
}

// LeaseTexts returns a line for each lease (opened ephemeral resource), with its users. code converts addresses to the
// language of the view, such as HTML or Markdown.
func LeaseTexts(leases []plan.Lease, code func(string) string) []string {
	var out []string
	for _, l := range leases {
		users := make([]string, len(l.Receivers))
		for i, r := range l.Receivers {
			users[i] = code(r)
		}
		out = append(out, code(l.Addr)+" for "+strings.Join(users, ", "))
	}
	return out
}

// Content writes the differences of an object, line by line. The first character of each line is the symbol of its
// operation: "+", "~", "-", "?" for a sensitive value that is not compared, or a space. The second character is a
// space. A line never begins with text of a value, and control characters are escaped.
func Content(w io.Writer, n *diff.Node, c ContentOptions) {
	r := c.renderer(w)
	r.block(n, renderOptions{suffix: true, all: c.All})
	r.Flush()
}

// OutputContent writes the differences of a root output in the form in which Content writes an attribute.
func OutputContent(w io.Writer, name string, n *diff.Node, c ContentOptions) {
	r := c.renderer(w)
	name = diff.AttributeName(name)
	r.attribute(name, utf8.RuneCountInString(name), n, renderOptions{depth: 1, suffix: true, all: c.All}, "")
	r.Flush()
}

func (c ContentOptions) renderer(w io.Writer) *renderer {
	return &renderer{Writer: bufio.NewWriter(w), o: Options{Scrub: c.Scrub}, gutter: true, bare: c.Bare, limit: c.Limit}
}

// Package reviewed writes the review of a plan (a summary for a reader who approves the plan) as a page of -html, and
// as Markdown and JSON for the command show.
package reviewed

import (
	"bytes"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/review"
	"github.com/lethe-iac/lethe/internal/view/comment"
	"github.com/lethe-iac/lethe/internal/view/page"
	"github.com/lethe-iac/lethe/internal/view/reviewdoc"
)

// PageFlags are the flags of commands that write a page.
type PageFlags struct {
	File string // the file of -html; empty means no page
	Full bool   // values of more than 4 KB are shown as a whole
}

// Define registers the flags -html and -full.
func (f *PageFlags) Define(c *base.Call) {
	c.Flags.StringVar(&f.File, "html", "", "Write the plan as a page without sensitive values to this `file`.")
	c.Flags.BoolVar(&f.Full, "full", false, "Show values of more than 4 KB as a whole, on the page of -html and in the Markdown of \"show\".")
}

// MayWrite adds an error and returns false if the page cannot be written: the file is a directory, or its directory
// does not exist. Without -html, it returns true.
func (f *PageFlags) MayWrite(c *base.Call) bool {
	if f.File == "" {
		return true
	}
	if err := disk.MayReplace(c.Path(f.File)); err != nil {
		return f.failed(c, err)
	}
	return true
}

func (f *PageFlags) failed(c *base.Call, err error) bool {
	c.Bag.Add(diag.Errorf("Failed to write the page", "The page of the plan cannot be written to %s: %s.", f.File, disk.Reason(err)))
	return false
}

// Review returns the review of a plan of the session's configuration.
func Review(s *session.Session, p *plan.Plan) *review.Review {
	return review.New(p, s.Program, s.Schemas())
}

// Page writes the page of a review to the file of -html, which only its owner can read. Without -html, Page does
// nothing and returns true. Page prints the name of the file, unless quiet is true. If the page cannot be written or
// searched for secrets, Page reports an error and returns false.
func (f *PageFlags) Page(c *base.Call, r *review.Review, quiet bool) bool {
	if f.File == "" {
		return true
	}
	var b bytes.Buffer
	err := page.Write(&b, r, page.Options{Product: c.Product(), Full: f.Full, Scrub: c.Secrets.Scrub})
	text, ok := c.Guarded(b.Bytes(), "<!doctype html>")
	if err == nil && ok {
		err = disk.Replace(c.FS(), c.Path(f.File), text)
	}
	if err != nil {
		return f.failed(c, err)
	}
	if ok && !quiet {
		c.UI.Line("Wrote the page of the plan to " + f.File + ".")
	}
	return ok
}

// Markdown prints a review as a comment in Markdown of at most limit bytes. If full is true, long values are shown
// completely. It reports an error, prints nothing and returns false if the text cannot be searched for secrets.
func Markdown(c *base.Call, r *review.Review, limit int, full bool) bool {
	var b bytes.Buffer
	_ = comment.Write(&b, r, comment.Options{Max: limit, Full: full, Scrub: c.Secrets.Scrub}) // writing to a bytes.Buffer returns no errors
	return printed(c, b.Bytes(), "## ")
}

// JSON prints a review as a JSON document. It reports an error, prints nothing and returns false if the review cannot
// be encoded, or if the text cannot be searched for secrets.
func JSON(c *base.Call, s *session.Session, r *review.Review) bool {
	var b bytes.Buffer
	if err := reviewdoc.Write(&b, r, s.Engine.Hosts(s.Loader.Tree, r.Plan.Refreshed).Of, c.Secrets.Scrub); err != nil {
		c.Bag.Add(diag.Errorf("Failed to marshal plan to json", "%s.", err))
		return false
	}
	return printed(c, b.Bytes(), "{")
}

func printed(c *base.Call, text []byte, begin string) bool {
	text, ok := c.Guarded(text, begin)
	if ok {
		c.UI.Print(string(text))
	}
	return ok
}

package devcmd

import (
	"errors"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/reviewed"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/view/comment"
)

// reviewFlags are the flags of show for reviews of a saved plan: forms without sensitive values for people who approve
// plans.
type reviewFlags struct {
	reviewed.PageFlags
	markdown bool // -markdown
	document bool // -format=json-review
	limit    int  // the value of -max in bytes; 0 means the default
}

func (f *reviewFlags) define(c *base.Call) {
	f.PageFlags.Define(c)
	c.FoldFlag()
	c.Flags.BoolVar(&f.markdown, "markdown", false, "Print the plan as Markdown for a comment, without sensitive values.")
	c.Flags.IntVar(&f.limit, "max", 0, "The greatest `length` of the Markdown in bytes: 65536, unless set.")
	c.Flags.Func("format", "With `json-review`: print the reviewed plan as JSON, without sensitive values.", func(s string) error {
		if f.document = s == "json-review"; !f.document {
			return errors.New("the only value is json-review; for other forms use -json, -markdown or -html")
		}
		return nil
	})
}

// wanted reports whether the user requests a review: a page, Markdown or the JSON document of a review.
func (f *reviewFlags) wanted() bool { return f.File != "" || f.markdown || f.document }

// fit reports an error if the flags contradict each other, if -max is too small, or if the page cannot be written.
// planned is true if the user names a plan file.
func (f *reviewFlags) fit(c *base.Call, planned bool) {
	wrong := func(text string) { c.Bag.Add(diag.Errorf("Wrong combination of options", "%s", text)) }
	switch {
	case f.wanted() && !planned:
		wrong("The options -html, -markdown and -format=json-review show a saved plan. Give its file.")
	case f.wanted() && c.View.ShowSecrets:
		wrong("A review never contains sensitive values. Remove -show-sensitive, or show the plan without -html, -markdown and -format=json-review.")
	case f.markdown && f.document || c.View.JSON && (f.markdown || f.document):
		wrong("Give at most one of: -json, -markdown, -format=json-review. Each of them prints another form.")
	case f.limit != 0 && !f.markdown:
		wrong("The option -max limits Markdown. Use it with -markdown.")
	case f.markdown && f.limit != 0 && f.limit < comment.LeastMax:
		c.Bag.Add(diag.Errorf("Failed to parse command-line flags", "The option -max takes a number of at least %d.", comment.LeastMax))
	case f.Full && f.File == "" && !f.markdown:
		wrong("The option -full belongs to -html and -markdown.")
	default:
		f.MayWrite(c)
	}
}

// show writes the requested reviews of a saved plan, and returns the exit code. printed is true if the JSON of the plan
// was already printed.
func (f *reviewFlags) show(s *session.Session, p *plan.Plan, printed bool) int {
	c := s.Dir.Call
	r := reviewed.Review(s, p)
	switch {
	case f.markdown:
		limit := f.limit
		if limit == 0 {
			limit = comment.DefaultMax
		}
		printed = true
		reviewed.Markdown(c, r, limit, f.Full)
	case f.document:
		printed = true
		reviewed.JSON(c, s, r)
	}
	f.Page(c, r, printed)
	if printed {
		return c.UI.DoneDocument()
	}
	return c.UI.Done(base.ExitOK)
}

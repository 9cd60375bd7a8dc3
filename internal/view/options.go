package view

import (
	"cmp"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
)

// Options are settings of the views.
type Options struct {
	Color         bool                // write ANSI colours
	Plain         bool                // draw no box around diagnostics (-no-color)
	Width         int                 // columns at which text is wrapped; 0: no wrapping
	Resized       func() (w, h int)   // returns the present numbers of columns and lines; nil: Width columns, and enough lines
	Terminal      bool                // the view may draw a live block
	Compact       bool                // -compact-warnings: show only the titles and places of warnings
	Apart         []diag.Severity     // severities of which equal diagnostics are not combined (-consolidate-errors=false, -consolidate-warnings=false)
	Silence       *diag.Silence       // -silence: warnings that are counted but not shown; nil: all are shown
	ShowSensitive bool                // -show-sensitive: show sensitive values
	Importing     bool                // the command is import, which has different texts
	Concise       bool                // -concise: no lines about refreshing
	Fold          bool                // -fold: equal changes of a plan are shown as one
	Automation    bool                // TF_IN_AUTOMATION: no hints for the next step
	Sources       *diag.Sources       // the texts of files for snippets in diagnostics; nil: no snippets
	Scrub         func(string) string // masks secrets in text from providers, users and files; nil: the text stays unchanged
	ScrubMessage  func(string) string // masks secrets in diagnostics; nil: the diagnostics stay unchanged
	Now           func() time.Time    // the current time; nil: time.Now
	Product       string              // the name of the program; "" means Lethe
	Command       string              // the name by which the user calls the program; "" means lethe
}

func (o Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

// product returns the name of the program for texts: Lethe, or Terraform or OpenTofu for clients that look for these.
func (o Options) product() string { return cmp.Or(o.Product, "Lethe") }

func (o Options) command() string { return cmp.Or(o.Command, "lethe") }

// Named returns a sentence with Lethe replaced by the name under which the program runs. Under the name Terraform,
// "Lethe" becomes "Terraform" and "lethe plan" becomes "terraform plan", because clients look for Terraform's sentences
// (ADR 38).
func (o Options) Named(sentence string) string { return o.naming()(sentence) }

// naming returns the function that Named applies.
func (o Options) naming() func(string) string {
	if o.product() == "Lethe" {
		return func(s string) string { return s }
	}
	return func(s string) string {
		return commandWord().ReplaceAllString(strings.ReplaceAll(s, "Lethe", o.product()), "${1}"+o.command()+" ${2}")
	}
}

var commandWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(^|[\\s\"'(`])lethe ([a-z])") })

// named applies Named and ScrubMessage to a diagnostic. It renames no texts of providers and of the user's conditions.
func (o Options) named(d diag.Diagnostic) diag.Diagnostic {
	if d = d.Coded(); !d.Foreign && d.Unmet == "" {
		name := o.naming()
		d.Summary, d.Detail = name(d.Summary), name(d.Detail)
	}
	if scrub := o.ScrubMessage; scrub != nil {
		d.Summary, d.Detail = scrub(d.Summary), scrub(d.Detail)
	}
	return d
}

// message returns s with the secrets that ScrubMessage masks replaced.
func (o Options) message(s string) string {
	if o.ScrubMessage != nil {
		return o.ScrubMessage(s)
	}
	return s
}

func (o Options) scrub(s string) string {
	if o.Scrub != nil {
		return o.Scrub(s)
	}
	return s
}

// free returns text from providers, users and files, with secrets masked and control characters escaped.
func (o Options) free(s string) string { return escape(o.scrub(s)) }

// oneLine is like free, but also escapes line breaks and tabs, so that the text stays in one line.
func (o Options) oneLine(s string) string { return EscapeLine(o.scrub(s)) }

// PlanOptions are facts about a plan that the plan itself does not contain.
type PlanOptions struct {
	Saved    string          // the file to which the plan was saved; "" if it was not saved
	Applying bool            // the same command applies the plan, or prints the next step itself
	Earlier  bool            // the plan was shown when it was saved: Human does not print it again, JSON prints its changes
	Schemas  provider.Lookup // returns the schemas of providers; nil: no schemas are known
}

// Name returns the name of the program for texts.
func (o Options) Name() string { return o.product() }

// Called returns the name by which the user calls the program.
func (o Options) Called() string { return o.command() }

// Free returns text from providers, users and files, with secrets masked and control characters escaped.
func (o Options) Free(s string) string { return o.free(s) }

// Paint styles text if colours are on.
func (o Options) Paint(text string, styles ...Style) string { return o.paint(text, styles...) }

// Style is the terminal style of a text. Other packages pass it to Paint.
type Style = style

// Styles that other packages use.
const (
	Red, Green, Dim = red, green, dim
)

// style is the sequence that sets a style on a terminal with colours. Colour is never the only carrier of information.
type style string

const (
	bold      style = "\x1b[1m"
	underline style = "\x1b[4m"
	red       style = "\x1b[31m"
	green     style = "\x1b[32m"
	yellow    style = "\x1b[33m"
	dim       style = "\x1b[90m"
	reset           = "\x1b[0m"
)

// paint styles text if o.Color is true.
func (o Options) paint(text string, styles ...style) string {
	if !o.Color || text == "" {
		return text
	}
	out := ""
	for _, s := range styles {
		out += string(s)
	}
	if out == "" {
		return text
	}
	return out + text + reset
}

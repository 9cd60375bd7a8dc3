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
	Color         bool                // with ANSI colours
	Plain         bool                // diagnostics without their box, as with -no-color
	Width         int                 // columns to wrap at; 0: never
	Resized       func() (w, h int)   // columns and lines of the terminal at this moment; nil: Width, and enough
	Terminal      bool                // a live block may be drawn
	Compact       bool                // -compact-warnings
	Apart         []diag.Severity     // of which similar diagnostics are not gathered: -consolidate-warnings=false
	Silence       *diag.Silence       // -silence: warnings that are counted and not shown; may be nil
	ShowSensitive bool                // -show-sensitive
	Importing     bool                // by the command import, which has different texts
	Concise       bool                // -concise: no lines about refreshing
	Fold          bool                // -fold: equal changes of a plan are shown once
	Automation    bool                // TF_IN_AUTOMATION: no hints for the next step
	Sources       *diag.Sources       // for snippets; may be nil
	Scrub         func(string) string // free text passes it; may be nil
	ScrubMessage  func(string) string // messages pass it as well; may be nil
	Now           func() time.Time    // nil: the clock
	Product       string              // the name of the program; "" is Lethe
	Command       string              // how the user calls it; "" is lethe
}

func (o Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

// product is the name in every text that has one. Clients that look for a peer's name in such a
// line can have it.
func (o Options) product() string { return cmp.Or(o.Product, "Lethe") }

func (o Options) command() string { return cmp.Or(o.Command, "lethe") }

// Named returns a sentence with the names that the program is called by. Under Terraform's name, "Lethe" becomes
// "Terraform" and "lethe plan" becomes "terraform plan": clients look for the sentences of the peer (ADR 38).
func (o Options) Named(sentence string) string { return o.naming()(sentence) }

// naming returns the function behind Named.
func (o Options) naming() func(string) string {
	if o.product() == "Lethe" {
		return func(s string) string { return s }
	}
	return func(s string) string {
		return commandWord().ReplaceAllString(strings.ReplaceAll(s, "Lethe", o.product()), "${1}"+o.command()+" ${2}")
	}
}

var commandWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(^|[\\s\"'(`])lethe ([a-z])") })

// named is Named for a diagnostic. The texts of providers and of the user's own conditions stay as they are.
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

// message is the text of a message without what may not be in messages.
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

// free is text from elsewhere, safe to print.
func (o Options) free(s string) string { return escape(o.scrub(s)) }

// oneLine is free text that stays on one line.
func (o Options) oneLine(s string) string { return EscapeLine(o.scrub(s)) }

// PlanOptions are what a view must know about a plan beside the plan.
type PlanOptions struct {
	Saved    string // the file it was saved to
	Applying bool   // the same command applies it, or prints the next step itself
	Earlier  bool   // it was shown when it was saved: only programs get its changes again
	Schemas  provider.Lookup
}

// Name is what the program calls itself.
func (o Options) Name() string { return o.product() }

// Called is how the user calls the program.
func (o Options) Called() string { return o.command() }

// Free is text from elsewhere, safe to print.
func (o Options) Free(s string) string { return o.free(s) }

// Paint styles text, where colours are wanted.
func (o Options) Paint(text string, styles ...Style) string { return o.paint(text, styles...) }

// Style is how text looks, for rooms beside this one.
type Style = style

// The styles for those.
const (
	Red, Green, Dim = red, green, dim
)

// style is how text looks on a terminal with colours. Colour is never the only carrier of information.
type style string

// The styles.
const (
	bold      style = "\x1b[1m"
	underline style = "\x1b[4m"
	red       style = "\x1b[31m"
	green     style = "\x1b[32m"
	yellow    style = "\x1b[33m"
	dim       style = "\x1b[90m"
	reset           = "\x1b[0m"
)

// paint styles text, where colours are wanted.
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

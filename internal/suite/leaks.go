package suite

import (
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/zclconf/go-cty/cty"
)

// A canary is a value that must not occur in the state of a run, in its plan, in its output or in the log. The search
// covers the value itself and its usual encodings, such as base64.

// canary holds the texts that must not occur, for one value in expect_no_leak.
type canary struct {
	of    *testfile.Canary
	name  string
	texts []string
}

// leaks searches the documents of a run for its canaries, and reports each canary that it finds. names has values for
// the expressions of canaries, by root name. reported holds the diagnostics of the run. If the run has canaries, leaks
// also sets r.Log.
func (s *Suite) leaks(r *Run, l look, names map[string]cty.Value, reported []diag.Diagnostic, bag *diag.Bag) {
	var all []*canary
	for _, c := range r.NoLeak {
		if found, ok := s.canary(c, l, names, bag); ok {
			all = append(all, found)
		}
	}
	if len(all) == 0 {
		return
	}
	r.Log = s.Traces.Logged()
	for _, d := range s.Traces.Documents(r, reported) {
		for _, c := range all {
			if slices.ContainsFunc(c.texts, func(text string) bool { return secret.Holds(d.Text, text) }) {
				bag.Add(diag.Errorf(leaked, "The value of %s was found in %s.", c.name, d.Name).At(c.of.Range))
			}
		}
	}
}

// leaked is the title of a canary that was found.
const leaked = "Secret leaked"

// source returns the text at a place, for messages, or the place itself if its text is not known.
func (s *Suite) source(at diag.Range) string {
	snippet, ok := s.Sources.Snippet(at, nil)
	if !ok {
		return at.String()
	}
	return strings.Join(strings.Fields(snippet.Code[snippet.Start:snippet.End]), " ")
}

// shortestCanary is the minimum number of bytes of a text to search for. Shorter texts occur everywhere.
const shortestCanary = 4

// canary evaluates a value in expect_no_leak. If the value cannot be evaluated or is unknown, or if it has no text that
// is long enough, canary reports an error and returns false.
func (s *Suite) canary(c *testfile.Canary, l look, names map[string]cty.Value, bag *diag.Bag) (*canary, bool) {
	value, outcome := l.frame.Eval(c.Expr, frame.Scope{Decl: frame.Nowhere, Names: names}, l.face, bag)
	refuse := func(why string) (*canary, bool) {
		bag.Add(diag.Errorf("Invalid canary", "expect_no_leak cannot look for this value: it %s.", why).At(c.Range))
		return nil, false
	}
	switch {
	case outcome == frame.Broken:
		return nil, false
	case outcome != frame.OK || !value.Raw.IsWhollyKnown():
		return refuse("is unknown in this run. An ephemeral resource is opened only if its value is used")
	}
	out := &canary{of: c, name: s.source(c.Range)}
	secret.Leaves(value.Raw, func(_ cty.Path, leaf cty.Value, own string) {
		if leaf.Type() == cty.String && len(own) >= shortestCanary {
			out.texts = append(out.texts, own)
		}
	})
	if len(out.texts) == 0 {
		return refuse("has no text of four or more letters")
	}
	return out, true
}

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

// A canary is a value that must not be found again: not in the state of a run nor in its plan, not in what is shown of them
// and not in the log. It is looked for as it is and in the usual encodings, as the guard looks for secrets.

// canary is what is looked for.
type canary struct {
	of    *testfile.Canary
	name  string
	texts []string
}

// leaks looks for the canaries of a run, in what is seen as names say, and in what it said.
func (s *Suite) leaks(r *Run, l look, names map[string]cty.Value, said []diag.Diagnostic, bag *diag.Bag) {
	var all []*canary
	for _, c := range r.NoLeak {
		if found, ok := s.canary(c, l, names, bag); ok {
			all = append(all, found)
		}
	}
	if len(all) == 0 {
		return
	}
	r.Log = s.Logged()
	for _, d := range s.Documents(r, said) {
		for _, c := range all {
			if slices.ContainsFunc(c.texts, func(text string) bool { return secret.Holds(d.Text, text) }) {
				bag.Add(diag.Errorf(leaked, "The value of %s was found in %s.", c.name, d.Name).At(c.of.Range))
			}
		}
	}
}

// leaked is the title of a canary that was found.
const leaked = "Secret leaked"

// source is the text at a place.
func (s *Suite) source(at diag.Range) string {
	snippet, ok := s.Sources.Snippet(at, nil)
	if !ok {
		return at.String()
	}
	return strings.Join(strings.Fields(snippet.Code[snippet.Start:snippet.End]), " ")
}

// shortestCanary is how long a text has to be to be looked for: shorter ones are found everywhere.
const shortestCanary = 4

// canary evaluates what is not to be found.
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
		return refuse("is not known in this run. An ephemeral resource is opened only if something uses its value")
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

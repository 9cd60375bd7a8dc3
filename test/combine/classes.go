package combine

import (
	"slices"
	"strings"
)

// A class is a way to differ from Terraform on purpose: a row of docs/differences.md, or a fault of
// Terraform that Lethe does not share. Stop ends the scenario, as what comes after follows from it.
type class struct {
	reason string
	is     func(c *comparison, f Finding) bool
}

// A comparison is all that a rule may look at.
type comparison struct {
	s    *Scenario
	st   *Step
	a, b *Outcome // of Lethe and of Terraform
}

// said is whether one of the errors of an invocation has a text in it.
func said(i *Invocation, text string) bool {
	return i != nil && slices.ContainsFunc(i.Errors, func(e string) bool { return strings.Contains(e, text) })
}

func (c *comparison) terraformSaid(text string) bool {
	return said(c.b.Plan, text) || said(c.b.Apply, text) || said(c.b.Second, text)
}

var classes = []class{
	{"Terraform fails inside", func(c *comparison, _ Finding) bool {
		return c.terraformSaid("no change found for")
	}},
	{"Terraform finds a cycle where there is an order", func(c *comparison, f Finding) bool {
		return c.terraformSaid("Cycle") && !said(c.a.Plan, "Cycle") && !said(c.a.Apply, "Cycle")
	}},
}

// explained leaves out of what differs from Terraform what differs on purpose. It tells, too, whether
// there was anything of the kind.
func explained(found []Finding, s *Scenario, st *Step, a, b *Outcome) (left []Finding, some bool) {
	c := &comparison{s: s, st: st, a: a, b: b}
	for _, f := range found {
		if slices.ContainsFunc(classes, func(k class) bool { return k.is(c, f) }) {
			some = true
			continue
		}
		left = append(left, f)
	}
	return left, some
}

package combine

import (
	"slices"
	"strings"
)

// A class is a way to differ from Terraform on purpose: a row of docs/differences.md, or a fault of
// Terraform that Lethe does not share. Its rule looks at what happened, never at which scenario it is.
type class struct {
	reason string
	is     func(c *comparison, d Difference) bool
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

func (c *comparison) letheSaid(text string) bool {
	return said(c.a.Plan, text) || said(c.a.Apply, text) || said(c.a.Second, text)
}

// classes are the rules, the grave ones first.
var classes = []class{
	{"Terraform fails inside", func(c *comparison, _ Difference) bool {
		return c.terraformSaid("no change found for") || c.terraformSaid("Provider produced inconsistent final plan") && !c.letheSaid("Provider produced inconsistent final plan")
	}},
	{"everyday changes that end in a cycle there have an order here", func(c *comparison, _ Difference) bool {
		return c.terraformSaid("Cycle") && !c.letheSaid("Cycle")
	}},
	{"a mistake in the configuration is one when everything is destroyed, too", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && d.Section == "exits" && (c.letheSaid("Moved object still exists") || c.letheSaid("Configuration for import target does not exist"))
	}},
	{"an error in a check is a warning", func(c *comparison, _ Difference) bool {
		return strings.Contains(outOf(c.a), "Warning: Invalid condition result")
	}},
	{"Terraform forgets the results of conditions of data sources that are read while planning", func(c *comparison, d Difference) bool {
		return d.What == "checks" && d.B == "unknown" && d.A != nil && strings.Contains("."+d.At, ".data.")
	}},
	{"a refresh-only plan of Terraform may claim changes when it says that there are none", func(c *comparison, d Difference) bool {
		return c.st.Do.Refresh == "only" && c.b.Plan != nil && strings.Contains(c.b.Plan.Out, "No changes.") && (d.What == "plan" && d.Section == "exits" || d.Section == "flag applyable")
	}},
	{"what is targeted need not name both addresses of what moved", func(c *comparison, _ Difference) bool {
		return c.terraformSaid("Moved resource instances excluded by targeting")
	}},
	{"Terraform forgets dependencies when nothing changes; to have more of them is safe", func(c *comparison, d Difference) bool {
		ours, _ := d.A.(string)
		theirs, _ := d.B.(string)
		return d.Section == "dependencies" && contains(strings.Fields(ours), strings.Fields(theirs))
	}},
}

// contains is whether everything of part is in all.
func contains(all, part []string) bool {
	return !slices.ContainsFunc(part, func(p string) bool { return !slices.Contains(all, p) })
}

func outOf(o *Outcome) string {
	var b strings.Builder
	for _, i := range o.Invocations {
		b.WriteString(i.Out)
	}
	return b.String()
}

// explained leaves out of the differences those that are on purpose. It tells, too, whether the two
// may still be held against each other afterwards: not when they ended otherwise, or in other states.
func explained(all []Difference, s *Scenario, st *Step, a, b *Outcome) (left []Difference, apart bool) {
	c := &comparison{s: s, st: st, a: a, b: b}
	for _, d := range all {
		if !slices.ContainsFunc(classes, func(k class) bool { return k.is(c, d) }) {
			left = append(left, d)
		} else if d.Section == "exits" || d.Section == "attributes" || d.What == "calls" {
			apart = true
		}
	}
	return left, apart
}

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
	{"which mistakes in moved and import blocks stop a destroy", func(c *comparison, d Difference) bool {
		said := func(text string) bool { return c.letheSaid(text) || c.terraformSaid(text) }
		return c.st.Do.Destroy && (said("Moved object still exists") || said("Configuration for import target does not exist"))
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
	{"conditions and outputs of what is not there yet are left alone in a refresh", func(c *comparison, _ Difference) bool {
		return c.st.Do.Refresh == "only" && c.terraformSaid("Invalid index") && !c.letheSaid("Invalid index")
	}},
	{"what changed outside is told when everything is destroyed, too", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && strings.HasPrefix(d.Section, "resource_drift")
	}},
	{"what goes is shown as it is now; Terraform shows it as it was last known", func(c *comparison, d Difference) bool {
		return d.Section == "resource_changes before" && len(c.st.Drifts) > 0 && goes(c.a, d.At)
	}},
	{"a refresh-only plan that changes nothing can be applied", func(c *comparison, _ Difference) bool {
		return c.st.Do.Refresh == "only" && c.terraformSaid("Cannot apply non-applyable plan")
	}},
	{"whether what is never kept is sensitive is not kept either", func(c *comparison, d Difference) bool {
		if strings.HasSuffix(d.Section, " sensitive") {
			return unkept(d.A, d.B)
		}
		return d.Section == "exits" && d.A == 0 && d.B == 2 && (onlyMarks(c.b.PlanJSON) || onlyMarks(c.b.SecondJSON))
	}},
	{"a plan that only reads the data of a check changes nothing", func(c *comparison, d Difference) bool {
		return d.Section == "exits" && d.A == 0 && d.B == 2 && (onlyChecks(c.b.PlanJSON) || onlyChecks(c.b.SecondJSON))
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

// changes are those of a plan that do something.
func changes(doc object) []any {
	all, _ := doc["resource_changes"].([]any)
	return slices.DeleteFunc(slices.Clone(all), func(c any) bool {
		change, _ := get(c, "change").(object)
		return slices.Equal(actions(change), []string{"no-op"})
	})
}

// unkept is whether two sets of marks differ in write-only attributes only.
func unkept(a, b any) bool {
	x, _ := a.(object)
	y, _ := b.(object)
	drop := func(m object) object {
		out := object{}
		for k, v := range m {
			if k != "password" && k != "password_wo" && v != false {
				out[k] = v
			}
		}
		return out
	}
	return compact(drop(x)) == compact(drop(y))
}

// onlyMarks is whether a plan changes nothing but the marks of what is never kept.
func onlyMarks(doc object) bool {
	all := changes(doc)
	return len(all) > 0 && !slices.ContainsFunc(all, func(c any) bool {
		return compact(get(c, "change", "before")) != compact(get(c, "change", "after")) ||
			!unkept(get(c, "change", "before_sensitive"), get(c, "change", "after_sensitive"))
	})
}

// onlyChecks is whether a plan does nothing but read data of checks.
func onlyChecks(doc object) bool {
	all := changes(doc)
	return len(all) > 0 && !slices.ContainsFunc(all, func(ch any) bool {
		name, _ := get(ch, "name").(string)
		return get(ch, "mode") != "data" || !strings.HasPrefix(name, "in")
	})
}

// goes is whether a plan takes an object away.
func goes(o *Outcome, addr string) bool {
	changes, _ := o.PlanJSON["resource_changes"].([]any)
	return slices.ContainsFunc(changes, func(c any) bool {
		change, _ := get(c, "change").(object)
		return get(c, "address") == addr && slices.Equal(actions(change), []string{"delete"})
	})
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

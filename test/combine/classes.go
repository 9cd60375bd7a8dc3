package combine

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/test/combine/box"
	"github.com/lethe-iac/lethe/test/combine/cloud"
)

// A class is a way to differ from Terraform on purpose: a row of docs/differences.md, or a fault of
// Terraform that Lethe does not share. Its rule looks at what happened, never at which scenario it is.
type class struct {
	reason string
	is     func(c *comparison, d Difference) bool
}

// A comparison is all that a rule may look at.
type comparison struct {
	st   *Step
	a, b *Outcome // of Lethe and of Terraform
}

// refused is whether Terraform ended with errors of some kinds only, and Lethe did what was asked for.
func (c *comparison) refused(d Difference, titles ...string) bool {
	return d.Section == "exits" && d.A != 1 && d.B == 1 && c.b.only(d.What, titles...)
}

// refuses is whether it is Lethe that ended so.
func (c *comparison) refuses(d Difference, title string) bool {
	return d.Section == "exits" && d.A == 1 && c.a.only(d.What, title)
}

// only is whether errors were told, by a command on the state or by the others, and none of another kind.
func (o *Outcome) only(what string, titles ...string) bool {
	told := 0
	for _, i := range o.Invocations {
		if operation := slices.Contains([]string{"state", "taint", "untaint", "import"}, what); operation != slices.Contains(o.Operations, i) {
			continue
		}
		for _, e := range i.Errors {
			if told++; !slices.ContainsFunc(titles, func(title string) bool { return strings.Contains(e, title) }) {
				return false
			}
		}
	}
	return told > 0
}

// idle is whether Terraform's exit code claims changes where Lethe's says that there are none, and
// Terraform's plan has nothing but what a rule knows.
func (c *comparison) idle(d Difference, only func(change any) bool) bool {
	doc := c.b.PlanJSON
	if d.What == "second plan" {
		doc = c.b.SecondJSON
	}
	all := changes(doc)
	return d.Section == "exits" && d.A == 0 && d.B == 2 && len(all) > 0 && !slices.ContainsFunc(all, func(ch any) bool { return !only(ch) })
}

// onlyOutputs is whether it claims changes of nothing but outputs, all of which a rule knows.
func (c *comparison) onlyOutputs(d Difference, known func(Difference) bool) bool {
	outputs, _ := c.b.PlanJSON["output_changes"].(object)
	return d.What == "plan" && d.Section == "exits" && d.A == 0 && d.B == 2 && len(changes(c.b.PlanJSON)) == 0 &&
		!slices.ContainsFunc(slices.Collect(maps.Keys(outputs)), func(name string) bool { return !known(Difference{Section: "outputs", At: name}) })
}

// classes are the rules. The reason of each is the subject of its row. A difference of exit codes is
// the last that is looked at in a step, so that a rule for one says nothing of anything else.
var classes = []class{
	{"`replace_triggered_by` of a resource that has no instances", func(c *comparison, d Difference) bool {
		return c.refused(d, "no change found for")
	}},
	{"`action_reason` of a new object whose `replace_triggered_by` names what changes", func(c *comparison, d Difference) bool {
		return d.Section == "resource_changes reason" && d.A == nil && d.B == "replace_by_triggers" && does(c.a, d.At, "create")
	}},
	{"everyday changes that end in `Error: Cycle`", func(c *comparison, d Difference) bool {
		return c.refused(d, "Cycle") || c.refused(d, "Self reference: ")
	}},
	{"drift of objects whose provider the configuration does not name", func(c *comparison, d Difference) bool {
		return strings.HasPrefix(d.Section, "resource_drift") && d.B == nil && strings.Contains(c.b.said(), "No resource schema found")
	}},
	{"`destroy` with a `moved` block whose object is still declared at its old address", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && c.refused(d, "Moved object still exists")
	}},
	{"an output of an instance that is not there", func(c *comparison, d Difference) bool {
		theirs, _ := d.B.([]any)
		keeps := compact(c.a.Before.Outputs[d.At]) == compact(c.a.After.Outputs[d.At]) && c.needs(d, c.left)
		return c.st.Do.Refresh == "only" && (c.refused(d, "Invalid index") || strings.HasPrefix(d.Section, "output_changes") ||
			d.Section == "outputs" && (keeps || len(theirs) > 0 && theirs[0] == nil || d.A == nil && c.needs(d, c.absent)) ||
			d.What == "state" && d.B == nil && strings.Contains("."+d.At, ".data."))
	}},
	{"a `moved` block to or from a resource that gets or loses `count`", func(c *comparison, d Difference) bool {
		return d.Section != "exits" && c.recounted()
	}},
	{"a `moved` block that takes a resource or a module to one that has other objects", func(c *comparison, d Difference) bool {
		return d.Section != "exits" && slices.ContainsFunc(blocked.FindAllStringSubmatch(c.b.said(), -1), func(m []string) bool {
			return !strings.Contains(c.a.said(), "adjust the address of "+m[1]+" to ")
		})
	}},
	{"a `moved` block that takes a resource or a module to one that has other objects", func(c *comparison, d Difference) bool {
		// What did not move is left without its provider, where the edit renamed that.
		left := unprovided.FindAllStringSubmatch(c.b.said(), -1)
		return c.refused(d, "Provider configuration not present") && len(left) > 0 && !slices.ContainsFunc(left, func(m []string) bool {
			return !c.has(func(_ *Module, b *Block) bool {
				return b.Kind == Moved && liesIn(m[1], b.arg("from").text()) && slices.ContainsFunc(c.a.Before.Resources, func(r *StateResource) bool { return liesIn(r.addr(), b.arg("to").text()) })
			})
		})
	}},
	{"`-target`, and conditions of variables that nothing selected uses", func(c *comparison, d Difference) bool {
		return len(c.st.Do.Target) > 0 && c.refused(d, "Invalid value for variable", "Value not allowed in ephemeral output")
	}},
	{"`-target`, where a module that is left out exports a lease", func(c *comparison, d Difference) bool {
		return len(c.st.Do.Target) > 0 && c.refused(d, "Ephemeral resource instance has expired")
	}},
	{"`-target` of what needs one instance of something", func(c *comparison, d Difference) bool {
		waits := func(d Difference) bool {
			return c.about(d, c.delayed(func(string) bool { return slices.ContainsFunc(addressesOf(c.b), c.unneeded) }))
		}
		more := func(d Difference) bool {
			return c.about(d, slices.DeleteFunc(addressesOf(c.b), func(at string) bool { return !c.unneeded(at) }))
		}
		return (d.Section == "checks" || d.What == "checks") && (d.A == nil || d.A == "unknown") && more(d) || (d.A == nil || d.What == "state" && d.B == nil || d.Section == "create first") && (c.unneeded(d.At) || d.What == "calls" && c.unneeded(c.subject(d))) || d.What == "plan" && d.Section != "exits" && waits(d) || strings.HasSuffix(d.Section, "result") && d.B == "unknown" && slices.ContainsFunc(addressesOf(c.b), func(a string) bool {
			return keyless(a) == d.At && c.unneeded(a)
		}) || c.idle(d, func(ch any) bool {
			at := fmt.Sprint(get(ch, "address"))
			return c.unneeded(at) || waits(Difference{At: at})
		}) || c.onlyOutputs(d, more)
	}},
	{"an ignored argument that became sensitive, of what is replaced", func(c *comparison, d Difference) bool {
		return strings.HasSuffix(d.Section, "sensitive") && c.ignores(d.At) && len(compact(d.A)) > len(compact(d.B)) && c.replaced(d.At)
	}},
	{"an output made from what `-destroy -target` destroys", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && len(c.st.Do.Target) > 0 && d.What == "state" && d.Section == "outputs" &&
			compact(c.a.Before.Outputs[d.At]) == compact(c.a.After.Outputs[d.At])
	}},
	{"`destroy` where there is nothing, with a value that a variable refuses", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && len(c.a.Before.Resources) == 0 && (c.refuses(d, "Invalid value for variable") || c.refuses(d, "Invalid for_each ") || c.refuses(d, "Moved object still exists") || c.refuses(d, "Ambiguous move statements"))
	}},
	{"what moves to another type, and goes in the same plan", func(c *comparison, d Difference) bool {
		return d.What == "calls" && d.Section == "move" && d.B == nil && (strings.Contains(c.a.said(), "which is not in configuration") || c.movesOn())
	}},
	{"dependencies through what has no instances", func(c *comparison, d Difference) bool {
		ours, _ := d.A.(string)
		theirs, _ := d.B.(string)
		return d.Section == "dependencies" && contains(strings.Fields(theirs), strings.Fields(ours)) && c.none() || c.further(d)
	}},
	{"what moved to another type, and did not change", func(c *comparison, d Difference) bool {
		return strings.HasPrefix(d.Section, "resource_drift") && (d.A == nil || compact(d.A) == `["no-op"]`) && unchanged(c.b, d.At) || d.Section != "exits" && c.about(d, c.remarked())
	}},
	{"a provider whose settings are not known yet", func(_ *comparison, d Difference) bool {
		return d.Section == "resource_changes reason" && d.A == "read_because_config_unknown" && d.B == "read_because_dependency_pending"
	}},
	{"a provider whose settings are not known yet", func(c *comparison, d Difference) bool {
		return c.b.halfConfigured() && (d.What == "plan" && unknowns(c.a, d.At) > unknowns(c.b, d.At) || strings.Contains(compact(d.A), `"unknown"`) && c.needs(d, (*place).configured) ||
			d.What == "state" && d.A == nil && c.a.Apply.Exit == 1 || strings.HasPrefix(d.Section, "resource_changes ") && c.needs(d, (*place).configured) || d.What != "plan" && c.about(d, c.halfLooked()) ||
			c.idle(d, func(ch any) bool { return c.about(Difference{At: fmt.Sprint(get(ch, "address"))}, c.halfLooked()) }))
	}},
	{"a provider whose settings are not known yet", func(c *comparison, d Difference) bool {
		return c.b.halfConfigured() && (c.refused(d, "On demand", "condition failed") || c.refuses(d, " argument") || c.refuses(d, "On demand") && !slices.ContainsFunc(c.failures(), func(at string) bool {
			return !strings.Contains("."+at, ".data.") || !c.needs(Difference{At: at}, (*place).configured)
		}))
	}},
	{"`count` or `for_each` of an ephemeral block that is not known yet", func(c *comparison, d Difference) bool {
		return c.refused(d, " argument") && strings.Contains(c.b.said(), "in ephemeral \"")
	}},
	{"an import block for what is not declared, with `-refresh-only`", func(c *comparison, d Difference) bool {
		return c.st.Do.Refresh == "only" && c.refused(d, "Configuration for import target does not exist", "Invalid import 'to' expression")
	}},
	{"a mistake in what `-target` leaves out", func(c *comparison, d Difference) bool {
		return len(c.st.Do.Target) > 0 && (c.refuses(d, "Moved object still exists") || c.refuses(d, "Invalid for_each argument") && strings.Contains(c.a.said(), "unsuitable"))
	}},
	{"a mistake in what the `import` command does not need", func(c *comparison, d Difference) bool {
		return d.What == "import" && (c.refuses(d, "Unsupported attribute") || c.refuses(d, "Ambiguous move statements"))
	}},
	{"the `import` command, where something else cannot be worked out", func(c *comparison, d Difference) bool {
		return d.What == "import" && c.refused(d, "Invalid count argument", "Invalid for_each argument", "On demand", "Provider configuration not present")
	}},
	{"outputs after the `import` command", func(c *comparison, d Difference) bool {
		as := compact(c.a.Before.Outputs[d.At])
		return d.Section == "outputs" && as == compact(c.a.After.Outputs[d.At]) && slices.ContainsFunc(c.st.Drifts, func(d Drift) bool { return d.Do == "import" }) ||
			strings.HasPrefix(d.Section, "output_changes") && as != compact(c.b.Before.Outputs[d.At])
	}},
	{"`-target` of what depends on something that is replaced create-first", func(c *comparison, d Difference) bool {
		return len(c.st.Do.Target) > 0 && c.leaves(d)
	}},
	{"`-target` of what is replaced", func(c *comparison, d Difference) bool {
		return len(c.st.Do.Target) > 0 && d.Section == "resource_changes actions" && compact(d.A) == `["create","delete"]` && compact(d.B) == `["delete","create"]` &&
			c.firstFor(d.At, func(p *place) bool {
				return !slices.ContainsFunc(addressesOf(c.b), func(a string) bool { return keyless(a) == p.addr() })
			})
	}},
	{"an id is shown in plans and kept in the state, so it must not be sensitive", func(c *comparison, d Difference) bool {
		return c.refuses(d, "Invalid import id argument")
	}},
	{"the provider of an object, with `-refresh-only`", func(c *comparison, d Difference) bool {
		return c.st.Do.Refresh == "only" && d.What == "state" && d.Section == "provider" && d.A != nil && d.B != nil
	}},
	{"what a destroy of a part leaves", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && len(c.st.Do.Target) > 0 && d.What == "state" && d.A != nil && (d.B != nil || c.b.missed(c.a.After.at(d.At).id())) && !slices.Contains(addressesOf(c.a), d.At)
	}},
	{"a refresh-only plan of nothing but moves", func(c *comparison, d Difference) bool {
		list, _ := c.b.PlanJSON["resource_drift"].([]any)
		return c.st.Do.Refresh == "only" && d.Section == "exits" && d.A == 0 && d.B == 2 && verbs(c.a.PlanJSON) == "" && !slices.ContainsFunc(list, func(ch any) bool {
			return compact(get(ch, "change", "before")) != compact(get(ch, "change", "after"))
		})
	}},
	{"a destroy of a part, where what depends on it in the state alone was deleted outside", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && len(c.st.Do.Target) > 0 && d.A == nil && slices.ContainsFunc(c.st.Drifts, func(d Drift) bool { return d.Do == "delete" }) &&
			(d.What == "calls" && d.Section == "delete" || strings.HasPrefix(d.Section, "resource_changes") && c.a.drifted(d.At) && does(c.b, d.At, "delete"))
	}},
	{"a destroy of a part that was deleted outside, and what depends on it", func(c *comparison, d Difference) bool {
		return d.Section == "exits" && d.A == 2 && d.B == 0 && c.lethe(c.bereft) ||
			d.Section != "exits" && (d.B == nil || d.What == "state" && d.A == nil) && c.bereft(c.subject(d))
	}},
	{"destroying through a provider whose source is replaced", func(c *comparison, d Difference) bool {
		return d.Section == "exits" && d.A == 2 && d.B == 0 && c.lethe(c.elsewhere) || d.Section != "exits" && c.elsewhere(c.subject(d)) ||
			// What was destroyed before its provider's source was to be updated is gone, where that fails.
			c.b.Apply != nil && c.b.Apply.Exit == 1 && (d.What == "state" && d.A == nil || d.What == "calls" && d.B == nil && strings.HasPrefix(d.At, "delete ")) && c.needs(d, func(p *place) bool {
				return p.b.Kind == Provider && p.needs(func(on *place) bool {
					return slices.ContainsFunc(c.failures(), func(at string) bool { return keyless(at) == on.addr() })
				})
			})
	}},
	{"a destroy plan of nothing but data sources", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && d.Section == "exits" && d.A == 0 && d.B == 2 && len(changes(c.b.PlanJSON)) == 0
	}},
	{"a refresh-only plan without changes", func(c *comparison, d Difference) bool {
		return c.st.Do.Refresh == "only" && c.refused(d, "Cannot apply non-applyable plan")
	}},
	{"a refresh-only plan without changes", func(c *comparison, d Difference) bool {
		return c.st.Do.Refresh == "only" && c.b.Plan != nil && strings.Contains(c.b.Plan.Out, "No changes.") &&
			(d.What == "plan" && d.Section == "exits" && d.A == 0 && d.B == 2 || d.Section == "flag applyable")
	}},
	{"a deposed object that changed outside, with `-refresh-only`", func(c *comparison, d Difference) bool {
		return c.st.Do.Refresh == "only" && strings.HasPrefix(d.Section, "resource_drift") && strings.HasSuffix(d.At, " deposed") && d.B == nil
	}},
	{"`state mv`, and what depends on what moves", func(c *comparison, d Difference) bool {
		at := []string{c.subject(d)}
		if words := strings.Fields(d.At); d.What == "calls" && len(words) > 2 {
			at = named(c.a, words[2])
		}
		lost := false // Terraform knows of something less that it depends on, or that depends on it
		c.a.Before.managed(func(r *StateResource, i *StateInstance) {
			if other := c.b.Before.at(i.addr(r)); other != nil && len(other.Dependencies) < len(i.Dependencies) {
				lost = lost || slices.ContainsFunc(at, func(a string) bool { return a == i.addr(r) || slices.Contains(i.Dependencies, keyless(a)) })
			}
		})
		return lost && (d.Section == "dependencies" || d.Section == "create first" || d.What == "calls" && d.Section == "delete")
	}},
	{"a deposed object that is gone", func(c *comparison, d Difference) bool {
		return strings.HasPrefix(d.Section, "resource_changes") && d.A == nil && strings.HasSuffix(d.At, " deposed") && !slices.ContainsFunc(changes(c.b.PlanJSON), func(ch any) bool {
			return get(ch, "deposed") != nil && get(ch, "address") == strings.TrimSuffix(d.At, " deposed")
		})
	}},
	{"a refresh-only plan that does nothing but remove outputs", func(c *comparison, d Difference) bool {
		return c.st.Do.Refresh == "only" && verbs(c.a.PlanJSON) == "output delete" && (d.What == "plan" && d.Section == "exits" && d.A == 2 && d.B == 0 || d.Section == "flag applyable")
	}},
	{"`-target` and what has moved", func(c *comparison, d Difference) bool {
		return c.refused(d, "Moved resource instances excluded by targeting")
	}},
	{"conditions of data sources that were read while planning", func(_ *comparison, d Difference) bool {
		return d.What == "checks" && d.B == "unknown" && d.A != nil && strings.Contains("."+d.At, ".data.")
	}},
	{"what changed outside, when everything is destroyed", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && strings.HasPrefix(d.Section, "resource_drift") && d.B == nil
	}},
	{"what is destroyed, where it changed outside", func(c *comparison, d Difference) bool {
		return d.Section == "resource_changes before" && (len(c.st.Drifts) > 0 || c.a.drifted(d.At)) && does(c.a, d.At, "delete")
	}},
	{"marks of write-only attributes", func(c *comparison, d Difference) bool {
		updated := c.marked()
		waiting := c.delayed(func(addr string) bool { return c.about(Difference{At: addr}, updated) })
		return strings.HasSuffix(d.Section, " sensitive") && unkept(d.A, d.B) ||
			(strings.HasPrefix(d.Section, "resource_changes") || d.What == "calls" && d.Section == "update" && d.A == nil) && slices.Contains(updated, c.subject(d)) ||
			d.B == "replace_by_triggers" && c.about(d, updated) || d.Section != "exits" && (d.What == "plan" && c.about(d, waiting) || c.about(d, c.triggered(updated))) ||
			c.idle(d, func(ch any) bool {
				return slices.Contains(slices.Concat(updated, waiting), fmt.Sprint(get(ch, "address")))
			})
	}},
	{"marks of write-only attributes", func(_ *comparison, d Difference) bool {
		ours, _ := d.A.([]any)
		theirs, _ := d.B.([]any)
		return d.What == "state" && d.Section == "sensitive" && len(theirs) > len(ours) && !slices.ContainsFunc(theirs, func(path any) bool {
			return !slices.Contains(ours, path) && !slices.ContainsFunc(attribute.FindAllStringSubmatch(fmt.Sprint(path), -1), func(name []string) bool {
				return box.WriteOnly(name[1])
			})
		})
	}},
	{"`-refresh-only`, where keys depend on what is not there yet", func(c *comparison, d Difference) bool {
		// What looks at instances that are missing for it is an error beside the first, not the warning
		// that it is elsewhere with -refresh-only.
		return c.st.Do.Refresh == "only" && !c.b.only("", "Invalid index", "condition failed") &&
			c.b.only("", "Invalid count argument", "Invalid for_each argument", "Invalid index", "condition failed") &&
			(d.Section == "exits" && d.A != 1 && d.B == 1 || d.What == "plan" && strings.HasPrefix(d.Section, "checks"))
	}},
	{"a precondition of a create-first replacement", func(c *comparison, d Difference) bool {
		at := strings.TrimSuffix(d.At, " deposed")
		return d.What == "state" && strings.Contains(c.a.said(), "Resource precondition failed") && slices.Contains(c.failures(), at) && c.b.deposed(at)
	}},
	{"what was replaced create-first, where a condition of what depends on it fails", func(c *comparison, d Difference) bool {
		at := strings.TrimSuffix(c.subject(d), " deposed")
		gone := d.What == "state" && d.B == nil || d.What == "calls" && d.A == nil && strings.HasPrefix(d.At, "delete ")
		return gone && c.a.deposed(at) && slices.ContainsFunc(c.failures(), func(failed string) bool {
			return c.needs(Difference{At: failed}, func(p *place) bool { return p.addr() == keyless(at) })
		})
	}},
	{"an import of an object that the same plan destroys where it was", func(c *comparison, d Difference) bool {
		return c.refuses(d, "Imported object would be destroyed")
	}},
	{"what was replaced create-first, where what depends on it could not be made", func(c *comparison, d Difference) bool {
		at := strings.TrimSuffix(c.subject(d), " deposed")
		gone := d.What == "state" && d.A == nil || d.What == "calls" && d.B == nil && strings.HasPrefix(d.At, "delete ")
		return gone && c.b.deposed(at) && slices.ContainsFunc(c.failures(), func(failed string) bool {
			return c.a.Before.at(failed) == nil && c.needs(Difference{At: failed}, func(p *place) bool { return p.addr() == keyless(at) })
		})
	}},
	{"a plan that reads nothing but data of checks", func(c *comparison, d Difference) bool {
		return c.idle(d, func(ch any) bool { return c.ofCheck(ch) })
	}},
	{"conditions, expressions and data of what is destroyed", func(c *comparison, d Difference) bool {
		titles := []string{"Invalid index", "Attempt to get attribute from null value", "condition failed", "Configuration for import target does not exist", "Invalid count argument", "Invalid for_each argument", "Invalid import 'to' expression", "On demand", "Value not allowed in ephemeral output", "Inconsistent dependency lock file", "Resource has no configuration"}
		// A destroy that forgets something fails, too.
		forgets := c.a.only("", "Objects were forgotten, not destroyed") && c.b.only("", titles...)
		// What is left out may not be destroyed, and is not.
		spares := c.refused(d, "Instance cannot be destroyed") && !slices.ContainsFunc(protected.FindAllStringSubmatch(c.b.said(), -1), func(m []string) bool { return does(c.a, m[1], "delete") })
		return c.st.Do.Destroy && (c.refused(d, titles...) || forgets || spares) || c.st.Do.Destroy && c.refused(d, "Invalid value for variable", "Value not allowed in ephemeral output") && slices.ContainsFunc(inside(c.st.Config, nil), func(p *place) bool {
			return p.b.Kind == Variable && p.up != nil && p.up.needs(func(on *place) bool { return on.b.Kind == Resource || on.b.Kind == Data })
		})
	}},
	{"what goes with a target of a destroy, and is not there any more", func(c *comparison, d Difference) bool {
		at := c.subject(d)
		return c.st.Do.Destroy && len(c.st.Do.Target) > 0 && d.Section != "exits" && c.a.missed(c.a.Before.at(at).id()) && !c.b.missed(c.b.Before.at(at).id())
	}},
	{"what is sensitive in an object whose change failed", func(c *comparison, d Difference) bool {
		return d.What == "state" && d.Section == "sensitive" && slices.Contains(c.failures(), d.At)
	}},
	{"an object that could not be destroyed", func(c *comparison, d Difference) bool {
		return (c.st.Do.Destroy || c.replaced(d.At)) && (d.Section == "sensitive" || d.Section == "create first") && slices.Contains(c.failures(), d.At)
	}},
	{"`output_changes` of a destroy", func(c *comparison, d Difference) bool {
		ours, _ := d.A.([]any)
		theirs, _ := d.B.([]any)
		made := strings.HasPrefix(d.Section, "output_changes") && d.A == nil && c.a.Before.Outputs[d.At] == nil
		return c.st.Do.Destroy && (made || d.Section == "output_changes before" || d.Section == "output_changes after" && compact(ours[:min(2, len(ours))]) == compact(theirs[:min(2, len(theirs))]))
	}},
	{"it gives the resource, not the missing module, as the reason", func(_ *comparison, d Difference) bool {
		return d.Section == "resource_changes reason" && d.A == "delete_because_no_module" && d.B == "delete_because_no_resource_config"
	}},
	{"data sources, with a destroy of a part", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && len(c.st.Do.Target) > 0 && d.What == "state" && strings.Contains("."+d.At, ".data.")
	}},
	{"what is forgotten, where it changed or was deleted outside", func(c *comparison, d Difference) bool {
		return strings.HasPrefix(d.Section, "resource_") && c.a.drifted(d.At) && does(c.b, d.At, "forget") ||
			c.st.Do.Destroy && d.Section == "delete" && d.A == nil && c.a.missed(strings.Fields(d.At)[2]) && c.has(func(_ *Module, b *Block) bool { return b.Kind == Removed })
	}},
	{"`removed` with `destroy = false`, and then `destroy`", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && c.refuses(d, "Objects were forgotten, not destroyed")
	}},
	{"`-refresh=false` and data sources", func(c *comparison, d Difference) bool {
		var stored []string
		for _, m := range usesStored.FindAllStringSubmatch(c.a.said(), -1) {
			stored = append(stored, m[1])
		}
		return c.st.Do.Refresh == "false" && (d.Section != "exits" && c.about(d, stored) || c.refused(d, "On demand") && len(stored) > 0)
	}},
	{"an error in a check is a warning", func(c *comparison, d Difference) bool {
		return slices.ContainsFunc(c.b.Invocations, func(i *Invocation) bool {
			return slices.ContainsFunc(i.Errors, func(e string) bool { return strings.Contains(c.a.said(), "Warning: "+e) && c.refused(d, e) })
		})
	}},
	{"an ephemeral output may be given a plain value", func(c *comparison, d Difference) bool {
		const title = "Value not allowed in ephemeral output"
		return c.refused(d, title) || c.b.Plan == nil && c.b.Apply.Exit == 1 && c.b.only("", title)
	}},
	{"what names a whole module", func(c *comparison, d Difference) bool {
		ours, _ := d.A.(string)
		theirs, _ := d.B.(string)
		more := slices.DeleteFunc(strings.Fields(theirs), func(a string) bool { return strings.HasPrefix(a, "module.") || c.given(a) })
		return c.further(d) || c.wholeModules("") && (d.Section == "dependencies" && contains(strings.Fields(theirs), strings.Fields(ours)) && contains(strings.Fields(ours), more) ||
			d.Section == "create first" && d.B == true && (strings.HasPrefix(d.At, "module.") || c.given(keyless(d.At))) ||
			len(c.st.Do.Target) > 0 && (d.What == "state" || d.What == "calls") && c.wholeModules(c.subject(d)) ||
			d.Section == "resource_changes actions" && compact(d.B) == `["create","delete"]` && compact(d.A) == `["delete","create"]` && strings.HasPrefix(d.At, "module.") ||
			d.What == "plan" && d.Section != "exits" && c.about(d, c.delayed(c.forWhole)) ||
			strings.HasPrefix(d.Section, "resource_changes") && d.A == nil && c.through(d.At) ||
			d.A == nil && (d.What == "state" || d.What == "calls" && d.Section == "create") && c.through(c.subject(d)) ||
			d.B == nil && (d.What == "state" || d.What == "calls") && c.heldBack(d) ||
			c.idle(d, func(ch any) bool {
				at := fmt.Sprint(get(ch, "address"))
				return c.through(at) || c.forWhole(at) && does(c.b, at, "read")
			}) || c.refused(d, "Invalid count argument", "Invalid for_each argument") && c.readForWhole()) ||
			len(c.st.Do.Target) > 0 && (d.Section == "checks" || d.What == "checks") && (d.A == nil || d.A == "unknown") && c.wholeModules(c.subject(d))
	}},
	{"outputs with `-target` of one instance", func(c *comparison, d Difference) bool {
		partly := func(d Difference) bool {
			return c.needs(d, func(p *place) bool {
				return slices.ContainsFunc(c.st.Do.Target, func(t string) bool { return keyless(t) != t && strings.HasPrefix(keyless(t)+".", p.addr()+".") })
			})
		}
		if c.onlyOutputs(d, partly) {
			return true
		}
		if c.refused(d, "Invalid index") {
			return slices.ContainsFunc(inside(c.st.Config, nil), func(p *place) bool {
				return p.b.Kind == Output && strings.Contains(c.b.said(), fmt.Sprintf("in output %q:", p.b.Name)) && partly(Difference{At: p.addr()})
			})
		}
		if d.Section == "checks" || d.What == "checks" {
			return (d.A == nil || d.A == "unknown") && partly(d)
		}
		keeps := d.What == "plan" && d.A == nil || d.What == "state" && compact(c.a.Before.Outputs[d.At]) == compact(c.a.After.Outputs[d.At])
		return keeps && strings.HasPrefix(d.Section, "output") && partly(d)
	}},
	{"a data source with a precondition that is not known while planning", func(c *comparison, d Difference) bool {
		waits := d.Section == "checks" && (d.A == nil || strings.Contains(compact(d.A), `"unknown"`)) || d.What == "state" && c.st.Do.Refresh == "only"
		return waits && c.needs(d, func(p *place) bool {
			l := p.b.nested("lifecycle")
			return p.b.Kind == Data && l != nil && l.nested("precondition") != nil
		})
	}},
	{"a data source that has one in `depends_on` which waits for apply", func(c *comparison, d Difference) bool {
		waits := d.What == "plan" && (d.B == nil && does(c.a, d.At, "read") || unknowns(c.a, d.At) > unknowns(c.b, d.At)) ||
			(d.Section == "checks" || d.What == "checks") && d.A == "unknown" || d.What == "state" && d.A == nil && (c.a.Apply.Exit == 1 || c.st.Do.Refresh == "only")
		return waits && c.needs(d, (*place).awaits) || c.refuses(d, " argument") && slices.ContainsFunc(inside(c.st.Config, nil), (*place).awaits)
	}},
	{"a data source in a repeated module that waits for apply", func(c *comparison, d Difference) bool {
		return d.What == "plan" && d.Section != "exits" && c.about(d, c.delayed(c.forOther)) ||
			c.a.only("", "postcondition failed") && !slices.ContainsFunc(c.failures(), func(at string) bool { return !c.b.waits(at) || !c.a.waitsElsewhere(at) })
	}},
	{"postconditions of an object whose provisioners failed", func(c *comparison, d Difference) bool {
		return d.What == "checks" && strings.Contains(compact(d.A), `"unknown"`) && slices.ContainsFunc(unexpected.FindAllStringSubmatch(c.a.said(), -1), func(m []string) bool {
			return keyless(m[1]+m[2]) == keyless(c.subject(d))
		})
	}},
	{"an output made from what failed to be applied", func(c *comparison, d Difference) bool {
		return d.What == "state" && c.b.Apply.Exit == 1 && (d.Section == "outputs" && compact(c.a.Before.Outputs[d.At]) == compact(c.a.After.Outputs[d.At]) ||
			d.B == nil && strings.Contains(c.a.said(), d.At+" will be read during apply"))
	}},
	{"`create_before_destroy` in the state", func(c *comparison, d Difference) bool {
		if d.Section == "create first" && c.st.Do.Refresh == "only" {
			return true
		}
		return d.Section == "create first" && d.A == true && (strings.HasSuffix(d.At, " deposed") || len(c.st.Do.Target) > 0 || imports(c.a, d.At) || strings.HasSuffix(d.At, "]")) ||
			d.Section == "create first" && d.B == true && c.firstForGone(d.At) ||
			(d.Section == "create first" && d.B == true || d.Section == "resource_changes actions" && compact(d.B) == `["create","delete"]`) && c.firstFor(d.At, func(p *place) bool {
				return p.up != nil && !slices.ContainsFunc(c.a.After.Resources, func(r *StateResource) bool { return strings.HasPrefix(keyless(r.Module)+".", p.up.addr()+".") })
			})
	}},
	{"dependencies of what does not change", func(c *comparison, d Difference) bool {
		ours, _ := d.A.(string)
		theirs, _ := d.B.(string)
		return d.Section == "dependencies" && (contains(strings.Fields(ours), strings.Fields(theirs)) || strings.HasSuffix(d.At, " deposed") && contains(strings.Fields(theirs), strings.Fields(ours)) || c.st.Do.Refresh == "only" || c.b.kept(d.At, strings.Fields(ours), strings.Fields(theirs)))
	}},
}

// unexpected is what Lethe says of an answer that is not what was planned, or an error.
var unexpected = regexp.MustCompile(`(?m)applying changes to (\S+?),|with (\S+),$`)

// replaced is whether Lethe's plan replaces an object.
func (c *comparison) replaced(addr string) bool {
	return regexp.MustCompile(regexp.QuoteMeta(addr) + ` (must|will) be replaced`).MatchString(c.a.said())
}

// failures are what errors of Lethe are about.
func (c *comparison) failures() []string {
	var all []string
	for _, m := range failed.FindAllStringSubmatch(c.a.said(), -1) {
		all = append(all, m[1])
	}
	return all
}

// failed is the object that a message is about.
var failed = regexp.MustCompile(`(?m)with (\S+),$`)

// usesStored is what Lethe says of data that it does not read again.
var usesStored = regexp.MustCompile(`(?m)^(\S+): Using stored result`)

// has is whether a block is such.
func (c *comparison) has(such func(*Module, *Block) bool) bool {
	yes := false
	c.st.Config.each(func(m *Module, b *Block) { yes = yes || such(m, b) })
	return yes
}

// further is whether Terraform alone destroys something that in its state depends on a target.
func (c *comparison) further(d Difference) bool {
	return c.st.Do.Destroy && (d.A == nil || d.What == "state") && slices.ContainsFunc(c.st.Do.Target, func(t string) bool {
		on := func(s *State) bool {
			x := s.at(d.At)
			return x != nil && slices.ContainsFunc(x.Dependencies, func(dep string) bool { return strings.HasPrefix(dep+".", keyless(t)+".") })
		}
		return d.What == "calls" && c.wholeModules("") || (does(c.b, d.At, "delete") || d.What == "state" && d.B == nil) && on(c.b.Before) && !on(c.a.Before)
	})
}

// lethe is whether something holds of all that Lethe plans to change.
func (c *comparison) lethe(holds func(addr string) bool) bool {
	return !slices.ContainsFunc(changes(c.a.PlanJSON), func(ch any) bool { return !holds(fmt.Sprint(get(ch, "address"))) })
}

// elsewhere is whether Terraform alone did not find what is to be destroyed, through a provider that is configured from objects.
func (c *comparison) elsewhere(addr string) bool {
	return c.st.Do.Destroy && c.b.missed(c.b.Before.at(addr).id()) && !c.a.missed(c.a.Before.at(addr).id()) && c.needs(Difference{At: addr}, func(p *place) bool {
		return p.b.Kind == Provider && p.needs(func(on *place) bool { return on.b.Kind == Resource })
	})
}

// bereft is whether Lethe alone plans something of what depends on a target that is to be destroyed and was not there any more.
func (c *comparison) bereft(addr string) bool {
	is, yes := c.a.Before.at(addr), false
	if is == nil || !c.st.Do.Destroy || !slices.Contains(addressesOf(c.a), addr) || slices.Contains(addressesOf(c.b), addr) {
		return false
	}
	c.b.Before.managed(func(r *StateResource, i *StateInstance) {
		yes = yes || c.b.missed(i.id()) && slices.Contains(is.Dependencies, keyless(r.addr())) &&
			slices.ContainsFunc(c.st.Do.Target, func(t string) bool {
				return strings.HasPrefix(i.addr(r)+".", t+".") || strings.HasPrefix(i.addr(r), t+"[")
			})
	})
	return yes
}

// delayed are the data that Terraform alone leaves for apply, of those of which something holds.
func (c *comparison) delayed(holds func(addr string) bool) []string {
	var all []string
	for _, ch := range changes(c.b.PlanJSON) {
		if at := fmt.Sprint(get(ch, "address")); does(c.b, at, "read") && !does(c.a, at, "read") && holds(at) {
			all = append(all, at)
		}
	}
	return all
}

// triggered are the objects that Terraform replaces since some others change.
func (c *comparison) triggered(by []string) []string {
	var all []string
	for _, ch := range changes(c.b.PlanJSON) {
		if at := fmt.Sprint(get(ch, "address")); get(ch, "action_reason") == "replace_by_triggers" && c.about(Difference{At: at}, by) {
			all = append(all, at)
		}
	}
	return all
}

// absent is whether a resource has no objects.
func (c *comparison) absent(p *place) bool {
	return p.b.Kind == Resource && !c.a.Before.has(p)
}

// left is whether data are in the state with Lethe and not with Terraform.
func (c *comparison) left(p *place) bool {
	return p.b.Kind == Data && c.a.After.has(p) && !c.b.After.has(p)
}

// forWhole is whether something depends on a whole module.
func (c *comparison) forWhole(addr string) bool {
	return c.needs(Difference{At: addr}, func(p *place) bool { return len(p.wholes()) > 0 })
}

// readForWhole is whether a data source depends on a whole module.
func (c *comparison) readForWhole() bool {
	return slices.ContainsFunc(inside(c.st.Config, nil), func(p *place) bool {
		return p.b.Kind == Data && p.needs(func(on *place) bool { return len(on.wholes()) > 0 })
	})
}

// forOther is whether Lethe leaves a data source for apply in another instance of its module.
func (c *comparison) forOther(addr string) bool {
	return slices.ContainsFunc(addressesOf(c.a), func(a string) bool { return a != addr && keyless(a) == keyless(addr) && does(c.a, a, "read") })
}

// waits is whether a plan leaves a data source for apply.
func (o *Outcome) waits(addr string) bool {
	return strings.Contains(o.said(), "# "+addr+" will be read during apply")
}

// waitsElsewhere is whether a plan leaves another instance of it for apply.
func (o *Outcome) waitsElsewhere(addr string) bool {
	return slices.ContainsFunc(delayed.FindAllStringSubmatch(o.said(), -1), func(m []string) bool { return m[1] != addr && keyless(m[1]) == keyless(addr) })
}

var delayed = regexp.MustCompile(`(?m)# (\S+) will be read during apply`)

// firstFor is whether a resource that depends on an object, and of which something holds, is created first.
func (c *comparison) firstFor(addr string, holds func(*place) bool) bool {
	return slices.ContainsFunc(inside(c.st.Config, nil), func(p *place) bool {
		l := p.b.nested("lifecycle")
		return p.b.Kind == Resource && l != nil && l.arg("create_before_destroy") != nil && holds(p) &&
			p.needs(func(on *place) bool { return on.addr() == keyless(addr) })
	})
}

// firstForGone is whether the provider of something create-first that went is configured from an object.
func (c *comparison) firstForGone(addr string) bool {
	yes := false
	c.b.Before.managed(func(r *StateResource, i *StateInstance) {
		yes = yes || i.CreateFirst && c.b.After.at(i.addr(r)) == nil && slices.ContainsFunc(inside(c.st.Config, nil), func(p *place) bool {
			return p.b.Kind == Provider && strings.HasSuffix(r.Provider, `combine"]`+strings.TrimPrefix(p.b.addr(), "combine")) &&
				p.needs(func(on *place) bool { return on.addr() == keyless(addr) })
		})
	})
	return yes
}

// marked are the objects that Terraform updates only since something else of them is sensitive.
func (c *comparison) marked() []string {
	var all []string
	for _, ch := range changes(c.b.PlanJSON) {
		if compact(get(ch, "change", "before")) == compact(get(ch, "change", "after")) && unkept(get(ch, "change", "before_sensitive"), get(ch, "change", "after_sensitive")) {
			all = append(all, fmt.Sprint(get(ch, "address")))
		}
	}
	return all
}

// heldBack is whether something depends on a whole module, in which something failed.
func (c *comparison) heldBack(d Difference) bool {
	return c.b.Apply.Exit == 1 && c.needs(d, func(p *place) bool {
		return slices.ContainsFunc(p.wholes(), func(to *place) bool {
			return slices.ContainsFunc(c.failures(), func(at string) bool { return strings.HasPrefix(keyless(at)+".", to.addr()+".") })
		})
	})
}

// deposed is whether an object stays deposed.
func (o *Outcome) deposed(addr string) bool {
	yes := false
	o.After.managed(func(r *StateResource, i *StateInstance) { yes = yes || i.Deposed != "" && i.addr(r) == addr })
	return yes
}

// leaves is whether Terraform leaves what it replaced deposed, or what it planned to destroy, and does not destroy it.
func (c *comparison) leaves(d Difference) bool {
	yes := false
	c.b.After.managed(func(r *StateResource, i *StateInstance) {
		at := d.What == "state" && d.A == nil && d.At == i.addr(r)+" deposed" ||
			d.What == "calls" && d.B == nil && strings.HasPrefix(d.At, fmt.Sprintf("delete %s %v ", r.Type, i.Attributes["name"]))
		was := strings.Contains(c.b.said(), fmt.Sprintf("(imported from %q)", i.id()))
		c.b.Before.managed(func(_ *StateResource, b *StateInstance) { was = was || b.id() == i.id() })
		yes = yes || at && (i.Deposed != "" || does(c.b, i.addr(r), "delete")) && was
	})
	return yes
}

// movesOn is whether what moves to another type goes on from there by another block.
func (c *comparison) movesOn() bool {
	typ := func(addr string) string { t, _, _ := strings.Cut(addr, "."); return t }
	return c.has(func(_ *Module, b *Block) bool {
		to := b.arg("to").text()
		return b.Kind == Moved && typ(b.arg("from").text()) != typ(to) && c.has(func(_ *Module, n *Block) bool { return n.Kind == Moved && n.arg("from").text() == to })
	})
}

// wholeModules is whether something refers to a module, or to all instances of one, in which an address lies.
func (c *comparison) wholeModules(at string) bool {
	return slices.ContainsFunc(inside(c.st.Config, nil), func(p *place) bool {
		return slices.ContainsFunc(p.wholes(), func(to *place) bool { return at == "" || strings.HasPrefix(keyless(at)+".", to.addr()+".") })
	})
}

// wholes are the modules that one refers to as a whole, or to all instances of.
func (p *place) wholes() []*place {
	var all []*place
	p.b.exprs(func(e *Expr) {
		to := p.m.find(e.Ref)
		if to != nil && to.Kind == Call && (e.Op == "whole" || e.Op == "addr" || e.Op == "ref" && to.repeats() != "") {
			all = append(all, &place{p.m, to, p.up})
		}
	})
	return all
}

// none is whether something is declared that has no instance.
func (c *comparison) none() bool {
	return c.has(func(_ *Module, b *Block) bool {
		return b.repeats() != "" && !slices.ContainsFunc(c.a.After.Resources, func(r *StateResource) bool {
			return strings.HasSuffix("."+r.addr(), "."+b.addr()) || strings.Contains("."+keyless(r.Module)+".", "."+b.addr()+".")
		})
	})
}

// given is whether an argument of a module is made from a resource, however indirectly.
func (c *comparison) given(addr string) bool {
	return slices.ContainsFunc(inside(c.st.Config, nil), func(p *place) bool {
		return p.b.Kind == Call && p.needs(func(from *place) bool { return from.addr() == addr })
	})
}

// through is whether Terraform planned something because a target names the module that it is in, or that it is given to.
func (c *comparison) through(addr string) bool {
	return len(c.st.Do.Target) > 0 && (strings.HasPrefix(addr, "module.") || c.given(keyless(addr))) && !slices.ContainsFunc(c.st.Do.Target, func(t string) bool { return strings.HasPrefix(addr, t) })
}

// attribute is a name in a path of a state.
var attribute = regexp.MustCompile(`"value":"(\w+)"`)

// ofCheck is whether a change is one of a data source that a check declares.
func (c *comparison) ofCheck(change any) bool {
	return get(change, "mode") == "data" && c.has(func(_ *Module, b *Block) bool {
		return b.Kind == Check && slices.ContainsFunc(b.Nested, func(n *Block) bool {
			typ, data := strings.CutPrefix(n.Type, "data ")
			return data && get(change, "type") == typ && get(change, "name") == n.Name
		})
	})
}

// unchanged is whether a plan tells a drift that changes nothing.
func unchanged(o *Outcome, addr string) bool {
	list, _ := o.PlanJSON["resource_drift"].([]any)
	return slices.ContainsFunc(list, func(c any) bool {
		return get(c, "address") == addr && compact(get(c, "change", "before")) == compact(get(c, "change", "after"))
	})
}

// remarked are the objects that Terraform updates only since they moved to a type that has other sensitive attributes.
func (c *comparison) remarked() []string {
	var all []string
	for _, ch := range changes(c.b.PlanJSON) {
		from, _ := get(ch, "previous_address").(string)
		if from != "" && !strings.Contains("."+from, "."+fmt.Sprint(get(ch, "type"))+".") && compact(get(ch, "change", "before")) == compact(get(ch, "change", "after")) {
			all = append(all, fmt.Sprint(get(ch, "address")))
		}
	}
	return all
}

// kept is whether an object that did not change still depends on what it did, beside what it does now.
func (o *Outcome) kept(addr string, now, on []string) bool {
	is, yes := o.After.at(addr), false
	o.Before.managed(func(_ *StateResource, was *StateInstance) {
		yes = yes || is != nil && compact(was.Attributes) == compact(is.Attributes) && contains(slices.Concat(was.Dependencies, now), on)
	})
	return yes
}

// missed is whether an object was looked for, by its id or its name, and was not there.
func (o *Outcome) missed(object string) bool {
	return slices.ContainsFunc(o.Invocations, func(i *Invocation) bool {
		return slices.ContainsFunc(i.Calls, func(k cloud.Call) bool {
			return k.Call == "read" && k.Note == "gone" && (k.ID == object || k.Key == object)
		})
	})
}

// drifted is whether an object changed or was deleted outside.
func (o *Outcome) drifted(addr string) bool {
	list, _ := o.PlanJSON["resource_drift"].([]any)
	return slices.ContainsFunc(list, func(c any) bool { return get(c, "address") == addr })
}

// blocked is an object of which Terraform says that it did not move.
var blocked = regexp.MustCompile(`- (\S+) could not move to `)

// protected is what has prevent_destroy, as Terraform says it.
var protected = regexp.MustCompile(`Resource\s+(\S+)\s+has\s+lifecycle\.prevent_destroy`)

// unprovided is what Terraform cannot work with, for its provider is not configured any more.
var unprovided = regexp.MustCompile(`To work with\s+(\S+)`)

// liesIn is whether an address is another one as a module writes it, or lies in it.
func liesIn(addr, in string) bool {
	return strings.Contains("."+keyless(addr)+".", "."+keyless(in)+".")
}

// recounted is whether a moved block leads to a resource or a module that gets or loses count.
func (c *comparison) recounted() bool {
	return c.has(func(m *Module, b *Block) bool {
		name, _, _ := strings.Cut(b.arg("to").text(), "[")
		to := slices.IndexFunc(m.Blocks, func(t *Block) bool { return b.Kind == Moved && t.addr() == name })
		if to < 0 || m.Blocks[to].repeats() == "for_each" {
			return false
		}
		was := name + "[0]."
		if m.Blocks[to].repeats() == "count" {
			was = name + "."
		}
		yes := b.arg("to").Text+"." == was
		c.a.Before.managed(func(r *StateResource, i *StateInstance) { yes = yes || strings.Contains("."+i.addr(r)+".", "."+was) })
		return yes
	})
}

// unneeded is whether Terraform planned an instance that no target names, of what Lethe planned another instance of.
func (c *comparison) unneeded(at string) bool {
	at = at[strings.LastIndex(at, " ")+1:]
	return len(c.st.Do.Target) > 0 && keyless(at) != at && slices.Contains(addressesOf(c.b), at) &&
		slices.ContainsFunc(addressesOf(c.a), func(a string) bool { return keyless(a) == keyless(at) && a != at }) &&
		!slices.ContainsFunc(c.st.Do.Target, func(t string) bool { return strings.HasPrefix(at+".", t+".") || strings.HasPrefix(at, t+"[") })
}

var keys = regexp.MustCompile(`\[[^\]]*\]`)

// keyless is an address without the keys of instances.
func keyless(addr string) string { return keys.ReplaceAllString(addr, "") }

// headed is what a plan's text names.
var headed = regexp.MustCompile(`(?m)^\s+# (\S+) (?:\(deposed object \w+\) )?(?:will|must) be `)

// addressesOf are those of all objects that a plan is about, and of the data in the state.
func addressesOf(o *Outcome) []string {
	var all []string
	for _, r := range o.After.Resources {
		for _, i := range r.Instances {
			if r.Mode == "data" {
				all = append(all, i.addr(r))
			}
		}
	}
	list, _ := o.PlanJSON["resource_changes"].([]any)
	for _, c := range list {
		all = append(all, fmt.Sprint(get(c, "address")))
	}
	if o.PlanJSON == nil { // applied directly
		for _, m := range headed.FindAllStringSubmatch(o.said(), -1) {
			all = append(all, m[1])
		}
	}
	return all
}

// ignores is whether changes of a resource are ignored.
func (c *comparison) ignores(addr string) bool {
	return c.has(func(_ *Module, b *Block) bool {
		l := b.nested("lifecycle")
		return b.Kind == Resource && strings.HasSuffix("."+keyless(addr), "."+b.addr()) && l != nil && l.arg("ignore_changes") != nil
	})
}

// unknowns counts what a plan does not know of an object or an output.
func unknowns(o *Outcome, at string) int {
	n := strings.Count(compact(get(o.PlanJSON, "output_changes", at, "after_unknown")), "true")
	list, _ := o.PlanJSON["resource_changes"].([]any)
	for _, c := range list {
		if get(c, "address") == at {
			n += strings.Count(compact(get(c, "change", "after_unknown")), "true")
		}
	}
	return n
}

// said is all that was written.
func (o *Outcome) said() string {
	var b strings.Builder
	for _, i := range o.Invocations {
		b.WriteString(i.Out)
	}
	return b.String()
}

// imports is whether a plan imports an object and does nothing else with it.
func imports(o *Outcome, addr string) bool {
	all, _ := o.PlanJSON["resource_changes"].([]any)
	return o.PlanJSON == nil && strings.Contains(o.said(), addr+": Import complete") || slices.ContainsFunc(all, func(c any) bool {
		change, _ := get(c, "change").(object)
		return get(c, "address") == addr && get(change, "importing") != nil && slices.Equal(actions(change), []string{"no-op"})
	})
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

// unkept is whether two sets of marks of a resource differ in write-only attributes only.
func unkept(a, b any) bool { return compact(kept(a)) == compact(kept(b)) }

// kept are marks without those of write-only attributes; nil if that is none.
func kept(marks any) any {
	switch m := marks.(type) {
	case object:
		out := object{}
		for k, v := range m {
			if v = kept(v); v != nil && !box.WriteOnly(k) {
				out[k] = v
			}
		}
		if len(out) > 0 {
			return out
		}
	case []any:
		out := make([]any, len(m))
		for i, v := range m {
			out[i] = kept(v)
		}
		if slices.ContainsFunc(out, func(v any) bool { return v != nil }) {
			return out
		}
	case bool:
		if m {
			return m
		}
	}
	return nil
}

// does is whether a plan does just one thing with an object.
func does(o *Outcome, addr, action string) bool {
	return slices.ContainsFunc(changes(o.PlanJSON), func(c any) bool {
		change, _ := get(c, "change").(object)
		return get(c, "address") == addr && slices.Equal(actions(change), []string{action})
	})
}

// explained leaves out of the differences those that are on purpose. It tells, too, whether the two
// may still be held against each other afterwards: not when they ended otherwise, or in other states.
// A difference between states that was explained is not looked at again while it lasts, nor is one of results
// where neither looked at conditions again: known has such.
func explained(all []Difference, st *Step, a, b *Outcome, known map[string]bool) (left []Difference, apart bool) {
	c := &comparison{st: st, a: a, b: b}
	for _, d := range all {
		unchecked := d.What == "checks" && compact(a.Before.Checks) == compact(a.After.Checks) && compact(b.Before.Checks) == compact(b.After.Checks)
		lasts := (d.What == "state" || unchecked) && known[compact(d)]
		if !lasts && !slices.ContainsFunc(classes, func(k class) bool { return k.is(c, d) }) {
			left = append(left, d)
			continue
		}
		known[compact(d)] = true
		if d.Section == "exits" || d.Section == "attributes" || d.Section == "outputs" || d.What == "calls" {
			apart = true
		}
	}
	return left, apart
}

package combine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/test/combine/box"
)

// A class is an intended difference from Terraform: a row of docs/differences.md, or a fault of Terraform that Lethe
// does not have. The field is has a function that reports whether a difference belongs to the class. This function
// reads only the step and the outcomes, never the identity of the scenario.
type class struct {
	reason string
	is     func(c *comparison, d Difference) bool
}

// A comparison holds the data that a rule may read: a step and its outcomes.
type comparison struct {
	st   *Step
	a, b *Outcome // a has the results of Lethe, b of Terraform
}

// classes are the rules. The reason of each is the beginning of its row, and several rules may have one reason.
// Differences of exit codes are explained last in a step, so that a rule for exit codes affects no other difference.
var classes = []class{
	{"use `count` or `for_each` that depends on an object of the same run", func(c *comparison, d Difference) bool { // after an error, the objects of the first round stay
		return strings.Contains(c.a.said(), "in a later round") && c.a.Apply != nil && c.a.Apply.Exit == 1 && c.b.only("", "Invalid count argument", "Invalid for_each argument")
	}},
	{"name a resource without instances in `replace_triggered_by`", func(c *comparison, d Difference) bool {
		const title = "no change found for"
		return c.refused(d, title) || d.B == nil && c.b.only("", title)
	}},
	{"create an object whose `replace_triggered_by` names a changed object", func(c *comparison, d Difference) bool {
		return d.Section == "resource_changes reason" && d.A == nil && d.B == "replace_by_triggers" && does(c.a, d.At, "create")
	}},
	{"everyday changes that end in `Error: Cycle`", func(c *comparison, d Difference) bool {
		return c.refused(d, "Cycle") || c.refused(d, "Self reference: ")
	}},
	{"look at the drift of objects whose provider the configuration does not name", func(c *comparison, d Difference) bool {
		return strings.HasPrefix(d.Section, "resource_drift") && d.B == nil && strings.Contains(c.b.said(), "No resource schema found")
	}},
	{"`destroy` with a `moved` block whose object is still declared at its old address", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && c.refused(d, "Moved object still exists")
	}},
	{"use outputs or data sources that refer to an instance that is not in the state", func(c *comparison, d Difference) bool {
		theirs, _ := d.B.([]any)
		keeps := compact(c.a.Before.Outputs[d.At]) == compact(c.a.After.Outputs[d.At]) && (c.needs(d, c.left) || c.needs(d, c.absent))
		return c.st.Do.Refresh == "only" && (c.refused(d, "Invalid index") || strings.HasPrefix(d.Section, "output_changes") ||
			d.Section == "outputs" && (keeps || len(theirs) > 0 && theirs[0] == nil) ||
			d.What == "state" && strings.Contains("."+d.At, ".data.") && (d.B == nil || c.a.unmoved(d.At) && c.needs(d, (*place).repeated)) ||
			d.ofChecks() && (strings.Contains(compact(d.A), `"unknown"`) || d.B == nil) && c.needs(d, (*place).repeated))
	}},
	{"add or remove `count` together with a `moved` block", func(c *comparison, d Difference) bool {
		return (d.Section != "exits" || c.refuses(d, "Moved resource instances excluded by targeting")) && c.recounted()
	}},
	{"move a resource or module to an address with objects", func(c *comparison, d Difference) bool {
		return d.Section != "exits" && slices.ContainsFunc(blocked.FindAllStringSubmatch(c.b.said(), -1), func(m []string) bool {
			return !strings.Contains(c.a.said(), "adjust the address of "+m[1]+" to ")
		})
	}},
	{"move a resource or module to an address with objects", func(c *comparison, d Difference) bool {
		// An object that did not move has no provider if the edit renamed it.
		left := unprovided.FindAllStringSubmatch(c.b.said(), -1)
		return c.refused(d, "Provider configuration not present") && len(left) > 0 && !slices.ContainsFunc(left, func(m []string) bool {
			return !c.has(func(_ *Module, b *Block) bool {
				return b.Kind == Moved && liesIn(m[1], b.arg("from").text()) && slices.ContainsFunc(c.a.Before.Resources, func(r *StateResource) bool { return liesIn(r.addr(), b.arg("to").text()) })
			})
		})
	}},
	{"leave out everything that uses a variable with a failing condition", func(c *comparison, d Difference) bool {
		return len(c.st.Do.Target) > 0 && c.refused(d, "Invalid value for variable", "Value not allowed in ephemeral output")
	}},
	{"leave out a module that exports a lease", func(c *comparison, d Difference) bool {
		return len(c.st.Do.Target) > 0 && c.refused(d, "Ephemeral resource instance has expired")
	}},
	{"target one instance of a module that repeats modules over its resources", func(c *comparison, d Difference) bool {
		return len(c.st.Do.Target) > 0 && c.refused(d, "Invalid index") && slices.ContainsFunc(inside(c.st.Config, nil), func(p *place) bool {
			return p.b.Kind == Call && p.up != nil && strings.Contains(c.b.said(), fmt.Sprintf("in module %q:", p.b.Name)) && p.needs(func(on *place) bool { return on.b.Kind == Resource }) &&
				slices.ContainsFunc(c.st.Do.Target, func(t string) bool { return keyless(t) != t && strings.HasPrefix(p.addr()+".", keyless(t)+".") })
		})
	}},
	{"target one instance of a module or resource that another resource needs", func(c *comparison, d Difference) bool {
		waits := func(d Difference) bool {
			return c.about(d, c.delayed(func(string) bool { return slices.ContainsFunc(addressesOf(c.b), c.unneeded) }))
		}
		more := func(d Difference) bool {
			return c.about(d, slices.DeleteFunc(addressesOf(c.b), func(at string) bool { return !c.unneeded(at) }))
		}
		return d.ofChecks() && (d.A == nil || strings.Contains(compact(d.A), "unknown")) && more(d) || (d.A == nil || d.What == "state" && (d.B == nil || c.a.unmoved(d.At)) || d.Section == "create first") && (c.unneeded(d.At) || d.What == "calls" && c.unneeded(c.subject(d))) || d.What == "plan" && d.Section != "exits" && waits(d) || strings.HasSuffix(d.Section, "result") && d.B == "unknown" && slices.ContainsFunc(addressesOf(c.b), func(a string) bool {
			return keyless(a) == d.At && c.unneeded(a)
		}) || c.idle(d, func(ch any) bool {
			at := fmt.Sprint(get(ch, "address"))
			return c.unneeded(at) || waits(Difference{At: at})
		}) || c.onlyOutputs(d, more)
	}},
	{"use `ignore_changes` for a part of a value that is no longer sensitive", func(c *comparison, d Difference) bool {
		return strings.HasSuffix(d.Section, "sensitive") && c.ignores(d.At) && len(compact(d.A)) > len(compact(d.B)) && c.replaced(d.At)
	}},
	{"destroy a target with outputs whose blocks were edited", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && len(c.st.Do.Target) > 0 && d.What == "state" && d.Section == "outputs" &&
			compact(c.a.Before.Outputs[d.At]) == compact(c.a.After.Outputs[d.At])
	}},
	{"`destroy` in an empty state with a wrong variable", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && len(c.a.Before.Resources) == 0 && (c.refuses(d, "Invalid value for variable") || c.refuses(d, "Invalid for_each ") || c.refuses(d, "Moved object still exists") || c.refuses(d, "Ambiguous move statements"))
	}},
	{"move to another type, and destroy the object in the same plan", func(c *comparison, d Difference) bool {
		return d.What == "calls" && d.Section == "move" && d.B == nil && (strings.Contains(c.a.said(), "which is not in configuration") || strings.Contains(c.a.said(), "will no longer be managed") || c.movesOn())
	}},
	{"look at dependencies in the state", func(c *comparison, d Difference) bool {
		ours, _ := d.A.(string)
		theirs, _ := d.B.(string)
		return d.Section == "dependencies" && contains(strings.Fields(theirs), strings.Fields(ours)) && c.none() || c.further(d)
	}},
	{"move to another type without other changes", func(c *comparison, d Difference) bool {
		return strings.HasPrefix(d.Section, "resource_drift") && (d.A == nil || compact(d.A) == `["no-op"]`) && unchanged(c.b, d.At) || d.Section != "exits" && c.about(d, c.remarked())
	}},
	{"refer to a provider whose settings are not known yet", func(_ *comparison, d Difference) bool {
		return d.Section == "resource_changes reason" && d.A == "read_because_config_unknown" && d.B == "read_because_dependency_pending"
	}},
	{"refer to a provider whose settings are not known yet", func(c *comparison, d Difference) bool {
		return c.b.halfConfigured() && (d.What == "plan" && unknowns(c.a, d.At) > unknowns(c.b, d.At) || strings.Contains(compact(d.A), `"unknown"`) && c.needs(d, (*place).configured) ||
			d.What == "state" && d.A == nil && c.a.Apply.Exit == 1 || strings.HasPrefix(d.Section, "resource_changes ") && c.needs(d, (*place).configured) || d.What != "plan" && (c.about(d, c.halfLooked()) || slices.ContainsFunc(c.halfLooked(), func(at string) bool { return c.dependsOn(at, c.subject(d)) })) ||
			c.idle(d, func(ch any) bool { return c.about(Difference{At: fmt.Sprint(get(ch, "address"))}, c.halfLooked()) }))
	}},
	{"refer to a provider whose settings are not known yet", func(c *comparison, d Difference) bool {
		return c.b.halfConfigured() && (c.refused(d, "On demand", "condition failed") || c.refuses(d, " argument") || c.refuses(d, "On demand") && !slices.ContainsFunc(c.failures(), func(at string) bool {
			return !strings.Contains("."+at, ".data.") || !c.needs(Difference{At: at}, (*place).configured)
		}))
	}},
	{"use unknown or ephemeral `count` or `for_each` in an ephemeral block", func(c *comparison, d Difference) bool {
		return c.refused(d, " argument") && strings.Contains(c.b.said(), "in ephemeral \"")
	}},
	{"keep an import block for a resource that is not declared", func(c *comparison, d Difference) bool {
		return c.st.Do.Refresh == "only" && c.refused(d, "Configuration for import target does not exist", "Invalid import 'to' expression")
	}},
	{"leave out a block with a mistake that is visible without a plan", func(c *comparison, d Difference) bool {
		return len(c.st.Do.Target) > 0 && (c.refuses(d, "Moved object still exists") || c.refuses(d, "Invalid for_each argument") && strings.Contains(c.a.said(), "unsuitable"))
	}},
	{"import with the `import` command while an unrelated part has a mistake", func(c *comparison, d Difference) bool {
		return d.What == "import" && slices.ContainsFunc([]string{"Unsupported attribute", "Ambiguous move statements", "Cyclic dependency in move statements", "Moved object still exists", "Invalid import 'to' expression"}, func(title string) bool { return c.refuses(d, title) })
	}},
	{"import with the `import` command while unrelated parts cannot be evaluated", func(c *comparison, d Difference) bool {
		return d.What == "import" && c.refused(d, "Invalid count argument", "Invalid for_each argument", "Invalid index", "Invalid provider configuration", "Invalid value for variable", "Module output value precondition failed", "On demand", "Provider configuration not present", "Unsupported attribute", "Value not allowed in ephemeral output")
	}},
	{"look at outputs, data and dependencies after the `import` command", func(c *comparison, d Difference) bool {
		as := compact(c.a.Before.Outputs[d.At])
		imported := slices.ContainsFunc(c.st.Drifts, func(d Drift) bool { return d.Do == "import" })
		return imported && (d.Section == "outputs" && as == compact(c.a.After.Outputs[d.At]) || d.What == "state" && d.A == nil && strings.Contains("."+d.At, ".data.") || d.What == "checks" && d.B == nil) ||
			strings.HasPrefix(d.Section, "output_changes") && as != compact(c.b.Before.Outputs[d.At]) ||
			// Only commands that plan change data in the state.
			strings.Contains("."+d.At, ".data.") && (d.What == "state" && (d.A == nil || c.a.unmoved(d.At)) && c.b.unmoved(d.At) ||
				d.Section == "resource_changes previous" && d.B == nil && !c.a.Before.knows(d.At) && c.b.Before.knows(d.At))
	}},
	{"`-target=B`, and B depends on A, which is replaced create-first", func(c *comparison, d Difference) bool {
		return len(c.st.Do.Target) > 0 && c.leaves(d)
	}},
	{"target an object that is replaced while a create-first object", func(c *comparison, d Difference) bool {
		return len(c.st.Do.Target) > 0 && d.Section == "resource_changes actions" && compact(d.A) == `["create","delete"]` && compact(d.B) == `["delete","create"]` &&
			c.firstFor(d.At, func(p *place) bool {
				return !slices.ContainsFunc(addressesOf(c.b), func(a string) bool { return keyless(a) == p.addr() })
			})
	}},
	{"use a sensitive value as an import id", func(c *comparison, d Difference) bool {
		return c.refuses(d, "Invalid import id argument")
	}},
	{"change the provider block of a resource to one that does not find the object", func(c *comparison, d Difference) bool {
		return d.Section != "exits" && c.rehomed(c.subject(d)) || d.Section == "exits" && d.A == 2 && d.B == 0 && c.lethe(c.rehomed)
	}},
	{"change the provider of a resource", func(c *comparison, d Difference) bool {
		return c.st.Do.Refresh == "only" && d.What == "state" && d.Section == "provider" && d.A != nil && d.B != nil
	}},
	{"keep objects with a partial destroy", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && len(c.st.Do.Target) > 0 && d.What == "state" && d.A != nil && (d.B != nil || c.b.missed(c.a.After.at(d.At).id())) && !slices.Contains(addressesOf(c.a), d.At)
	}},
	{"refresh with only moves", func(c *comparison, d Difference) bool {
		list, _ := c.b.PlanJSON["resource_drift"].([]any)
		return c.st.Do.Refresh == "only" && d.Section == "exits" && d.A == 0 && d.B == 2 && verbs(c.a.PlanJSON) == "" && !slices.ContainsFunc(list, func(ch any) bool {
			return compact(get(ch, "change", "before")) != compact(get(ch, "change", "after"))
		})
	}},
	{"destroy a target, while a dependent was deleted outside", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && len(c.st.Do.Target) > 0 && d.A == nil && slices.ContainsFunc(c.st.Drifts, func(d Drift) bool { return d.Do == "delete" }) &&
			(d.What == "calls" && d.Section == "delete" || strings.HasPrefix(d.Section, "resource_changes") && c.a.drifted(d.At) && does(c.b, d.At, "delete"))
	}},
	{"`destroy -target=A`, and other objects were made from A", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && (d.Section == "exits" && d.A == 2 && d.B == 0 && c.lethe(c.fromData) || d.Section != "exits" && c.fromData(c.subject(d)))
	}},
	{"`destroy -target=A`, and A was deleted outside", func(c *comparison, d Difference) bool {
		return d.Section == "exits" && d.A == 2 && d.B == 0 && c.lethe(c.bereft) ||
			d.Section != "exits" && (d.B == nil || d.What == "state" && d.A == nil) && c.bereft(c.subject(d))
	}},
	{"refresh objects whose provider configuration lost its source", func(c *comparison, d Difference) bool {
		return c.st.Do.Refresh == "only" && d.Section != "exits" && c.elsewhere(c.subject(d))
	}},
	{"destroy an object whose provider gets its settings from objects", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && d.Section == "exits" && d.A == 2 && d.B == 0 && c.lethe(c.elsewhere) || d.Section != "exits" && (c.st.Do.Destroy && c.elsewhere(c.subject(d)) || c.asNow(c.subject(d))) || d.What == "calls" && c.throughOther(d.At) ||
			// If the source of a provider must be updated and that fails, the objects that were destroyed before it no
			// longer exist.
			c.b.Apply != nil && c.b.Apply.Exit == 1 && (d.What == "state" && d.A == nil || d.What == "calls" && d.B == nil && strings.HasPrefix(d.At, "delete ")) && c.needs(d, func(p *place) bool {
				return p.b.Kind == Provider && p.needs(func(on *place) bool {
					return slices.ContainsFunc(c.failures(), func(at string) bool { return keyless(at) == on.addr() })
				})
			})
	}},
	{"destroy with only data sources in the state", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && d.Section == "exits" && d.A == 0 && d.B == 2 && len(changes(c.b.PlanJSON)) == 0
	}},
	{"refresh without changes", func(c *comparison, d Difference) bool {
		return c.st.Do.Refresh == "only" && c.refused(d, "Cannot apply non-applyable plan")
	}},
	{"refresh without changes", func(c *comparison, d Difference) bool {
		return c.st.Do.Refresh == "only" && c.b.Plan != nil && strings.Contains(c.b.Plan.Out, "No changes.") &&
			(d.What == "plan" && d.Section == "exits" && d.A == 0 && d.B == 2 || d.Section == "flag applyable")
	}},
	{"refresh a deposed object that changed outside", func(c *comparison, d Difference) bool {
		return c.st.Do.Refresh == "only" && strings.HasPrefix(d.Section, "resource_drift") && strings.HasSuffix(d.At, " deposed") && d.B == nil
	}},
	{"`state mv` an object with dependents or check results", func(c *comparison, d Difference) bool {
		at := []string{c.subject(d)}
		if words := strings.Fields(d.At); d.What == "calls" && len(words) > 2 {
			at = named(c.a, words[2])
		}
		lost := false // Terraform recorded fewer dependencies of the object, or fewer objects that depend on the object
		c.a.Before.managed(func(r *StateResource, i *StateInstance) {
			if other := c.b.Before.at(i.addr(r)); other != nil && len(other.Dependencies) < len(i.Dependencies) {
				lost = lost || slices.ContainsFunc(at, func(a string) bool { return a == i.addr(r) || slices.Contains(i.Dependencies, keyless(a)) })
			}
		})
		return lost && (d.Section == "dependencies" || d.Section == "create first" || d.What == "calls" && d.Section == "delete")
	}},
	{"`state mv` an object with dependents or check results", func(c *comparison, d Difference) bool {
		return d.What == "checks" && c.a.unchecked() && c.b.unchecked() && slices.ContainsFunc(c.a.Operations, func(i *Invocation) bool {
			return len(i.Args) > 3 && i.Args[1] == "mv" && slices.ContainsFunc(i.Args[2:], func(at string) bool { return keyless(at) == d.At })
		})
	}},
	{"list a deposed object that no longer exists", func(c *comparison, d Difference) bool {
		return strings.HasPrefix(d.Section, "resource_changes") && d.A == nil && strings.HasSuffix(d.At, " deposed") && !slices.ContainsFunc(changes(c.b.PlanJSON), func(ch any) bool {
			return get(ch, "deposed") != nil && get(ch, "address") == strings.TrimSuffix(d.At, " deposed")
		})
	}},
	{"refresh with only removed outputs", func(c *comparison, d Difference) bool {
		return c.st.Do.Refresh == "only" && verbs(c.a.PlanJSON) == "output delete" && (d.What == "plan" && d.Section == "exits" && d.A == 2 && d.B == 0 || d.Section == "flag applyable")
	}},
	{"target after a `moved` block", func(c *comparison, d Difference) bool {
		return c.refused(d, "Moved resource instances excluded by targeting")
	}},
	{"evaluate conditions after the provisioners or the provider", func(c *comparison, d Difference) bool {
		return d.What == "checks" && d.A == "unknown" && c.a.Apply != nil && c.a.Apply.Exit == 1 && c.a.unmoved(d.At) &&
			slices.ContainsFunc(c.failures(), func(at string) bool { return c.dependsOn(at, d.At) })
	}},
	{"evaluate conditions of data sources that were read while planning", func(_ *comparison, d Difference) bool {
		return d.What == "checks" && d.B == "unknown" && d.A != nil && strings.Contains("."+d.At, ".data.")
	}},
	{"destroy objects that changed outside", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && strings.HasPrefix(d.Section, "resource_drift") && d.B == nil
	}},
	{"destroy objects that changed outside", func(c *comparison, d Difference) bool {
		return d.Section == "resource_changes before" && (len(c.st.Drifts) > 0 || c.a.drifted(d.At)) && does(c.a, d.At, "delete")
	}},
	{"change only marks of write-only attributes", func(c *comparison, d Difference) bool {
		updated := c.marked()
		waiting := c.delayed(func(addr string) bool { return c.about(Difference{At: addr}, updated) })
		return strings.HasSuffix(d.Section, " sensitive") && unkept(d.A, d.B) ||
			(strings.HasPrefix(d.Section, "resource_changes") || d.What == "calls" && d.Section == "update" && d.A == nil) && slices.Contains(updated, c.subject(d)) ||
			c.refused(d, "Instance cannot be destroyed") && !slices.ContainsFunc(protected.FindAllStringSubmatch(c.b.said(), -1), func(m []string) bool {
				return does(c.a, m[1], "delete") || !c.needs(Difference{At: m[1]}, (*place).hides)
			}) || d.B == "replace_by_triggers" && c.about(d, updated) || d.Section != "exits" && (d.What == "plan" && c.about(d, waiting) || c.about(d, c.triggered(updated))) ||
			c.idle(d, func(ch any) bool {
				return slices.Contains(slices.Concat(updated, waiting), fmt.Sprint(get(ch, "address")))
			})
	}},
	{"change only marks of write-only attributes", func(_ *comparison, d Difference) bool {
		ours, _ := d.A.([]any)
		theirs, _ := d.B.([]any)
		return d.What == "state" && d.Section == "sensitive" && len(theirs) > len(ours) && !slices.ContainsFunc(theirs, func(path any) bool {
			return !slices.Contains(ours, path) && !slices.ContainsFunc(attribute.FindAllStringSubmatch(fmt.Sprint(path), -1), func(name []string) bool {
				return box.WriteOnly(name[1])
			})
		})
	}},
	{"use keys that depend on objects that do not exist yet", func(c *comparison, d Difference) bool {
		// An expression that reads missing instances is an error next to the first error. With -refresh-only it is only
		// a warning in other cases.
		return c.st.Do.Refresh == "only" && !c.b.only("", "Invalid index", "condition failed") &&
			c.b.only("", "Invalid count argument", "Invalid for_each argument", "Invalid index", "condition failed") &&
			(d.Section == "exits" && d.A != 1 && d.B == 1 || d.What == "plan" && strings.HasPrefix(d.Section, "checks"))
	}},
	{"use a precondition of a create-first replacement that fails", func(c *comparison, d Difference) bool {
		at := strings.TrimSuffix(d.At, " deposed")
		return d.What == "state" && strings.Contains(c.a.said(), "Resource precondition failed") && slices.Contains(c.failures(), at) && c.b.deposed(at)
	}},
	{"a create-first replacement of A succeeds", func(c *comparison, d Difference) bool {
		at := strings.TrimSuffix(c.subject(d), " deposed")
		gone := d.What == "state" && d.B == nil || d.What == "calls" && d.A == nil && strings.HasPrefix(d.At, "delete ")
		return gone && c.a.deposed(at) && slices.ContainsFunc(c.failures(), func(failed string) bool {
			return c.needs(Difference{At: failed}, func(p *place) bool { return p.addr() == keyless(at) })
		})
	}},
	{"import an object that the same plan destroys at its old address", func(c *comparison, d Difference) bool {
		return c.refuses(d, "Imported object would be destroyed")
	}},
	{"a create-first replacement of A succeeds", func(c *comparison, d Difference) bool {
		at := strings.TrimSuffix(c.subject(d), " deposed")
		gone := d.What == "state" && d.A == nil || d.What == "calls" && d.B == nil && strings.HasPrefix(d.At, "delete ")
		return gone && c.b.deposed(at) && slices.ContainsFunc(c.failures(), func(failed string) bool {
			return c.a.Before.at(failed) == nil && c.needs(Difference{At: failed}, func(p *place) bool { return p.addr() == keyless(at) })
		})
	}},
	{"plan with data sources of checks only", func(c *comparison, d Difference) bool {
		return c.idle(d, func(ch any) bool { return c.ofCheck(ch) })
	}},
	{"`destroy` while an expression or a data source", func(c *comparison, d Difference) bool {
		titles := []string{"Invalid index", "Attempt to get attribute from null value", "condition failed", "Configuration for import target does not exist", "Invalid count argument", "Invalid for_each argument", "Invalid import 'to' expression", "On demand", "Value not allowed in ephemeral output", "Resource has no configuration"}
		// A destroy that forgets an object fails, too.
		forgets := c.a.only("", "Objects were forgotten, not destroyed") && c.b.only("", titles...)
		// The plan leaves out the protected object and does not destroy it.
		spares := c.refused(d, "Instance cannot be destroyed") && !slices.ContainsFunc(protected.FindAllStringSubmatch(c.b.said(), -1), func(m []string) bool { return does(c.a, m[1], "delete") })
		// Only Terraform has read the data that are still in the state.
		left := d.What == "state" && d.A != nil && d.B != nil && strings.Contains("."+d.At, ".data.") && c.a.unmoved(d.At)
		// The provider of a destroyed object needs the data.
		worked := strings.HasPrefix(d.Section, "checks") && d.A == nil && strings.Contains(compact(d.B), `"unknown"`)
		return c.st.Do.Destroy && (c.refused(d, titles...) || forgets || spares || left || worked) || c.st.Do.Destroy && c.refused(d, "Invalid value for variable", "Value not allowed in ephemeral output") && slices.ContainsFunc(inside(c.st.Config, nil), func(p *place) bool {
			return p.b.Kind == Variable && p.up != nil && p.up.needs(func(on *place) bool { return on.b.Kind == Resource || on.b.Kind == Data })
		})
	}},
	{"destroy a target, while a dependent was deleted outside", func(c *comparison, d Difference) bool {
		at := c.subject(d)
		return c.st.Do.Destroy && len(c.st.Do.Target) > 0 && d.Section != "exits" && c.a.missed(c.a.Before.at(at).id()) && !c.b.missed(c.b.Before.at(at).id())
	}},
	{"store what is sensitive in an object whose change failed", func(c *comparison, d Difference) bool {
		return d.What == "state" && d.Section == "sensitive" && slices.Contains(c.failures(), d.At)
	}},
	{"fail to destroy an object", func(c *comparison, d Difference) bool {
		return (c.st.Do.Destroy || c.replaced(d.At)) && (d.Section == "sensitive" || d.Section == "create first") && slices.Contains(c.failures(), d.At)
	}},
	{"read `output_changes` of a destroy plan", func(c *comparison, d Difference) bool {
		ours, _ := d.A.([]any)
		theirs, _ := d.B.([]any)
		made := strings.HasPrefix(d.Section, "output_changes") && d.A == nil && c.a.Before.Outputs[d.At] == nil
		return c.st.Do.Destroy && (made || d.Section == "output_changes before" || d.Section == "output_changes after" && compact(ours[:min(2, len(ours))]) == compact(theirs[:min(2, len(theirs))]))
	}},
	{"keep objects with a partial destroy", func(c *comparison, d Difference) bool {
		return c.st.Do.Destroy && len(c.st.Do.Target) > 0 && d.What == "state" && strings.Contains("."+d.At, ".data.")
	}},
	{"destroy A, and the destruction of B fails", func(c *comparison, d Difference) bool {
		needed := false
		c.a.After.managed(func(_ *StateResource, i *StateInstance) {
			needed = needed || slices.Contains(i.Dependencies, keyless(c.subject(d)))
		})
		gone := d.What == "state" && d.A == nil || d.What == "calls" && d.Section == "delete" && d.B == nil
		return gone && c.st.Do.Destroy && c.a.Apply.Exit == 1 && c.b.Apply.Exit == 1 && !needed
	}},
	{"forget an object whose dependent could not be changed", func(c *comparison, d Difference) bool {
		return d.What == "state" && d.B == nil && c.a.Apply.Exit == 1 && strings.Contains(c.b.said(), "# "+d.At+" will no longer be managed")
	}},
	{"forget an object that changed or was deleted outside", func(c *comparison, d Difference) bool {
		return strings.HasPrefix(d.Section, "resource_") && c.a.drifted(d.At) && does(c.b, d.At, "forget") ||
			c.idle(d, func(ch any) bool {
				at := fmt.Sprint(get(ch, "address"))
				return does(c.b, at, "forget") && c.a.missed(c.a.Before.at(at).id())
			}) ||
			c.st.Do.Destroy && d.Section == "delete" && d.A == nil && c.a.missed(strings.Fields(d.At)[2]) && c.has(func(_ *Module, b *Block) bool { return b.Kind == Removed })
	}},
	{"`removed` with `destroy = false`, and then `destroy`", func(c *comparison, d Difference) bool {
		at := c.subject(d)
		return c.st.Do.Destroy && (c.refuses(d, "Objects were forgotten, not destroyed") || d.Section != "exits" && does(c.a, at, "forget") && does(c.b, at, "delete"))
	}},
	{"use `-refresh=false` with data sources", func(c *comparison, d Difference) bool {
		var stored []string
		for _, m := range usesStored.FindAllStringSubmatch(c.a.said(), -1) {
			stored = append(stored, m[1])
		}
		return c.st.Do.Refresh == "false" && (d.Section != "exits" && c.about(d, stored) || c.refused(d, "On demand") && len(stored) > 0)
	}},
	{"use an expression that fails in a check", func(c *comparison, d Difference) bool {
		return slices.ContainsFunc(c.b.Invocations, func(i *Invocation) bool {
			return slices.ContainsFunc(i.Errors, func(e string) bool { return strings.Contains(c.a.said(), "Warning: "+e) && c.refused(d, e) })
		})
	}},
	{"give a plain value to an ephemeral output", func(c *comparison, d Difference) bool {
		const title = "Value not allowed in ephemeral output"
		return c.refused(d, title) || c.b.Plan == nil && c.b.Apply.Exit == 1 && c.b.only("", title)
	}},
	{"name a whole module", func(c *comparison, d Difference) bool {
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
			}) || c.refused(d, "Invalid count argument", "Invalid for_each argument") && (c.readForWhole() || len(c.st.Do.Target) > 0)) ||
			len(c.st.Do.Target) > 0 && d.ofChecks() && (d.A == nil || d.A == "unknown") && (c.wholeModules(c.subject(d)) || c.forWhole(d.At)) ||
			c.refuses(d, "condition failed") && len(c.failures()) > 0 && !slices.ContainsFunc(c.failures(), func(at string) bool { return !c.about(Difference{At: at}, c.delayed(c.forWhole)) })
	}},
	{"use outputs that need more than the target", func(c *comparison, d Difference) bool {
		partly := func(d Difference) bool {
			return c.needs(d, func(p *place) bool {
				return p.repeated() && c.oneOf(p) || slices.ContainsFunc(c.st.Do.Target, func(t string) bool { return keyless(t) != t && strings.HasPrefix(keyless(t)+".", p.addr()+".") })
			})
		}
		if c.onlyOutputs(d, partly) {
			return true
		}
		if c.refused(d, "Invalid index", "Module output value precondition failed") {
			return slices.ContainsFunc(inside(c.st.Config, nil), func(p *place) bool {
				return p.b.Kind == Output && strings.Contains(c.b.said(), fmt.Sprintf("in output %q:", p.b.Name)) && partly(Difference{At: p.addr()})
			})
		}
		if d.ofChecks() {
			return (d.A == nil || d.A == "unknown") && partly(d)
		}
		keeps := d.What == "plan" && d.A == nil || d.What == "state" && compact(c.a.Before.Outputs[d.At]) == compact(c.a.After.Outputs[d.At])
		return keeps && strings.HasPrefix(d.Section, "output") && partly(d)
	}},
	{"use a precondition that is unknown while planning", func(c *comparison, d Difference) bool {
		waits := d.Section == "checks" && (d.A == nil || strings.Contains(compact(d.A), `"unknown"`)) || d.What == "state" && c.st.Do.Refresh == "only"
		return waits && c.needs(d, func(p *place) bool {
			l := p.b.nested("lifecycle")
			return p.b.Kind == Data && l != nil && l.nested("precondition") != nil
		})
	}},
	{"name a data source that waits for apply in `depends_on`", func(c *comparison, d Difference) bool {
		waits := d.What == "plan" && (d.B == nil && does(c.a, d.At, "read") || unknowns(c.a, d.At) > unknowns(c.b, d.At)) ||
			d.ofChecks() && strings.Contains(compact(d.A), `"unknown"`) || d.What == "state" && d.A == nil && (c.a.Apply.Exit == 1 || c.st.Do.Refresh == "only")
		return waits && c.needs(d, (*place).awaits) || c.refuses(d, " argument") && slices.ContainsFunc(inside(c.st.Config, nil), (*place).awaits)
	}},
	{"put a data source into a module with `depends_on`", func(c *comparison, d Difference) bool {
		waiting, at := c.delayed(c.ordered), c.subject(d)
		// An object that depends on unknown data is updated or replaced.
		return (d.What == "plan" || c.b.altered(at) && !c.a.altered(at)) && d.Section != "exits" && c.about(d, waiting) ||
			c.idle(d, func(ch any) bool { return slices.Contains(waiting, fmt.Sprint(get(ch, "address"))) })
	}},
	{"put a data source into a module with `depends_on`", func(c *comparison, d Difference) bool {
		return d.What == "plan" && d.Section != "exits" && c.about(d, c.delayed(c.forOther)) ||
			c.a.only("", "postcondition failed") && !slices.ContainsFunc(c.failures(), func(at string) bool { return !c.b.waits(at) || !c.a.waitsElsewhere(at) })
	}},
	{"evaluate conditions after the provisioners or the provider", func(c *comparison, d Difference) bool {
		return d.What == "checks" && strings.Contains(compact(d.A), `"unknown"`) && slices.ContainsFunc(unexpected.FindAllStringSubmatch(c.a.said(), -1), func(m []string) bool {
			return keyless(m[1]+m[2]) == keyless(c.subject(d))
		})
	}},
	{"store an output made from a failed object", func(c *comparison, d Difference) bool {
		return d.What == "state" && c.b.Apply.Exit == 1 && (d.Section == "outputs" && compact(c.a.Before.Outputs[d.At]) == compact(c.a.After.Outputs[d.At]) ||
			d.B == nil && strings.Contains(c.a.said(), d.At+" will be read during apply"))
	}},
	{"use unknown or ephemeral `count` or `for_each` in an ephemeral block", func(c *comparison, d Difference) bool {
		return c.refused(d, "Invalid count argument", "Invalid for_each argument") && c.has(func(_ *Module, b *Block) bool { return b.Kind == Ephemeral && b.repeats() != "" })
	}},
	{"look at outputs, data and dependencies after the `import` command", func(c *comparison, d Difference) bool {
		imported := slices.ContainsFunc(c.st.Drifts, func(i Drift) bool { return i.Do == "import" && keyless(i.To) == keyless(c.subject(d)) })
		return (imported || c.unrecorded(c.subject(d))) && c.st.Do.Destroy && len(c.st.Do.Target) > 0 && (d.B == nil || d.What == "state" && d.A == nil)
	}},
	{"look at `create_before_destroy` in the state", func(c *comparison, d Difference) bool {
		if d.Section == "create first" && c.st.Do.Refresh == "only" {
			return true
		}
		// An object with create_before_destroy waits for the object that failed.
		was, theirs := c.a.Before.at(c.subject(d)), c.b.Before.at(c.subject(d))
		if was != nil && theirs != nil && was.CreateFirst && !theirs.CreateFirst && c.a.Apply != nil && c.a.Apply.Exit == 1 && c.b.Apply.Exit == 1 &&
			(d.What == "state" && d.B == nil || d.What == "calls" && d.Section == "delete" && d.A == nil) {
			return true
		}
		return d.Section == "create first" && d.A == true && (strings.HasSuffix(d.At, " deposed") || len(c.st.Do.Target) > 0 || imports(c.a, d.At) || strings.HasSuffix(d.At, "]")) ||
			d.Section == "create first" && d.B == true && (c.firstForGone(d.At) || c.undone(d.At)) ||
			(d.Section == "create first" && d.B == true || d.Section == "resource_changes actions" && compact(d.B) == `["create","delete"]`) && c.firstFor(d.At, func(p *place) bool {
				return p.up != nil && !slices.ContainsFunc(c.a.After.Resources, func(r *StateResource) bool { return strings.HasPrefix(keyless(r.Module)+".", p.up.addr()+".") })
			})
	}},
	{"look at dependencies in the state", func(c *comparison, d Difference) bool {
		ours, _ := d.A.(string)
		theirs, _ := d.B.(string)
		return d.Section == "dependencies" && (contains(strings.Fields(ours), strings.Fields(theirs)) || strings.HasSuffix(d.At, " deposed") && contains(strings.Fields(theirs), strings.Fields(ours)) || c.st.Do.Refresh == "only" || c.undone(d.At) && contains(strings.Fields(theirs), strings.Fields(ours)) || c.b.kept(d.At, strings.Fields(ours), strings.Fields(theirs)))
	}},
}

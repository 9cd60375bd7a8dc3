package combine

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/test/combine/box"
	"github.com/lethe-iac/lethe/test/combine/cloud"
)

// This file collects the evidence that rules read: exit codes, output, plans, and the configuration.

// refused reports whether Terraform failed with errors of these kinds only, and Lethe succeeded.
func (c *comparison) refused(d Difference, titles ...string) bool {
	return d.Section == "exits" && d.A != 1 && d.B == 1 && c.b.only(d.What, titles...)
}

// refuses reports whether Lethe failed with this error, and Terraform succeeded.
func (c *comparison) refuses(d Difference, title string) bool {
	return d.Section == "exits" && d.A == 1 && c.a.only(d.What, title)
}

// only reports whether commands reported errors, and all of them have one of these titles. If what is a command on the
// state, such as "taint", it considers only the commands on the state, and otherwise only the other commands.
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

// idle reports whether the difference d is in the exit codes: Terraform's reports changes and Lethe's does not.
// Terraform's plan must have changes, and the argument only must return true for each of them.
func (c *comparison) idle(d Difference, only func(change any) bool) bool {
	doc := c.b.PlanJSON
	if d.What == "second plan" {
		doc = c.b.SecondJSON
	}
	all := changes(doc)
	return d.Section == "exits" && d.A == 0 && d.B == 2 && len(all) > 0 && !slices.ContainsFunc(all, func(ch any) bool { return !only(ch) })
}

// onlyOutputs reports whether Terraform's plan changes only outputs, Lethe's exit code reports no changes, and known(d)
// is true for a difference d in each of these outputs.
func (c *comparison) onlyOutputs(d Difference, known func(Difference) bool) bool {
	outputs, _ := c.b.PlanJSON["output_changes"].(object)
	return d.What == "plan" && d.Section == "exits" && d.A == 0 && d.B == 2 && len(changes(c.b.PlanJSON)) == 0 &&
		!slices.ContainsFunc(slices.Collect(maps.Keys(outputs)), func(name string) bool { return !known(Difference{Section: "outputs", At: name}) })
}

// unexpected matches the address in Lethe's message about an answer that differs from the plan, or about an error.
var unexpected = regexp.MustCompile(`(?m)applying changes to (\S+?),|with (\S+),$`)

// replaced reports whether Lethe's plan replaces an object.
func (c *comparison) replaced(addr string) bool {
	return regexp.MustCompile(regexp.QuoteMeta(addr) + ` (must|will) be replaced`).MatchString(c.a.said())
}

// failures returns the addresses in the errors of Lethe.
func (c *comparison) failures() []string {
	var all []string
	for _, m := range failed.FindAllStringSubmatch(c.a.said(), -1) {
		all = append(all, m[1])
	}
	return all
}

// failed matches the address in a message.
var failed = regexp.MustCompile(`(?m)with (\S+),$`)

// usesStored matches Lethe's message about data that are not read again.
var usesStored = regexp.MustCompile(`(?m)^(\S+): Using stored result`)

// has reports whether such(m, b) is true for a block b of the configuration and its module m.
func (c *comparison) has(such func(*Module, *Block) bool) bool {
	yes := false
	c.st.Config.each(func(m *Module, b *Block) { yes = yes || such(m, b) })
	return yes
}

// further reports whether only Terraform destroys an object that depends on a target according to its state.
func (c *comparison) further(d Difference) bool {
	return c.st.Do.Destroy && (d.A == nil || d.What == "state") && slices.ContainsFunc(c.st.Do.Target, func(t string) bool {
		on := func(s *State) bool {
			x := s.at(d.At)
			return x != nil && slices.ContainsFunc(x.Dependencies, func(dep string) bool { return strings.HasPrefix(dep+".", keyless(t)+".") })
		}
		return d.What == "calls" && c.wholeModules("") || (does(c.b, d.At, "delete") || d.What == "state" && d.B == nil) && on(c.b.Before) && !on(c.a.Before)
	})
}

// lethe reports whether holds(addr) is true for the address of each object that Lethe plans to change. It returns true
// if there are no such objects.
func (c *comparison) lethe(holds func(addr string) bool) bool {
	return !slices.ContainsFunc(changes(c.a.PlanJSON), func(ch any) bool { return !holds(fmt.Sprint(get(ch, "address"))) })
}

// elsewhere reports whether only Terraform did not find an object, through a provider whose configuration depends on
// other objects. An object that moved has its new address in Lethe's state.
func (c *comparison) elsewhere(addr string) bool {
	id := func(o *Outcome) string { return cmp.Or(o.Before.at(addr).id(), c.a.After.at(addr).id()) }
	return c.b.missed(id(c.b)) && !c.a.missed(id(c.a)) && (!slices.Equal(c.a.lookedIn(id(c.a)), c.b.lookedIn(id(c.b))) || c.throughMade(addr))
}

// rehomed reports whether the provider block of an object changed, and only Lethe found the object, through the former
// block.
func (c *comparison) rehomed(addr string) bool {
	is := c.a.Before.at(addr)
	return is != nil && c.b.missed(c.b.Before.at(addr).id()) && len(c.a.lookedIn(is.id())) > len(c.b.lookedIn(c.b.Before.at(addr).id()))
}

// throughMade reports whether a block depends on a provider that is configured from objects.
func (c *comparison) throughMade(addr string) bool {
	return c.needs(Difference{At: addr}, func(p *place) bool {
		return p.b.Kind == Provider && p.needs(func(on *place) bool { return on.b.Kind == Resource })
	})
}

// asNow reports whether only Lethe did not find an object to destroy. The provider is configured from objects. Lethe
// used their current values, and Terraform used their planned values.
func (c *comparison) asNow(addr string) bool {
	ours, theirs := c.a.Before.at(addr).id(), c.b.Before.at(addr).id()
	return c.st.Do.Destroy && c.a.missed(ours) && !c.b.missed(theirs) && !slices.Equal(c.a.lookedIn(ours), c.b.lookedIn(theirs)) && c.throughMade(addr)
}

// throughOther reports whether both programs destroy an object, each through a different provider that is configured
// from objects.
func (c *comparison) throughOther(call string) bool {
	words := strings.Fields(call)
	destroys := func(o *Outcome) bool {
		return slices.ContainsFunc(o.Invocations, func(i *Invocation) bool {
			return slices.ContainsFunc(i.Calls, func(k cloud.Call) bool {
				return k.Call == "delete" && k.Type == words[1] && k.Key == words[2] && k.Error == ""
			})
		})
	}
	return words[0] == "delete" && destroys(c.a) && destroys(c.b) && slices.ContainsFunc(inside(c.st.Config, nil), (*place).configured)
}

// fromData reports whether only Lethe destroys an object that depends on a targeted data source.
func (c *comparison) fromData(addr string) bool {
	return !does(c.b, addr, "delete") && slices.ContainsFunc(c.st.Do.Target, func(t string) bool {
		return strings.Contains("."+t, ".data.") && c.dependsOn(addr, t)
	})
}

// bereft reports whether only Lethe plans a change of an object that depends on a target. The target is to be destroyed
// and did not exist any more.
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

// delayed returns the addresses of the data sources that only Terraform reads during apply, without the addresses for
// which holds(addr) is false.
func (c *comparison) delayed(holds func(addr string) bool) []string {
	var all []string
	for _, ch := range c.b.changes() {
		if at := fmt.Sprint(get(ch, "address")); does(c.b, at, "read") && !does(c.a, at, "read") && holds(at) {
			all = append(all, at)
		}
	}
	return all
}

// triggered returns the objects that Terraform replaces because the given objects change.
func (c *comparison) triggered(by []string) []string {
	var all []string
	for _, ch := range c.b.changes() {
		if at := fmt.Sprint(get(ch, "address")); get(ch, "action_reason") == "replace_by_triggers" && c.about(Difference{At: at}, by) {
			all = append(all, at)
		}
	}
	return all
}

// updatedWithoutWords matches an object that a plan updates without a visible change. A visible change has a sign in
// place of two of the eight spaces.
var updatedWithoutWords = regexp.MustCompile(`(?m)^  # (\S+) will be updated in-place\n  ~ resource .*\n(?: {8}.*\n)+    \}$`)

// absent reports whether a resource has no objects, or no objects with the kind of keys that it has now.
func (c *comparison) absent(p *place) bool {
	return p.b.Kind == Resource && !slices.ContainsFunc(c.a.Before.Resources, func(r *StateResource) bool {
		return keyless(r.addr()) == p.addr() && slices.ContainsFunc(r.Instances, func(i *StateInstance) bool { return (i.Key != nil) == (p.b.repeats() != "") })
	})
}

// repeated reports whether p is a resource or data source with count or for_each.
func (p *place) repeated() bool {
	return (p.b.Kind == Resource || p.b.Kind == Data) && p.b.repeats() != ""
}

// unmoved reports whether an object or data at an address have the same attributes before and after. It is false if
// they did not exist before.
func (o *Outcome) unmoved(addr string) bool {
	was := stateOf(o.Before)["attributes|"+addr]
	return was != nil && compact(was) == compact(stateOf(o.After)["attributes|"+addr])
}

// unchecked reports whether a command did not evaluate conditions, or their results are unchanged.
func (o *Outcome) unchecked() bool { return compact(o.Before.Checks) == compact(o.After.Checks) }

// unrecorded reports whether only Terraform's state has no dependencies of an object that depends on a target.
func (c *comparison) unrecorded(addr string) bool {
	ours, theirs := c.a.Before.at(addr), c.b.Before.at(addr)
	return ours != nil && theirs != nil && len(theirs.Dependencies) == 0 && slices.ContainsFunc(c.st.Do.Target, func(t string) bool {
		return slices.ContainsFunc(ours.Dependencies, func(on string) bool { return strings.HasPrefix(on+".", keyless(t)+".") })
	})
}

// dependsOn reports whether an object depends on another one according to Lethe's state.
func (c *comparison) dependsOn(addr, on string) bool {
	is := c.a.Before.at(addr)
	return is != nil && slices.Contains(is.Dependencies, keyless(on))
}

// undone reports whether Lethe planned a change of an object and did not make it.
func (c *comparison) undone(addr string) bool {
	return c.a.Apply != nil && c.a.Apply.Exit == 1 && slices.Contains(addressesOf(c.a), addr) && c.a.unmoved(addr)
}

// left reports whether data are in Lethe's state and not in Terraform's.
func (c *comparison) left(p *place) bool {
	return p.b.Kind == Data && c.a.After.has(p) && !c.b.After.has(p)
}

// forWhole reports whether an object depends on a whole module.
func (c *comparison) forWhole(addr string) bool {
	return c.needs(Difference{At: addr}, func(p *place) bool { return len(p.wholes()) > 0 })
}

// readForWhole reports whether a data source depends on a whole module.
func (c *comparison) readForWhole() bool {
	return slices.ContainsFunc(inside(c.st.Config, nil), func(p *place) bool {
		return p.b.Kind == Data && p.needs(func(on *place) bool { return len(on.wholes()) > 0 })
	})
}

// ordered reports whether a module around the address has depends_on.
func (c *comparison) ordered(addr string) bool {
	return slices.ContainsFunc(inside(c.st.Config, nil), func(p *place) bool {
		return p.b.Kind == Call && p.b.arg("depends_on") != nil && strings.HasPrefix(keyless(addr), p.addr()+".")
	})
}

// forOther reports whether Lethe reads another instance of the data source of addr during apply.
func (c *comparison) forOther(addr string) bool {
	return slices.ContainsFunc(addressesOf(c.a), func(a string) bool { return a != addr && keyless(a) == keyless(addr) && does(c.a, a, "read") })
}

// waits reports whether a plan reads a data source during apply.
func (o *Outcome) waits(addr string) bool {
	return strings.Contains(o.said(), "# "+addr+" will be read during apply")
}

// waitsElsewhere reports whether a plan reads another instance of the data source during apply.
func (o *Outcome) waitsElsewhere(addr string) bool {
	return slices.ContainsFunc(delayed.FindAllStringSubmatch(o.said(), -1), func(m []string) bool { return m[1] != addr && keyless(m[1]) == keyless(addr) })
}

var delayed = regexp.MustCompile(`(?m)# (\S+) will be read during apply`)

// firstFor reports whether a resource that depends on an object has create_before_destroy, and holds(p) is true for
// this resource.
func (c *comparison) firstFor(addr string, holds func(*place) bool) bool {
	return slices.ContainsFunc(inside(c.st.Config, nil), func(p *place) bool {
		l := p.b.nested("lifecycle")
		return p.b.Kind == Resource && l != nil && l.arg("create_before_destroy") != nil && holds(p) &&
			p.needs(func(on *place) bool { return on.addr() == keyless(addr) })
	})
}

// firstForGone reports whether the provider of a destroyed create-first object is configured from the object at addr.
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

// marked returns the objects that Terraform updates only because other attributes become sensitive.
func (c *comparison) marked() []string {
	var all []string
	for _, ch := range changes(c.b.PlanJSON) {
		if compact(get(ch, "change", "before")) == compact(get(ch, "change", "after")) && unkept(get(ch, "change", "before_sensitive"), get(ch, "change", "after_sensitive")) {
			all = append(all, fmt.Sprint(get(ch, "address")))
		}
	}
	if c.b.PlanJSON == nil { // the plan was applied directly, so it has no document
		for _, m := range updatedWithoutWords.FindAllStringSubmatch(c.b.said(), -1) {
			if c.needs(Difference{At: m[1]}, func(p *place) bool { return p.addr() == keyless(m[1]) && p.hides() }) {
				all = append(all, m[1])
			}
		}
	}
	return all
}

// hides reports whether a resource has a write-only attribute.
func (p *place) hides() bool {
	return p.b.Kind == Resource && slices.ContainsFunc(p.b.Args, func(a Arg) bool { return box.WriteOnly(a.Name) })
}

// heldBack reports whether an object depends on a whole module in which an object failed.
func (c *comparison) heldBack(d Difference) bool {
	return c.b.Apply.Exit == 1 && c.needs(d, func(p *place) bool {
		return slices.ContainsFunc(p.wholes(), func(to *place) bool {
			return slices.ContainsFunc(c.failures(), func(at string) bool { return strings.HasPrefix(keyless(at)+".", to.addr()+".") })
		})
	})
}

// deposed reports whether the address has a deposed object after the step.
func (o *Outcome) deposed(addr string) bool {
	yes := false
	o.After.managed(func(r *StateResource, i *StateInstance) { yes = yes || i.Deposed != "" && i.addr(r) == addr })
	return yes
}

// leaves reports whether Terraform leaves a replaced object deposed, or does not destroy an object that it planned to
// destroy.
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

// movesOn reports whether an object moves to another type and another moved block moves it further.
func (c *comparison) movesOn() bool {
	typ := func(addr string) string { t, _, _ := strings.Cut(addr, "."); return t }
	return c.has(func(_ *Module, b *Block) bool {
		to := b.arg("to").text()
		return b.Kind == Moved && typ(b.arg("from").text()) != typ(to) && c.has(func(_ *Module, n *Block) bool { return n.Kind == Moved && n.arg("from").text() == to })
	})
}

// wholeModules reports whether an expression refers to a module, or to all its instances, and the address is inside the
// module. An empty address is inside every module.
func (c *comparison) wholeModules(at string) bool {
	return slices.ContainsFunc(inside(c.st.Config, nil), func(p *place) bool {
		return slices.ContainsFunc(p.wholes(), func(to *place) bool { return at == "" || strings.HasPrefix(keyless(at)+".", to.addr()+".") })
	})
}

// wholes returns the modules that a block refers to as a whole, or to all instances of.
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

// none reports whether a declared block has no instance.
func (c *comparison) none() bool {
	return c.has(func(_ *Module, b *Block) bool {
		return b.repeats() != "" && !slices.ContainsFunc(c.a.After.Resources, func(r *StateResource) bool {
			return strings.HasSuffix("."+r.addr(), "."+b.addr()) || strings.Contains("."+keyless(r.Module)+".", "."+b.addr()+".")
		})
	})
}

// given reports whether an argument of a module depends on a resource, directly or indirectly.
func (c *comparison) given(addr string) bool {
	return slices.ContainsFunc(inside(c.st.Config, nil), func(p *place) bool {
		return p.b.Kind == Call && p.needs(func(from *place) bool { return from.addr() == addr })
	})
}

// through reports whether Terraform planned a change because a target names a module that contains the address or
// receives its value.
func (c *comparison) through(addr string) bool {
	return len(c.st.Do.Target) > 0 && (strings.HasPrefix(addr, "module.") || c.given(keyless(addr))) && !slices.ContainsFunc(c.st.Do.Target, func(t string) bool { return strings.HasPrefix(addr, t) })
}

// attribute matches a name in a path of a state.
var attribute = regexp.MustCompile(`"value":"(\w+)"`)

// ofCheck reports whether a change belongs to a data source inside a check.
func (c *comparison) ofCheck(change any) bool {
	return get(change, "mode") == "data" && c.has(func(_ *Module, b *Block) bool {
		return b.Kind == Check && slices.ContainsFunc(b.Nested, func(n *Block) bool {
			typ, data := strings.CutPrefix(n.Type, "data ")
			return data && get(change, "type") == typ && get(change, "name") == n.Name
		})
	})
}

// unchanged reports whether a plan lists a drift that changes nothing.
func unchanged(o *Outcome, addr string) bool {
	list, _ := o.PlanJSON["resource_drift"].([]any)
	return slices.ContainsFunc(list, func(c any) bool {
		return get(c, "address") == addr && compact(get(c, "change", "before")) == compact(get(c, "change", "after"))
	})
}

// remarked returns the objects that Terraform updates only because they moved to a type with other sensitive
// attributes.
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

// kept reports whether an unchanged object keeps its old dependencies besides its new ones.
func (o *Outcome) kept(addr string, now, on []string) bool {
	is, yes := o.After.at(addr), false
	o.Before.managed(func(_ *StateResource, was *StateInstance) {
		yes = yes || is != nil && compact(was.Attributes) == compact(is.Attributes) && contains(slices.Concat(was.Dependencies, now), on)
	})
	return yes
}

// missed reports whether an object was read by its ID or name and did not exist.
func (o *Outcome) missed(object string) bool {
	return slices.ContainsFunc(o.Invocations, func(i *Invocation) bool {
		return slices.ContainsFunc(i.Calls, func(k cloud.Call) bool {
			return k.Call == "read" && k.Note == "gone" && (k.ID == object || k.Key == object)
		})
	})
}

// lookedIn returns the regions in which an object was read.
func (o *Outcome) lookedIn(object string) []string {
	var all []string
	for _, i := range o.Invocations {
		for _, k := range i.Calls {
			if k.Call == "read" && k.ID == object {
				all = append(all, k.Region)
			}
		}
	}
	return all
}

// drifted reports whether an object was changed or deleted outside.
func (o *Outcome) drifted(addr string) bool {
	list, _ := o.PlanJSON["resource_drift"].([]any)
	return slices.ContainsFunc(list, func(c any) bool { return get(c, "address") == addr })
}

// blocked matches an object that could not move, in Terraform's output.
var blocked = regexp.MustCompile(`- (\S+) could not move to `)

// protected matches an object with prevent_destroy, in Terraform's output.
var protected = regexp.MustCompile(`Resource\s+(\S+)\s+has\s+lifecycle\.prevent_destroy`)

// unprovided matches an object whose provider is no longer configured, in Terraform's output.
var unprovided = regexp.MustCompile(`To work with\s+(\S+)`)

// liesIn reports whether an address, without its keys, contains another address. So it is true if the two are equal, if
// the first lies below the second, and if the second is relative to a module.
func liesIn(addr, in string) bool {
	return strings.Contains("."+keyless(addr)+".", "."+keyless(in)+".")
}

// recounted reports whether a moved block leads to a resource or module that gains or loses count.
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
		from := b.arg("from").text() + strings.TrimPrefix(was, name)
		c.a.Before.managed(func(r *StateResource, i *StateInstance) {
			at := "." + i.addr(r) + "."
			yes = yes || strings.Contains(at, "."+was) || b.arg("to").text() == name && strings.Contains(at, "."+from)
		})
		return yes
	})
}

// unneeded reports whether Terraform read an instance that no target names, while Lethe planned another instance.
func (c *comparison) unneeded(at string) bool {
	at = at[strings.LastIndex(at, " ")+1:]
	return len(c.st.Do.Target) > 0 && keyless(at) != at && slices.Contains(append(addressesOf(c.b), c.b.refreshed()...), at) &&
		slices.ContainsFunc(append(addressesOf(c.a), c.a.refreshed()...), func(a string) bool { return keyless(a) == keyless(at) && a != at }) &&
		!slices.ContainsFunc(c.st.Do.Target, func(t string) bool { return strings.HasPrefix(at+".", t+".") || strings.HasPrefix(at, t+"[") })
}

// refreshed returns the objects that a command reported as refreshed.
func (o *Outcome) refreshed() []string {
	var all []string
	for _, m := range looked.FindAllStringSubmatch(o.said(), -1) {
		all = append(all, m[1])
	}
	return all
}

var looked = regexp.MustCompile(`(?m)^(\S+): Refreshing state\.\.\.`)

// oneOf reports whether targets need single instances of a resource that none of them names.
func (c *comparison) oneOf(p *place) bool {
	named := func(q *place) bool {
		return slices.ContainsFunc(c.st.Do.Target, func(t string) bool { return strings.HasPrefix(q.addr()+".", keyless(t)+".") })
	}
	one, all := false, named(p)
	for _, q := range inside(c.st.Config, nil) {
		if !named(q) {
			continue
		}
		q.needs(func(on *place) bool {
			on.b.exprs(func(e *Expr) {
				if e.Ref != 0 && on.m.find(e.Ref) == p.b {
					one, all = one || e.one(p.b), all || !e.one(p.b)
				}
			})
			return false
		})
	}
	return one && !all
}

var keys = regexp.MustCompile(`\[[^\]]*\]`)

// keyless returns an address without instance keys.
func keyless(addr string) string { return keys.ReplaceAllString(addr, "") }

// headed matches the address in a heading of a plan.
var headed = regexp.MustCompile(`(?m)^\s+# (\S+) (?:\(deposed object \w+\) )?(?:is tainted, so )?(?:will|must) be `)

// addressesOf returns the addresses of all objects in a plan, and of the data in the state.
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
	if o.PlanJSON == nil { // the plan was applied directly, so it has no document
		for _, m := range headed.FindAllStringSubmatch(o.said(), -1) {
			all = append(all, m[1])
		}
	}
	return all
}

// ignores reports whether a resource has ignore_changes.
func (c *comparison) ignores(addr string) bool {
	return c.has(func(_ *Module, b *Block) bool {
		l := b.nested("lifecycle")
		return b.Kind == Resource && strings.HasSuffix("."+keyless(addr), "."+b.addr()) && l != nil && l.arg("ignore_changes") != nil
	})
}

// unknowns returns the number of unknown values in the plan of an object or an output. It is 0 without a document of
// the plan.
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

// said returns the output of all commands of a step together.
func (o *Outcome) said() string {
	var b strings.Builder
	for _, i := range o.Invocations {
		b.WriteString(i.Out)
	}
	return b.String()
}

// imports reports whether a plan imports an object without another change.
func imports(o *Outcome, addr string) bool {
	all, _ := o.PlanJSON["resource_changes"].([]any)
	return o.PlanJSON == nil && strings.Contains(o.said(), addr+": Import complete") || slices.ContainsFunc(all, func(c any) bool {
		change, _ := get(c, "change").(object)
		return get(c, "address") == addr && get(change, "importing") != nil && slices.Equal(actions(change), []string{"no-op"})
	})
}

// contains reports whether all contains every element of part. It is true for an empty part.
func contains(all, part []string) bool {
	return !slices.ContainsFunc(part, func(p string) bool { return !slices.Contains(all, p) })
}

// changes returns the changes of a plan without no-ops.
func changes(doc object) []any {
	all, _ := doc["resource_changes"].([]any)
	return slices.DeleteFunc(slices.Clone(all), func(c any) bool {
		change, _ := get(c, "change").(object)
		return slices.Equal(actions(change), []string{"no-op"})
	})
}

// doing matches the action on an object in a plan. The longer alternatives come first.
var doing = regexp.MustCompile(`(?m)^  # (\S+) (?:is tainted, so )?(?:will|must) be (created|updated|destroyed|replaced due to changes in replace_triggered_by|replaced|read)\b`)

// done maps these words to actions and reasons. The words do not contain the order of a replacement.
var done = map[string]object{
	"created": {"change": object{"actions": []any{"create"}}}, "updated": {"change": object{"actions": []any{"update"}}},
	"destroyed": {"change": object{"actions": []any{"delete"}}}, "read": {"change": object{"actions": []any{"read"}}},
	"replaced": {"change": object{"actions": []any{"delete", "create"}}},
	"replaced due to changes in replace_triggered_by": {"change": object{"actions": []any{"delete", "create"}}, "action_reason": "replace_by_triggers"},
}

// changes returns the planned changes, from the document of the plan or, if none exists, from the output.
func (o *Outcome) changes() []any {
	if o.PlanJSON != nil {
		return changes(o.PlanJSON)
	}
	var all []any
	for _, m := range doing.FindAllStringSubmatch(o.said(), -1) {
		ch := maps.Clone(done[m[2]])
		ch["address"] = m[1]
		all = append(all, ch)
	}
	return all
}

// altered reports whether a plan updates, replaces or destroys an existing object.
func (o *Outcome) altered(addr string) bool {
	return slices.ContainsFunc(o.changes(), func(c any) bool {
		change, _ := get(c, "change").(object)
		return get(c, "address") == addr && !slices.Contains([]string{"create", "read"}, actions(change)[0])
	})
}

// unkept reports whether two sets of marks differ only in write-only attributes.
func unkept(a, b any) bool { return compact(kept(a)) == compact(kept(b)) }

// kept returns marks without write-only attributes, or nil if no mark remains.
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

// does reports whether the only planned action for an object is action.
func does(o *Outcome, addr, action string) bool {
	return slices.ContainsFunc(o.changes(), func(c any) bool {
		change, _ := get(c, "change").(object)
		return get(c, "address") == addr && slices.Equal(actions(change), []string{action})
	})
}

// explained returns the differences that no class explains. apart is true if the two sides can no longer be compared,
// because an explained difference is in exit codes, attributes, outputs or calls. known holds the differences that were
// explained before, and explained adds to it. A known difference of states, or of results that neither side has
// evaluated again, stays explained while it lasts.
func explained(all []Difference, st *Step, a, b *Outcome, known map[string]bool) (left []Difference, apart bool) {
	c := &comparison{st: st, a: a, b: b}
	for _, d := range all {
		unchecked := d.What == "checks" && a.unchecked() && b.unchecked()
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

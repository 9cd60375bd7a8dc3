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

// What rules look at: how the two programs ended, what they said and planned, and what the configuration has.

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

// elsewhere is whether Terraform alone did not find an object, through a provider that is configured from others. One that
// moved has its new address in Lethe's state.
func (c *comparison) elsewhere(addr string) bool {
	id := func(o *Outcome) string { return cmp.Or(o.Before.at(addr).id(), c.a.After.at(addr).id()) }
	return c.b.missed(id(c.b)) && !c.a.missed(id(c.a)) && (!slices.Equal(c.a.lookedIn(id(c.a)), c.b.lookedIn(id(c.b))) || c.throughMade(addr))
}

// throughMade is whether something depends on a provider that is configured from objects.
func (c *comparison) throughMade(addr string) bool {
	return c.needs(Difference{At: addr}, func(p *place) bool {
		return p.b.Kind == Provider && p.needs(func(on *place) bool { return on.b.Kind == Resource })
	})
}

// asNow is whether Lethe alone did not find what is to be destroyed, since it looked for it through a provider that is
// configured from objects as they are by now, where Terraform looked as they would be.
func (c *comparison) asNow(addr string) bool {
	ours, theirs := c.a.Before.at(addr).id(), c.b.Before.at(addr).id()
	return c.st.Do.Destroy && c.a.missed(ours) && !c.b.missed(theirs) && !slices.Equal(c.a.lookedIn(ours), c.b.lookedIn(theirs)) && c.throughMade(addr)
}

// throughOther is whether both programs destroy an object, each through a provider of its own, which is configured from
// objects.
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

// fromData is whether Lethe alone destroys an object, which was made from data that are a target.
func (c *comparison) fromData(addr string) bool {
	return !does(c.b, addr, "delete") && slices.ContainsFunc(c.st.Do.Target, func(t string) bool {
		return strings.Contains("."+t, ".data.") && c.dependsOn(addr, t)
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
	for _, ch := range c.b.changes() {
		if at := fmt.Sprint(get(ch, "address")); does(c.b, at, "read") && !does(c.a, at, "read") && holds(at) {
			all = append(all, at)
		}
	}
	return all
}

// triggered are the objects that Terraform replaces since some others change.
func (c *comparison) triggered(by []string) []string {
	var all []string
	for _, ch := range c.b.changes() {
		if at := fmt.Sprint(get(ch, "address")); get(ch, "action_reason") == "replace_by_triggers" && c.about(Difference{At: at}, by) {
			all = append(all, at)
		}
	}
	return all
}

// updatedWithoutWords is what a plan shows of an object that is updated without a change that can be shown: a line of one
// has a sign in the place of two of its eight spaces.
var updatedWithoutWords = regexp.MustCompile(`(?m)^  # (\S+) will be updated in-place\n  ~ resource .*\n(?: {8}.*\n)+    \}$`)

// absent is whether a resource has no objects, or none with keys such as it has by now.
func (c *comparison) absent(p *place) bool {
	return p.b.Kind == Resource && !slices.ContainsFunc(c.a.Before.Resources, func(r *StateResource) bool {
		return keyless(r.addr()) == p.addr() && slices.ContainsFunc(r.Instances, func(i *StateInstance) bool { return (i.Key != nil) == (p.b.repeats() != "") })
	})
}

// repeated is whether it is a resource that may have several instances.
func (p *place) repeated() bool {
	return (p.b.Kind == Resource || p.b.Kind == Data) && p.b.repeats() != ""
}

// unmoved is whether an object, or data, are in the state as they were.
func (o *Outcome) unmoved(addr string) bool {
	was := stateOf(o.Before)["attributes|"+addr]
	return was != nil && compact(was) == compact(stateOf(o.After)["attributes|"+addr])
}

// unchecked is whether a command did not look at conditions, or found what it found before.
func (o *Outcome) unchecked() bool { return compact(o.Before.Checks) == compact(o.After.Checks) }

// unrecorded is whether Terraform's state alone has no dependencies of an object, which depends on a target.
func (c *comparison) unrecorded(addr string) bool {
	ours, theirs := c.a.Before.at(addr), c.b.Before.at(addr)
	return ours != nil && theirs != nil && len(theirs.Dependencies) == 0 && slices.ContainsFunc(c.st.Do.Target, func(t string) bool {
		return slices.ContainsFunc(ours.Dependencies, func(on string) bool { return strings.HasPrefix(on+".", keyless(t)+".") })
	})
}

// dependsOn is whether an object depended on another one, as Lethe's state has it.
func (c *comparison) dependsOn(addr, on string) bool {
	is := c.a.Before.at(addr)
	return is != nil && slices.Contains(is.Dependencies, keyless(on))
}

// undone is whether Lethe planned something of an object, and nothing came of it.
func (c *comparison) undone(addr string) bool {
	return c.a.Apply != nil && c.a.Apply.Exit == 1 && slices.Contains(addressesOf(c.a), addr) && c.a.unmoved(addr)
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

// ordered is whether a module around something depends on others.
func (c *comparison) ordered(addr string) bool {
	return slices.ContainsFunc(inside(c.st.Config, nil), func(p *place) bool {
		return p.b.Kind == Call && p.b.arg("depends_on") != nil && strings.HasPrefix(keyless(addr), p.addr()+".")
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
	if c.b.PlanJSON == nil { // applied directly
		for _, m := range updatedWithoutWords.FindAllStringSubmatch(c.b.said(), -1) {
			if c.needs(Difference{At: m[1]}, func(p *place) bool { return p.addr() == keyless(m[1]) && p.hides() }) {
				all = append(all, m[1])
			}
		}
	}
	return all
}

// hides is whether a resource has a write-only attribute.
func (p *place) hides() bool {
	return p.b.Kind == Resource && slices.ContainsFunc(p.b.Args, func(a Arg) bool { return box.WriteOnly(a.Name) })
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

// lookedIn are the regions in which an object was looked for.
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
		from := b.arg("from").text() + strings.TrimPrefix(was, name)
		c.a.Before.managed(func(r *StateResource, i *StateInstance) {
			at := "." + i.addr(r) + "."
			yes = yes || strings.Contains(at, "."+was) || b.arg("to").text() == name && strings.Contains(at, "."+from)
		})
		return yes
	})
}

// unneeded is whether Terraform looked at an instance that no target names, of what Lethe planned another instance of.
func (c *comparison) unneeded(at string) bool {
	at = at[strings.LastIndex(at, " ")+1:]
	return len(c.st.Do.Target) > 0 && keyless(at) != at && slices.Contains(append(addressesOf(c.b), c.b.refreshed()...), at) &&
		slices.ContainsFunc(append(addressesOf(c.a), c.a.refreshed()...), func(a string) bool { return keyless(a) == keyless(at) && a != at }) &&
		!slices.ContainsFunc(c.st.Do.Target, func(t string) bool { return strings.HasPrefix(at+".", t+".") || strings.HasPrefix(at, t+"[") })
}

// refreshed are the objects that a command says it looked at.
func (o *Outcome) refreshed() []string {
	var all []string
	for _, m := range looked.FindAllStringSubmatch(o.said(), -1) {
		all = append(all, m[1])
	}
	return all
}

var looked = regexp.MustCompile(`(?m)^(\S+): Refreshing state\.\.\.`)

// oneOf is whether targets need a resource that none of them names, and instances of it alone.
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

// keyless is an address without the keys of instances.
func keyless(addr string) string { return keys.ReplaceAllString(addr, "") }

// headed is what a plan's text names.
var headed = regexp.MustCompile(`(?m)^\s+# (\S+) (?:\(deposed object \w+\) )?(?:is tainted, so )?(?:will|must) be `)

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

// doing is what a plan says that it does with an object; the longer words first.
var doing = regexp.MustCompile(`(?m)^  # (\S+) (?:is tainted, so )?(?:will|must) be (created|updated|destroyed|replaced due to changes in replace_triggered_by|replaced|read)\b`)

// done are the actions and reasons of those words. In which order an object is replaced they do not tell.
var done = map[string]object{
	"created": {"change": object{"actions": []any{"create"}}}, "updated": {"change": object{"actions": []any{"update"}}},
	"destroyed": {"change": object{"actions": []any{"delete"}}}, "read": {"change": object{"actions": []any{"read"}}},
	"replaced": {"change": object{"actions": []any{"delete", "create"}}},
	"replaced due to changes in replace_triggered_by": {"change": object{"actions": []any{"delete", "create"}}, "action_reason": "replace_by_triggers"},
}

// changes are those that were planned, by the document of the plan or, where there is none, by what was said of it.
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

// altered is whether an object that is there was to be changed, or not to stay.
func (o *Outcome) altered(addr string) bool {
	return slices.ContainsFunc(o.changes(), func(c any) bool {
		change, _ := get(c, "change").(object)
		return get(c, "address") == addr && !slices.Contains([]string{"create", "read"}, actions(change)[0])
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
	return slices.ContainsFunc(o.changes(), func(c any) bool {
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

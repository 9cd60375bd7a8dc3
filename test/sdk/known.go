package sdk

import (
	"regexp"
	"slices"
	"strings"
)

// A rule recognises intended differences.
type rule struct {
	row    string // the beginning of a row of docs/differences.md; "" if users do not notice the difference
	reason string
	match  func(d Difference, b *Batch) bool
}

var rules = []rule{
	{"name a map in `ignore_changes` whose new value is unknown", "Lethe ignores the change", func(d Difference, b *Batch) bool {
		s := b.step(d)
		for _, m := range unknownMap.FindAllStringSubmatch(s, -1) {
			if regexp.MustCompile(`ignore_changes = (all|\[[^\n]*\b` + m[1] + `\b)`).MatchString(s) {
				return true
			}
		}
		return false
	}},
	{"use `ignore_changes` for a part of a value that is no longer sensitive", "Terraform loses marks in maps and in objects that are replaced", func(d Difference, b *Batch) bool {
		return strings.Contains(d.Section, "sensitive") && strings.Contains(b.step(d), "ignore_changes") && len(places(d.A, d.B, "")) > 0 &&
			!slices.ContainsFunc(places(d.A, d.B, ""), func(x place) bool { return x.b != nil })
	}},
	{"", "in a replacement Terraform marks the null that stands where an ignored sensitive value was", func(d Difference, b *Batch) bool {
		return d.Section == "after sensitive" && d.Replace && strings.Contains(b.step(d), "ignore_changes")
	}},
	{"change only marks of write-only attributes", "Lethe does not keep them", func(d Difference, b *Batch) bool {
		p, _ := d.B.(obj)
		if d.On != "fw_wo" && d.On != "old_wo" {
			return false
		}
		return strings.HasSuffix(d.Section, " sensitive") && p["pw"] != nil || d.What == "state" && d.Section == "sensitive" && strings.Contains(text(d.B), "pw") || d.Section == "actions" && text(d.A) == `["no-op"]` && text(d.B) == `["update"]`
	}},
	{"destroy objects that changed outside", "Lethe tells it", func(d Difference, b *Batch) bool {
		return d.What == "destroy plan" && strings.HasPrefix(d.Section, "drift") && d.B == nil
	}},
	{"look at dependencies in the state", "with -refresh-only, and where the change failed, Lethe leaves them", func(d Difference, b *Batch) bool {
		c := b.Steps[d.Step]
		return d.What == "state" && d.Section == "dependencies" && (c.RefreshOnly || c.NoRefresh || c.Targets || d.Failed || d.A == nil || d.B == nil || strings.Contains(b.step(d), "moved {"))
	}},
	{"look at `create_before_destroy` in the state", "Lethe has it as the configuration has it", func(d Difference, b *Batch) bool {
		return d.What == "state" && d.Section == "create first"
	}},
	{"fail to destroy an object", "Terraform loses what is sensitive by the configuration alone", func(d Difference, b *Batch) bool {
		return d.What == "state" && d.Section == "sensitive" && b.Steps[d.Step].Destroy
	}},
	{"store what is sensitive in an object whose change failed", "Lethe keeps the marks of the configuration", func(d Difference, b *Batch) bool {
		return d.What == "state" && d.Section == "sensitive" && d.Failed || d.Failed && d.B == nil && strings.HasSuffix(d.Section, "before sensitive")
	}},
	{"use outputs or data sources that refer to an instance that is not in the state", "it keeps what it had, and so do data", func(d Difference, b *Batch) bool {
		return b.hadRefreshOnly(d.Step) && (strings.HasPrefix(d.Section, "output") || d.data())
	}},
	{"import with the `import` command while unrelated parts cannot be evaluated", "Lethe imports", func(d Difference, b *Batch) bool {
		return d.What == "before" && d.Section == "exit" && strings.HasPrefix(text(d.A), `"0`) && strings.Contains(text(d.B), "Invalid ")
	}},
	{"", "Terraform does not mark what is sensitive by the schema where the object that is referred to is replaced", func(d Difference, b *Batch) bool {
		return d.Section == "after sensitive" && d.On == "terraform_data" && d.B == nil && strings.Contains(b.step(d), "_d\" {")
	}},
	{"look at outputs, data and dependencies after the `import` command", "Lethe changes nothing but the object", func(d Difference, b *Batch) bool {
		return b.imports(d.Step) && (strings.HasPrefix(d.Section, "output") || d.data() || strings.Contains(d.At, "_data.") || strings.HasPrefix(d.Section, "sent with Upgrade"))
	}},
	{"target after a `moved` block", "Lethe wants the new address only", func(d Difference, b *Batch) bool {
		return d.Section == "exit" && strings.Contains(text(d.B), "Moved resource instances excluded by targeting")
	}},
	{"read `output_changes` of a destroy plan", "`before` is the value that is stored", func(d Difference, b *Batch) bool {
		return d.What == "destroy plan" && d.Section == "output value"
	}},
	{"", "Terraform sends the private data of an object that is gone when it plans to create it again", func(d Difference, b *Batch) bool {
		p, _ := d.A.(obj)
		return d.privateOnly() && p["private"] == nil && p["prior"] == nil
	}},
	{"destroy a tainted object", "in a replacement Terraform deletes with the private data of the plan for the new object, Lethe with the object's own", func(d Difference, b *Batch) bool {
		p, _ := d.A.(obj)
		return d.privateOnly() && strings.HasPrefix(d.Section, "sent with Apply") && p["planned"] == nil
	}},
	{"store an output made from a failed object", "they keep what they had", func(d Difference, b *Batch) bool {
		return d.What == "state" && (d.Failed || d.B == nil && b.Steps[d.Step].Targets) && (d.Section == "output" || d.data())
	}},
	{"list a deposed object that no longer exists", "Lethe does not list it", func(d Difference, b *Batch) bool {
		return strings.HasSuffix(d.At, " deposed") && d.A == nil && (d.Section != "actions" || text(d.B) == `["no-op"]`)
	}},
	{"remove the block of an object that changed outside", "Terraform plans its destruction before it reads it", func(d Difference, b *Batch) bool {
		a, _ := d.A.([]string)
		c, _ := d.B.([]string)
		if p, ok := d.B.(obj); ok && strings.HasPrefix(d.Section, "sent with") {
			ends := p["planned"] == nil && p["proposed"] == nil && p["config"] == nil
			return ends && (d.A == nil && strings.HasPrefix(d.Section, "sent with Plan") || !b.Steps[d.Step].Destroy && d.onlyIn(".pri")) // .pri begins the paths of prior and private
		}
		return d.Section == "before" && d.Delete || d.Section == "calls" && plans(a) < plans(c) && slices.Contains(c, "Read")
	}},
	{"", "Terraform gives the trigger as the reason to create an object that was deleted outside", func(d Difference, b *Batch) bool {
		return d.Section == "reason" && d.A == nil && text(d.B) == `"replace_by_triggers"`
	}},
	{"`destroy` while an expression or a data source", "Terraform plans what is declared before it destroys it", func(d Difference, b *Batch) bool {
		return d.What == "destroy plan" && d.A == nil && d.Section == "has an error"
	}},
	{"use a `dynamic` block with an unknown `for_each`", "Terraform plans one element", func(d Difference, b *Batch) bool {
		return dynamicAttribute.MatchString(b.step(d))
	}},
	{"", "Terraform gives the null of a dynamic attribute a type if everything is ignored", func(d Difference, b *Batch) bool {
		all := places(d.A, d.B, "")
		return strings.HasPrefix(d.Section, "sent with") && len(all) > 0 && !slices.ContainsFunc(all, func(x place) bool {
			l, ok := x.b.(list)
			return !strings.HasPrefix(x.path, ".config.") || x.a != nil || !ok || len(l) != 2 || l[1] != nil
		})
	}},
	{"", "Terraform lists objects that are forgotten among the planned values", func(d Difference, b *Batch) bool {
		return strings.HasPrefix(d.Section, "planned ") && d.A == nil && d.Delete
	}},
	{"remove the block of an object that changed outside", "Terraform forgets without reading", func(d Difference, b *Batch) bool {
		a, _ := d.A.([]string)
		s := b.now(d)
		unread := slices.Contains(a, "Read") && !strings.Contains(text(d.B), "Read")
		return s != nil && s.Root["removed"] != "" && (d.Section == "calls" && unread || d.B == nil && (strings.HasPrefix(d.Section, "drift ") || strings.HasPrefix(d.Section, "sent with Read")))
	}},
	{"`-target=B`, and B depends on A, which is replaced create-first", "Lethe destroys it", func(d Difference, b *Batch) bool {
		a, _ := d.A.([]string)
		c, _ := d.B.([]string)
		return b.Steps[d.Step].Targets && d.What == "apply" && d.Section == "calls" && len(a) > len(c) && strings.Contains(b.step(d), "create_before_destroy")
	}},
	{"refresh without changes", "Lethe applies it", func(d Difference, b *Batch) bool {
		return b.Steps[d.Step].RefreshOnly && d.Section == "exit" && strings.Contains(text(d.B), "Cannot apply non-applyable plan")
	}},
	{"", "Terraform upgrades what `-target` leaves out, too", func(d Difference, b *Batch) bool {
		s := b.now(d)
		return b.Steps[d.Step].Targets && s != nil && s.Target == "" && d.What == "state" && (d.Section == "attributes" || d.Section == "schema version")
	}},
	{"", "calls about two objects of one name are taken for one another", func(d Difference, b *Batch) bool {
		return strings.HasPrefix(d.Section, "sent with Upgrade") && d.A != nil && d.B != nil && text(get(d.A, "state", "id")) != text(get(d.B, "state", "id"))
	}},
	{"use `-refresh=false` with data sources", "Lethe uses what is stored", func(d Difference, b *Batch) bool {
		return b.Steps[d.Step].NoRefresh && d.data()
	}},
	{"target one instance of a module or resource that another resource needs", "Lethe plans that instance", func(d Difference, b *Batch) bool {
		return b.Steps[d.Step].Targets && d.A == nil && strings.Contains(d.At, "[")
	}},
	{"use outputs that need more than the target", "a target leaves out the outputs that need more", func(d Difference, b *Batch) bool {
		return b.Steps[d.Step].Targets && (d.Section == "output actions" || d.Section == "output value" || d.Section == "output")
	}},
}

// data reports whether a difference is about a data source.
func (d Difference) data() bool { return strings.HasSuffix(d.On, "_data") && d.On != "terraform_data" }

// known reports whether a rule recognises the difference.
func (d Difference) known(b *Batch) bool {
	for _, r := range rules {
		if r.match(d, b) {
			return true
		}
	}
	return false
}

// plans returns the number of Plan calls in a list of calls.
func plans(calls []string) (n int) {
	for _, c := range calls {
		if c == "Plan" {
			n++
		}
	}
	return n
}

// dynamicAttribute finds dynamic blocks of arguments that are attributes.
var dynamicAttribute = regexp.MustCompile(`dynamic "(as|at|ing)" \{\n +for_each = terraform_data`)

// unknownMap finds arguments whose value is the output of a terraform_data, which is unknown while planning if it
// changes.
var unknownMap = regexp.MustCompile(`\b(\w+) = terraform_data`)

// step returns the configurations of the piece that a difference belongs to, in all steps up to the step of the
// difference. It returns "" if the piece is not known.
func (b *Batch) step(d Difference) string {
	text := ""
	for _, p := range b.Pieces {
		if p.Name == owner(d.At) {
			for _, s := range p.Steps[:d.Step+1] {
				text += p.whole(s)
			}
		}
	}
	return text
}

// now returns the step of the piece that a difference belongs to, or nil if the piece is not known.
func (b *Batch) now(d Difference) *Step {
	for _, p := range b.Pieces {
		if p.Name == owner(d.At) {
			return p.Steps[d.Step]
		}
	}
	return nil
}

// hadRefreshOnly reports whether step n or an earlier step was a refresh-only plan, whose values may still be stored.
func (b *Batch) hadRefreshOnly(n int) bool {
	return slices.ContainsFunc(b.Steps[:n+1], func(c Command) bool { return c.RefreshOnly })
}

// imports reports whether step n runs the import command for a piece.
func (b *Batch) imports(n int) bool {
	for _, p := range b.Pieces {
		for _, args := range p.Steps[n].Before {
			if args[0] == "import" {
				return true
			}
		}
	}
	return false
}

// privateOnly reports whether the requests of a call differ only in their private data.
func (d Difference) privateOnly() bool {
	return strings.HasPrefix(d.Section, "sent with") && d.onlyIn(".private")
}

// onlyIn reports whether both values exist and differ only at paths that begin with path.
func (d Difference) onlyIn(path string) bool {
	return d.A != nil && d.B != nil && !slices.ContainsFunc(places(d.A, d.B, ""), func(x place) bool { return !strings.HasPrefix(x.path, path) })
}

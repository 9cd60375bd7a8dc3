package sdk

import (
	"regexp"
	"slices"
	"strings"
)

// A rule recognises differences that are on purpose.
type rule struct {
	row    string // how a row of docs/differences.md begins; "" if the reason is no difference for users
	reason string
	match  func(d Difference, b *Batch) bool
}

var rules = []rule{
	{"a map that `ignore_changes` names, and its new value is not known yet", "Lethe ignores the change", func(d Difference, b *Batch) bool {
		s := b.step(d)
		for _, m := range unknownMap.FindAllStringSubmatch(s, -1) {
			if regexp.MustCompile(`ignore_changes = (all|\[[^\n]*\b` + m[1] + `\b)`).MatchString(s) {
				return true
			}
		}
		return false
	}},
	{"a part of a sensitive value that `ignore_changes` names", "Terraform loses marks in maps and in objects that are replaced", func(d Difference, b *Batch) bool {
		return strings.Contains(d.Section, "sensitive") && strings.Contains(b.step(d), "ignore_changes") && len(places(d.A, d.B, "")) > 0 &&
			!slices.ContainsFunc(places(d.A, d.B, ""), func(x place) bool { return x.b != nil })
	}},
	{"", "in a replacement Terraform marks the null that stands where an ignored sensitive value was", func(d Difference, b *Batch) bool {
		return d.Section == "after sensitive" && d.Replace && strings.Contains(b.step(d), "ignore_changes")
	}},
	{"marks of write-only attributes", "Lethe does not keep them", func(d Difference, b *Batch) bool {
		p, _ := d.B.(obj)
		if d.On != "fw_wo" && d.On != "old_wo" {
			return false
		}
		return strings.HasSuffix(d.Section, " sensitive") && p["pw"] != nil || d.What == "state" && d.Section == "sensitive" && strings.Contains(text(d.B), "pw") || d.Section == "actions" && text(d.A) == `["no-op"]` && text(d.B) == `["update"]`
	}},
	{"what changed outside, when everything is destroyed", "Lethe tells it", func(d Difference, b *Batch) bool {
		return d.What == "destroy plan" && strings.HasPrefix(d.Section, "drift") && d.B == nil
	}},
	{"dependencies of what does not change", "with -refresh-only, and where the change failed, Lethe leaves them", func(d Difference, b *Batch) bool {
		c := b.Steps[d.Step]
		return d.What == "state" && d.Section == "dependencies" && (c.RefreshOnly || c.NoRefresh || c.Targets || d.Failed)
	}},
	{"`create_before_destroy` in the state", "Lethe has it as the configuration has it", func(d Difference, b *Batch) bool {
		return d.What == "state" && d.Section == "create first"
	}},
	{"an object that could not be destroyed", "Terraform loses what is sensitive by the configuration alone", func(d Difference, b *Batch) bool {
		return d.What == "state" && d.Section == "sensitive" && b.Steps[d.Step].Destroy
	}},
	{"what is sensitive in an object whose change failed", "Lethe keeps the marks of the configuration", func(d Difference, b *Batch) bool {
		return d.What == "state" && d.Section == "sensitive" && d.Failed
	}},
	{"an output of an instance that is not there, with `-refresh-only`", "it keeps what it had, and so do data", func(d Difference, b *Batch) bool {
		return b.Steps[d.Step].RefreshOnly && (strings.HasPrefix(d.Section, "output") || strings.HasPrefix(d.At, "data."))
	}},
	{"outputs, data and results of checks in the state, after the `import` command", "Lethe changes nothing but the object", func(d Difference, b *Batch) bool {
		return b.imports(d.Step) && (strings.HasPrefix(d.Section, "output") || strings.HasPrefix(d.At, "data.") || strings.Contains(d.At, "_data.") || strings.HasPrefix(d.Section, "sent with Upgrade"))
	}},
	{"`-target` and what has moved", "Lethe wants the new address only", func(d Difference, b *Batch) bool {
		return d.Section == "exit" && strings.Contains(text(d.B), "Moved resource instances excluded by targeting")
	}},
	{"`output_changes` of a destroy", "`before` is the value that is stored", func(d Difference, b *Batch) bool {
		return d.What == "destroy plan" && d.Section == "output value"
	}},
	{"", "Terraform sends the private data of an object that is gone when it plans to create it again", func(d Difference, b *Batch) bool {
		p, _ := d.A.(obj)
		return d.privateOnly() && p["private"] == nil && p["prior"] == nil
	}},
	{"a tainted object is destroyed", "in a replacement Terraform deletes with the private data of the plan for the new object, Lethe with the object's own", func(d Difference, b *Batch) bool {
		p, _ := d.A.(obj)
		return d.privateOnly() && strings.HasPrefix(d.Section, "sent with Apply") && p["planned"] == nil
	}},
	{"an output made from what failed to be applied, and data that were to be read then", "they keep what they had", func(d Difference, b *Batch) bool {
		return d.What == "state" && d.Failed && (d.Section == "output" || strings.HasPrefix(d.At, "data."))
	}},
	{"outputs with `-target` of one instance", "a target leaves out the outputs that need more", func(d Difference, b *Batch) bool {
		return b.Steps[d.Step].Targets && (d.Section == "output actions" || d.Section == "output value" || d.Section == "output")
	}},
}

func (d Difference) known(b *Batch) bool {
	for _, r := range rules {
		if r.match(d, b) {
			return true
		}
	}
	return false
}

// unknownMap finds maps that are made from a value that is not known while planning, if it changes.
var unknownMap = regexp.MustCompile(`\b(tags_all|tags|m|cm|mc|by) = terraform_data`)

// step is the configuration of the piece that a difference belongs to, up to the step in which it was found.
func (b *Batch) step(d Difference) string {
	text := ""
	for _, p := range b.Pieces {
		if p.Name == owner(d.At) {
			for _, s := range p.Steps[:d.Step+1] {
				text += p.text(s)
			}
		}
	}
	return text
}

// imports reports whether a step runs the import command.
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

// privateOnly reports whether a call differs in nothing but its private data.
func (d Difference) privateOnly() bool {
	if !strings.HasPrefix(d.Section, "sent with") || d.A == nil || d.B == nil {
		return false
	}
	return !slices.ContainsFunc(places(d.A, d.B, ""), func(x place) bool { return !strings.HasPrefix(x.path, ".private") })
}

package sdk

import (
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
	{"marks of write-only attributes", "Lethe does not keep them", func(d Difference, b *Batch) bool {
		p, _ := d.B.(obj)
		if d.On != "fw_wo" && d.On != "old_wo" {
			return false
		}
		return d.Section == "after sensitive" && p["pw"] != nil || d.What == "state" && d.Section == "sensitive" && strings.Contains(text(d.B), "pw") || d.Section == "actions" && text(d.A) == `["no-op"]` && text(d.B) == `["update"]`
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

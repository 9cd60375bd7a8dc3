// Package sdk compares Lethe with Terraform, call by call, with providers that have the habits of real ones.
package sdk

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A Batch is a sequence of commands for one configuration. The configuration has many independent pieces, so that many
// scenarios cost as many commands as one.
type Batch struct {
	Seed   uint64
	Pieces []*Piece
	Steps  []Command
}

// A Command is the command of both engines in a step.
type Command struct {
	RefreshOnly bool
	NoRefresh   bool
	Destroy     bool
	Direct      bool   // the command apply makes the plan itself, without a plan file
	Schema      int    // the schema version for resource types with several versions
	Targets     bool   // the command gets -target for pieces with Step.Target set, and leaves out the other pieces
	Tags        string // the tags in both provider blocks, as an expression; "" for no tags
}

// A Piece is one scenario: an object with its dependencies and its dependents. Its resources are named NAME or NAME_x.
type Piece struct {
	Name  string
	Steps []*Step
}

// A Step is the part of a piece in one command.
type Step struct {
	Type    string            // the type of the resource; "" if the resource is not declared
	Module  bool              // the piece is written in a module that the root module calls
	Calls   string            // the argument count or for_each of the module call; "" for neither
	Repeat  string            // the argument count or for_each of the resource; "" for neither
	Args    map[string]string // text of each argument or group of blocks, by name; lifecycle is a group
	Around  map[string]string // text of other blocks in the module of the resource, by a short key
	Root    map[string]string // text of blocks that must be in the root module: moved, import, removed
	Faults  string            // words that ask the provider for faults, separated by blanks
	Drift   map[string]any    // new values of attributes that another user sets; a nil value is null
	Gone    bool              // another user deletes the object
	Late    bool              // other users make their changes between plan and apply, instead of before the plan
	Before  [][]string        // commands before the step, such as taint; their exit codes and some of their calls are compared
	Replace bool              // the command replaces the object with -replace
	Target  string            // the address for -target, if the command has targets
	Fatal   bool              // the plan may fail, so that the step changes nothing
}

// first returns the key of the first instance of a repetition, in brackets, or "" if repeat is "".
func first(repeat string) string {
	switch {
	case strings.HasPrefix(repeat, "count"):
		return "[0]"
	case repeat != "":
		return `["x"]`
	}
	return ""
}

// suffix returns a template for the end of the name of an object. It is empty for the first instance, so that this has
// the same name as without a repetition.
func suffix(repeat string) string {
	switch {
	case strings.HasPrefix(repeat, "count"):
		return `${count.index == 0 ? "" : "_${count.index}"}`
	case repeat != "":
		return `${each.key == "x" ? "" : "_${each.key}"}`
	}
	return ""
}

// inModule returns the address of a declaration in the piece, in the first instance of its module.
func (p *Piece) inModule(s *Step, addr string) string {
	if s.Module {
		return "module." + p.Name + first(s.Calls) + "." + addr
	}
	return addr
}

// addr returns the address of the first instance of the object.
func (p *Piece) addr(s *Step) string {
	return p.inModule(s, s.Type+"."+p.Name+first(s.Repeat))
}

// text returns the configuration of the piece without the part that is always in the root module.
func (p *Piece) text(s *Step) string {
	var b strings.Builder
	key := ""
	if s.Module {
		key = "${var.key}"
	}
	if s.Type != "" {
		fmt.Fprintf(&b, "resource %q %q {\n  name = \"%s%s%s\"\n", s.Type, p.Name, p.Name, key, suffix(s.Repeat))
		if s.Repeat != "" {
			fmt.Fprintf(&b, "  %s\n", s.Repeat)
		}
		for _, k := range slices.Sorted(maps.Keys(s.Args)) {
			fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(s.Args[k], "\n", "\n  "))
		}
		b.WriteString("}\n")
	}
	self := regexp.MustCompile(`\b` + s.Type + `\.` + p.Name + `\b`)
	for _, k := range slices.Sorted(maps.Keys(s.Around)) {
		text := strings.ReplaceAll(s.Around[k], "@KEY@", key)
		if at := first(s.Repeat); at != "" {
			if k == "o" { // the output has all instances, because the first instance may be missing in a refresh-only plan
				fmt.Fprintf(&b, "%s\n", outputOf.ReplaceAllString(text, "value = [for x in $1 : x.$2]"))
				continue
			}
			text = self.ReplaceAllString(text, s.Type+"."+p.Name+at)
		}
		fmt.Fprintf(&b, "%s\n", text)
	}
	return b.String()
}

// root returns the part of a piece that is always in the root module.
func (p *Piece) root(s *Step) string {
	text := ""
	for _, k := range slices.Sorted(maps.Keys(s.Root)) {
		text += s.Root[k] + "\n"
	}
	return text
}

// outputOf finds the value of an output.
var outputOf = regexp.MustCompile(`value += (\w+\.\w+)\.(\w+)`)

const header = `terraform {
  required_providers {
    old = { source = "example.com/sdk/old" }
    fw  = { source = "example.com/sdk/fw" }
  }
}
`

// whole returns all text of a piece in a step.
func (p *Piece) whole(s *Step) string {
	if s.Module {
		return s.Calls + "\n" + p.text(s) + p.root(s)
	}
	return p.text(s) + p.root(s)
}

// files returns the files of step n by relative path.
func (b *Batch) files(n int) map[string]string {
	text, files := header, map[string]string{}
	modules := []string{`{"Key":"","Source":"","Dir":"."}`}
	if tags := b.Steps[n].Tags; tags != "" {
		text += fmt.Sprintf("\nprovider \"old\" {\n  tags = %[1]s\n}\n\nprovider \"fw\" {\n  tags = %[1]s\n}\n", tags)
	}
	for _, p := range b.Pieces {
		s := p.Steps[n]
		if s.Module {
			files[p.Name+"/main.tf"] = header + "\nvariable \"key\" {\n  default = \"\"\n}\n\n" + p.text(s)
			modules = append(modules, fmt.Sprintf(`{"Key":%[1]q,"Source":"./%[1]s","Dir":%[1]q}`, p.Name))
			text += fmt.Sprintf("\nmodule %[1]q {\n  source = \"./%[1]s\"\n", p.Name)
			if s.Calls != "" {
				text += fmt.Sprintf("  %s\n  key = \"%s\"\n", s.Calls, strings.Replace(suffix(s.Calls), `"_`, `"_m`, 1))
			}
			text += "}\n"
		} else {
			text += "\n" + p.text(s)
		}
		text += p.root(s)
	}
	files["main.tf"] = text
	if len(modules) > 1 {
		files[".terraform/modules/modules.json"] = `{"Modules":[` + strings.Join(modules, ",") + "]}"
	}
	return files
}

// alone returns the batch with only one piece.
func (b *Batch) alone(p *Piece) *Batch {
	return &Batch{Seed: b.Seed, Pieces: []*Piece{p}, Steps: b.Steps}
}

// drop removes the pieces whose text matches a pattern in any step, or if match is false those whose text matches in
// none.
func (b *Batch) drop(pattern *regexp.Regexp, match bool) {
	b.Pieces = slices.DeleteFunc(b.Pieces, func(p *Piece) bool {
		return match == slices.ContainsFunc(p.Steps, func(s *Step) bool { return pattern.MatchString(p.whole(s)) })
	})
}

// options returns the options of plan and apply in step n.
func (b *Batch) options(n int) []string {
	c := b.Steps[n]
	var list []string
	if c.RefreshOnly {
		list = append(list, "-refresh-only")
	}
	if c.NoRefresh {
		list = append(list, "-refresh=false")
	}
	if c.Destroy {
		list = append(list, "-destroy")
	}
	for _, p := range b.Pieces {
		s := p.Steps[n]
		if s.Type == "" {
			continue
		}
		if s.Replace && !c.RefreshOnly && !c.Destroy {
			list = append(list, "-replace="+p.addr(s))
		}
		if c.Targets && s.Target != "" {
			list = append(list, "-target="+s.Target)
		}
	}
	return list
}

var ownerName = regexp.MustCompile(`\ba[0-9]+`)

// owner returns the name of the piece that an address belongs to, or "".
func owner(addr string) string { return ownerName.FindString(addr) }

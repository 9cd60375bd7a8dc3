// Package sdk compares Lethe with Terraform, call by call, with providers that have the habits of real ones.
package sdk

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A Batch is a sequence of commands over one configuration. The configuration has many pieces, which do not refer to each
// other: so many scenarios cost as many commands as one.
type Batch struct {
	Seed   uint64
	Pieces []*Piece
	Steps  []Command
}

// A Command is what both engines run in a step.
type Command struct {
	RefreshOnly bool
	NoRefresh   bool
	Destroy     bool
	Direct      bool // apply without a plan file
	Schema      int  // schema version of the types that have several
	Targets     bool // only the pieces that have Target set
}

// A Piece is one scenario: an object, what it is made from, and what is made from it. Its resources are named NAME or NAME_x.
type Piece struct {
	Name  string
	Steps []*Step
}

// A Step is the part of a piece in one command.
type Step struct {
	Type    string            // of the resource; "" if it is not declared
	Args    map[string]string // text of each argument or group of blocks, by name; "lifecycle" is one of them
	Around  map[string]string // text of other blocks, by what they are
	Faults  string            // words for the provider
	Drift   map[string]any    // values that the object gets outside; a nil value is null
	Gone    bool              // the object is deleted outside
	Before  [][]string        // commands before the step, such as taint; their output is not compared
	Replace bool              // -replace for the object
	Target  bool              // -target for the object, if the command has targets
	Fatal   bool              // may fail while planning, so that nothing is applied in this step
}

func (p *Piece) addr(s *Step) string { return s.Type + "." + p.Name }

// text is the configuration of the piece.
func (p *Piece) text(s *Step) string {
	var b strings.Builder
	if s.Type != "" {
		fmt.Fprintf(&b, "resource %q %q {\n", s.Type, p.Name)
		for _, k := range slices.Sorted(maps.Keys(s.Args)) {
			fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(s.Args[k], "\n", "\n  "))
		}
		b.WriteString("}\n")
	}
	for _, k := range slices.Sorted(maps.Keys(s.Around)) {
		fmt.Fprintf(&b, "%s\n", s.Around[k])
	}
	return b.String()
}

const header = `terraform {
  required_providers {
    old = { source = "example.com/sdk/old" }
    fw  = { source = "example.com/sdk/fw" }
  }
}
`

func (b *Batch) config(n int) string {
	text := header
	for _, p := range b.Pieces {
		text += "\n" + p.text(p.Steps[n])
	}
	return text
}

// alone is the batch with one piece only.
func (b *Batch) alone(p *Piece) *Batch {
	return &Batch{Seed: b.Seed, Pieces: []*Piece{p}, Steps: b.Steps}
}

// drop leaves out the pieces whose text in any step matches, or does not match.
func (b *Batch) drop(pattern *regexp.Regexp, match bool) {
	b.Pieces = slices.DeleteFunc(b.Pieces, func(p *Piece) bool {
		return match == slices.ContainsFunc(p.Steps, func(s *Step) bool { return pattern.MatchString(p.text(s)) })
	})
}

// options are the options of plan and apply.
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
		if c.Targets && s.Target {
			list = append(list, "-target="+p.addr(s))
		}
	}
	return list
}

// owner returns the name of the piece that an address belongs to.
func owner(addr string) string {
	addr, _, _ = strings.Cut(addr, "[")
	addr, _, _ = strings.Cut(addr, " ")
	addr = addr[strings.LastIndexByte(addr, '.')+1:]
	name, _, _ := strings.Cut(addr, "_")
	return name
}

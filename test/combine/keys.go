package combine

import (
	"encoding/json"
	"strconv"
)

// This file computes the instances of blocks without an evaluation, so that most references name existing instances.

// A tree maps each called module to its call. The root module has no entry.
type tree map[*Module]call

// call is a call of a module: the block that calls, and the module that contains this block.
type call struct {
	in *Module
	by *Block
}

func (m *Module) tree() tree {
	t := tree{}
	m.each(func(in *Module, b *Block) {
		if b.Module != nil {
			t[b.Module] = call{in, b}
		}
	})
	return t
}

// keys returns the keys that a repeated block certainly has: numbers from 0 as text for count, and the keys of
// for_each. It returns nil for a block that is not repeated.
func (t tree) keys(m *Module, b *Block) []string {
	switch r := b.repeats(); r {
	case "count":
		var all []string
		for i := range t.number(m, b.arg(r)) {
			all = append(all, strconv.Itoa(i))
		}
		return all
	case "for_each":
		return t.over(m, b.arg(r))
	}
	return nil
}

// over returns the keys that a block certainly has if e is its for_each, or the keys of the instances in e. It omits
// keys that it cannot compute.
func (t tree) over(m *Module, e *Expr) []string {
	if e == nil {
		return nil
	}
	var all []string
	switch e.Op {
	case "lit":
		if e.Type == Map {
			return []string{"p"} // the key that the function heal sets
		}
		_ = json.Unmarshal([]byte(e.Text), &all)
	case "map":
		for i := 0; i < len(e.Args); i += 2 {
			all = append(all, e.Args[i].Text)
		}
	case "list":
		for _, a := range e.Args {
			if s, err := strconv.Unquote(a.Text); err == nil && a.Op == "lit" {
				all = append(all, s)
			}
		}
	case "fn", "for":
		return t.over(m, e.Args[0])
	case "whole":
		b := m.find(e.Ref)
		switch {
		case b == nil || b.optional():
			return nil
		case b.repeats() == "for_each":
			return t.keys(m, b)
		case b.repeats() == "":
			return []string{"p"}
		}
		for _, k := range t.keys(m, b) {
			all = append(all, "p"+k)
		}
	case "ref":
		if e.Path == "names" {
			return []string{"p"}
		}
		if in, v := t.value(m, e); v != nil && v.Type != Text {
			return t.over(in, v)
		}
	}
	return all
}

// number returns the least value that an expression can have, or 0 if that is not known.
func (t tree) number(m *Module, e *Expr) int {
	if e == nil {
		return 0
	}
	switch e.Op {
	case "lit":
		n, _ := strconv.Atoi(e.Text)
		return n
	case "fn":
		return len(t.over(m, e.Args[0]))
	case "ref":
		return t.number(t.value(m, e))
	}
	return 0
}

// value returns the value of the variable or the local that e refers to, and the module in which that value is written.
// The value is nil if e refers to something else.
func (t tree) value(m *Module, e *Expr) (*Module, *Expr) {
	b := m.find(e.Ref)
	switch {
	case b == nil || b.Kind != Variable && b.Kind != Local:
		return m, nil
	case b.arg("value") != nil:
		return m, b.arg("value")
	}
	if c, ok := t[m]; ok && c.by.arg(b.Name) != nil {
		return c.in, c.by.arg(b.Name)
	}
	return m, b.arg("default")
}

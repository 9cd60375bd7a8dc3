package combine

import (
	"maps"
	"slices"
	"strings"
)

// Shrink removes the parts of a scenario that the finding does not need. It returns the smallest scenario that it found
// with a finding of the class, and this finding. If no smaller scenario has one, it returns s and an empty Finding. It
// runs at most attempts scenarios.
func (l *Lab) Shrink(s *Scenario, class string, attempts int) (*Scenario, Finding) {
	alone := *l
	if !strings.HasPrefix(class, peer) && !s.peerBefore() {
		alone.Terraform = "" // without Terraform the scenario runs faster
	}
	var seen Finding
	tried := map[string]bool{}
	holds := func(c *Scenario) bool {
		for _, st := range c.Steps {
			heal(st.Config)
		}
		text := c.text()
		if tried[text] || attempts <= 0 {
			return false
		}
		tried[text] = true
		attempts--
		found, err := alone.Play(c)
		if err != nil {
			return false
		}
		for _, f := range found {
			if f.Class == class {
				seen = f
				return true
			}
		}
		return false
	}
	for again := true; again && attempts > 0; {
		again = false
		for _, smaller := range reductions {
			for i := 0; ; i++ {
				c := s.clone()
				more, changed := smaller(c, i)
				if !more {
					break
				}
				if changed && holds(c) {
					s, again, i = c, true, i-1
				}
			}
		}
	}
	return s, seen
}

// A reduction changes a scenario: it makes the part number i of a kind smaller, counted from 0. The result more is true
// if part i exists, and changed if the scenario changed.
type reduction func(s *Scenario, i int) (more, changed bool)

var reductions = []reduction{withoutLater, withoutStep, withoutBlocks, withoutBlock, asBefore, withoutEdit, withoutForm, withoutArg, plainCommand, withoutTrouble, plainExpr}

func withoutLater(s *Scenario, i int) (bool, bool) {
	n := i + 1
	if n >= len(s.Steps) {
		return false, false
	}
	s.Steps = s.Steps[:n]
	return true, true
}

func withoutStep(s *Scenario, i int) (bool, bool) {
	if i >= len(s.Steps) || len(s.Steps) < 2 {
		return false, false
	}
	s.Steps = slices.Delete(s.Steps, i, i+1)
	return true, true
}

// ids returns the IDs of all blocks of a scenario.
func (s *Scenario) ids() []int {
	all := map[int]bool{}
	for _, st := range s.Steps {
		st.Config.each(func(_ *Module, b *Block) { all[b.ID] = true })
	}
	return slices.Sorted(maps.Keys(all))
}

// inAll calls f for a block in each step that has it.
func (s *Scenario) inAll(id int, f func(m *Module, b *Block)) {
	for _, st := range s.Steps {
		st.Config.each(func(m *Module, b *Block) {
			if b.ID == id {
				f(m, b)
			}
		})
	}
}

// peerBefore reports whether the peer runs one of the steps.
func (s *Scenario) peerBefore() bool {
	return slices.ContainsFunc(s.Steps, func(st *Step) bool { return st.Do.Peer })
}

// withoutBlocks is a reduction that removes one part of the blocks of a scenario. i counts the parts: two halves, then
// four quarters, then eight eighths. For a part of one block, the result changed is false, because withoutBlock removes
// single blocks.
func withoutBlocks(s *Scenario, i int) (bool, bool) {
	ids := s.ids()
	for _, parts := range []int{2, 4, 8} {
		if i >= parts {
			i -= parts
			continue
		}
		gone := ids[len(ids)*i/parts : len(ids)*(i+1)/parts]
		for _, id := range gone {
			s.inAll(id, func(m *Module, b *Block) {
				m.Blocks = slices.DeleteFunc(m.Blocks, func(t *Block) bool { return t.ID == id })
			})
		}
		return true, len(gone) > 1
	}
	return false, false
}

func withoutBlock(s *Scenario, i int) (bool, bool) {
	ids := s.ids()
	if i >= len(ids) {
		return false, false
	}
	id := ids[len(ids)-1-i]
	s.inAll(id, func(m *Module, b *Block) {
		m.Blocks = slices.DeleteFunc(m.Blocks, func(t *Block) bool { return t.ID == id })
	})
	return true, true
}

// asBefore is a reduction that replaces the configuration of the step i+1 by the configuration of the previous step.
func asBefore(s *Scenario, i int) (bool, bool) {
	if i+1 >= len(s.Steps) {
		return false, false
	}
	s.Steps[i+1].Config = s.Steps[i].Config.clone()
	return true, true
}

// withoutEdit replaces a block by its form in the previous step, or removes it if the previous step does not have it. i
// counts the pairs of a step and a block. The results are false if i is too large, and whether the scenario changed.
func withoutEdit(s *Scenario, i int) (bool, bool) {
	ids := s.ids()
	step, at := 1+i/max(len(ids), 1), 0
	if step >= len(s.Steps) {
		return false, false
	}
	at = ids[i%len(ids)]
	var was *Block
	s.Steps[step-1].Config.each(func(_ *Module, b *Block) {
		if b.ID == at {
			was = b
		}
	})
	changed := false
	s.Steps[step].Config.each(func(m *Module, b *Block) {
		if b.ID != at {
			return
		}
		for k, t := range m.Blocks {
			if t == b && was == nil {
				m.Blocks = slices.Delete(m.Blocks, k, k+1)
				changed = true
				return
			}
			if t == b {
				m.Blocks[k] = was.clone()
				changed = true
			}
		}
	})
	return true, changed
}

// parts calls f for the parts of a block that can be removed: arguments and nested blocks.
func (b *Block) parts(prefix string, f func(name string, drop func())) {
	for _, a := range slices.Clone(b.Args) {
		f(prefix+a.Name, func() { b.drop(a.Name) })
	}
	for i, n := range slices.Clone(b.Nested) {
		name := prefix + n.Type + n.Name + string(rune('0'+i)) + "/"
		f(name, func() { b.Nested = slices.DeleteFunc(b.Nested, func(t *Block) bool { return t == n }) })
		n.parts(name, f)
	}
}

// withoutArg is a reduction that removes an argument or a nested block from all steps.
func withoutArg(s *Scenario, i int) (bool, bool) {
	type place struct {
		id   int
		name string
	}
	var places []place
	for _, st := range s.Steps {
		st.Config.each(func(_ *Module, b *Block) {
			b.parts("", func(name string, _ func()) {
				p := place{b.ID, name}
				if !slices.Contains(places, p) && !needed(b, name) {
					places = append(places, p)
				}
			})
		})
	}
	if i >= len(places) {
		return false, false
	}
	s.inAll(places[i].id, func(_ *Module, b *Block) {
		var drops []func()
		b.parts("", func(name string, drop func()) {
			if name == places[i].name {
				drops = append(drops, drop)
			}
		})
		for _, d := range drops {
			d()
		}
	})
	return true, true
}

// withoutForm is a reduction that writes blocks in native form: all blocks if i is 0, and otherwise one block.
func withoutForm(s *Scenario, i int) (bool, bool) {
	ids := s.ids()
	if i > len(ids) {
		return false, false
	}
	if i > 0 {
		ids = ids[i-1 : i]
	}
	changed := false
	for _, id := range ids {
		s.inAll(id, func(_ *Module, b *Block) {
			changed = changed || b.Form != Native
			b.Form = Native
		})
	}
	return true, changed
}

// needed reports whether a block is invalid without the argument.
func needed(b *Block, name string) bool {
	switch b.Kind {
	case Moved, Removed, Import, Output, Local:
		return name == "from" || name == "to" || name == "id" || name == "value"
	case Variable:
		return name == "type" || name == "default"
	}
	return name == "name"
}

func plainCommand(s *Scenario, i int) (bool, bool) {
	const kinds = 7
	if i >= kinds*len(s.Steps) {
		return false, false
	}
	d := &s.Steps[i/kinds].Do
	switch i % kinds {
	case 0:
		d.Target = nil
	case 1:
		d.Exclude = nil
	case 2:
		d.Replace = nil
	case 3:
		d.Refresh = ""
	case 4:
		d.Process = false
	case 5:
		d.Peer = false
	case 6:
		d.Destroy, d.Apply = false, true
	}
	return true, true
}

func withoutTrouble(s *Scenario, i int) (bool, bool) {
	for _, st := range s.Steps {
		if i < len(st.Drifts) {
			st.Drifts = slices.Delete(st.Drifts, i, i+1)
			return true, true
		}
		i -= len(st.Drifts)
		if i < len(st.Faults) {
			st.Faults = slices.Delete(st.Faults, i, i+1)
			return true, true
		}
		i -= len(st.Faults)
	}
	return false, false
}

// plainExpr is a reduction that replaces an expression by a literal or by a part of it, in all steps in which the
// expression is the same.
func plainExpr(s *Scenario, i int) (bool, bool) {
	k, done := 0, false
	var was, now string
	replace := func(e *Expr) {
		if e.Op == "lit" || e.Op == "addr" || e.Type == Raw {
			return
		}
		var options []*Expr
		options = append(options, plainly(e))
		for _, a := range e.Args {
			if a.Type == e.Type {
				options = append(options, a)
			}
		}
		if e.Op == "list" || e.Op == "map" {
			options = nil
			for a := 0; a < len(e.Args) && len(e.Args) > 2; a += 2 {
				c := e.clone()
				c.Args = slices.Delete(c.Args, a, a+2)
				options = append(options, c)
			}
		}
		for _, o := range options {
			if text := compact(e) + compact(o); done && text == was+now {
				*e = *o.clone()
				return
			}
			if !done && k == i {
				done, was, now = true, compact(e), compact(o)
				*e = *o.clone()
				return
			}
			k++
		}
	}
	for _, st := range s.Steps {
		st.Config.each(func(_ *Module, b *Block) {
			for _, a := range b.Args {
				if a.Name != "name" && a.Name != "where" { // the attributes name and where stay as they are, so that the names of objects stay different
					a.Value.each(replace)
				}
			}
			for _, n := range b.Nested {
				n.exprs(replace)
			}
		})
	}
	return done, done
}

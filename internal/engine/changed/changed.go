// Package changed finds out which resources of a program are not as a run left them: those whose configuration is
// another, whose objects are, or those of what they are made from. So it does for root outputs, and for conditions. A plan
// of these, of what refers to them and of what they need changes what a plan of everything would, as long as nothing
// changed outside.
//
// Of what the configuration says of a resource there is a digest (Stamps): of the text of its block, and of everything
// that this refers to up to other resources: locals, values of variables, calls of modules around it, settings and
// versions of providers. What calls functions that give another result each time, or read files, has none, and counts
// as changed. A store keeps the digest with those of objects (store.Stamp), and tells which of them are the same. Nothing
// is evaluated but root variables, by the caller.
//
// Files stand in layers: changed.go, stamps.go, texts.go.
package changed

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// Reach is what there is to plan.
type Reach struct {
	Whole   bool          // everything is
	Targets []addr.Target // the resources, each with all instances, that a plan is about; what they need is not among them
	Part    []string      // these, and all that they need, by address without keys: what is to be known of the state
	Changed int           // how many of them are not as a run left them
}

// Reach finds out what there is to plan, by what a store has of the stamps. more are resources that are planned in any
// case.
func (m *Stamps) Reach(r *store.Review, more []addr.Resource) (*Reach, error) {
	b := &reacher{m: m, program: m.request.Program, needed: map[program.Decl]bool{}, chosen: map[program.Decl]bool{}, part: map[string]bool{}, back: map[program.Decl][]program.Decl{}}
	decls, resources := m.request.Program.Decls(), 0
	for _, d := range decls {
		for _, ref := range m.request.Program.Refs(d.ID) {
			b.back[ref.To] = append(b.back[ref.To], d.ID)
		}
	}
	out := &Reach{}
	names := map[string]bool{}
	for _, d := range decls {
		name := m.name(d)
		if name == "" {
			continue
		}
		if d.Kind == program.Resource {
			resources++
		}
		names[name] = true
		if _, known := m.Known[name]; !known || !r.Same[name] || slices.Contains(more, d.Resource) {
			b.forward(d.ID)
			if d.Kind == program.Resource {
				out.Changed++
			}
		}
	}
	chosen := b.resources()
	if out.Whole = len(chosen) == resources; out.Whole {
		return out, nil
	}
	for _, name := range r.Resources { // what only the state knows
		if !names[name] {
			chosen = append(chosen, name)
			b.part[name] = true
			out.Changed++
		}
	}
	for _, name := range chosen {
		t, err := addr.ParseTarget(name)
		if err != nil {
			return nil, err
		}
		out.Targets = append(out.Targets, t)
	}
	out.Part = slices.Sorted(maps.Keys(b.part))
	return out, nil
}

// Needs are the resources whose objects a plan of targets is made from, and all that only the state knows. It is nil
// where that is not known: objects may come from anywhere by moved blocks.
func Needs(p *program.Program, r *store.Review, targets []addr.Target) []string {
	if len(p.Moves()) > 0 {
		return nil
	}
	b := &reacher{program: p, part: map[string]bool{}, needed: map[program.Decl]bool{}}
	declared := map[string]bool{}
	for _, d := range p.Decls() {
		if d.Kind != program.Resource {
			continue
		}
		declared[d.Resource.String()] = true
		if slices.ContainsFunc(targets, func(t addr.Target) bool { return t.Covers(d.Resource) }) {
			b.need(d.ID)
		}
	}
	for _, name := range r.Resources {
		if !declared[name] {
			b.part[name] = true
		}
	}
	return slices.AppendSeq([]string{}, maps.Keys(b.part))
}

// Settled are the stamps of that for which nothing is left to do once a plan was carried out, with these results of
// conditions: what does not hold is looked at again.
func (m *Stamps) Settled(p *plan.Plan, results []state.Check) map[string]store.Stamp {
	if p.Mode != plan.Normal || p.Errored || len(p.Deferred) > 0 || !p.Changed && len(p.Targets)+len(p.Excludes) > 0 {
		return nil
	}
	chosen, held, out := map[string]bool{}, map[string]bool{}, map[string]store.Stamp{}
	for _, t := range p.Targets {
		chosen[t.String()] = true
	}
	for _, c := range results {
		held[c.Addr] = c.Status == state.Pass
	}
	for name, stamp := range m.Known {
		d := m.values[name]
		switch {
		case d != nil && declared.HasConditions(d) && !held[d.String()]:
		case !p.Changed || chosen[name] || d != nil && !slices.ContainsFunc(stamp.Of, func(of string) bool { return !chosen[of] }):
			out[name] = stamp
		}
	}
	return out
}

// reacher works out what there is to plan.
type reacher struct {
	m       *Stamps
	program *program.Program
	back    map[program.Decl][]program.Decl // who refers to a declaration
	chosen  map[program.Decl]bool           // declarations that change, or that refer to one that does
	needed  map[program.Decl]bool           // and all that these refer to
	part    map[string]bool                 // the resources among them
}

// need collects a declaration and all that it refers to.
func (b *reacher) need(d program.Decl) {
	if b.needed[d] {
		return
	}
	b.needed[d] = true
	if decl := b.program.Decls()[d]; decl.Kind == program.Resource && stampName(decl) != "" {
		b.part[decl.Resource.String()] = true
	}
	for _, ref := range b.program.Refs(d) {
		b.need(ref.To)
	}
}

// forward chooses a declaration and all that refer to it.
func (b *reacher) forward(from program.Decl) {
	for queue := []program.Decl{from}; len(queue) > 0; queue = queue[1:] {
		if d := queue[0]; !b.chosen[d] {
			b.chosen[d] = true
			queue = append(queue, b.back[d]...)
		}
	}
}

// resources names those that are planned: that are chosen, and that a chosen output, or a condition, is made from, which
// has no value without them. It collects the part.
func (b *reacher) resources() []string {
	decls, out := b.program.Decls(), map[string]bool{}
	for d := range b.chosen {
		switch name := b.m.name(decls[d]); {
		case name == "":
			continue
		case decls[d].Kind == program.Resource:
			out[name] = true
		default:
			for _, of := range b.m.of(d) {
				out[of] = true
			}
		}
		b.need(d)
	}
	return slices.Sorted(maps.Keys(out))
}

// Package changed determines which resources of a program have changed since the last run. A resource has changed if
// its configuration, its objects or one of its dependencies has changed. The package also determines which root outputs
// and conditions have changed. A plan of the changed resources, their dependents and their dependencies makes the same
// changes as a plan of all resources, unless objects were changed outside of Lethe. The command plan -changed makes
// such a plan.
//
// Stamps has a digest of the configuration of each resource. The digest covers the text of the block and everything to
// which the block refers, up to other resources: locals, values of variables, module calls around it, settings and
// versions of providers. A block that calls functions with varying results, or that reads files, has no digest and
// counts as changed. A store keeps the digests of the last run with digests of the objects (store.Stamp), and reports
// which digests are unchanged. The package evaluates nothing. The caller passes the values of root variables.
//
// Of the files changed.go, stamps.go and texts.go, each uses only files later in this list.
package changed

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store"
)

// Reach is the scope of a plan of the changed resources.
type Reach struct {
	Whole   bool          // the plan must cover all resources; Targets and Part are then empty, and Changed lacks the resources that only the state has
	Targets []addr.Target // the resources to plan, each with all instances, without the dependencies of these resources
	Part    []string      // addresses without keys of the resources that the plan needs from the state: the targets and all their dependencies
	Changed int           // number of changed resources, including resources that only the state has
}

// Reach returns the scope of a plan of the changed resources. r is the comparison of the digests of m with the digests
// in a store. Resources in more count as changed, too. Reach returns an error if the store has a resource name that is
// not an address.
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
	for _, name := range r.Resources { // resources that only the state has
		if !names[name] {
			chosen = append(chosen, name)
			b.needUndeclared(name)
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

// Needs returns the addresses of the resources that a plan with the targets needs from the state: the targets, their
// dependencies, and all resources that only the state has. It returns nil if the program has moved blocks: then an
// object can come from the address of any resource, and the plan needs the whole state.
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
			b.needUndeclared(name)
		}
	}
	return slices.AppendSeq([]string{}, maps.Keys(b.part))
}

// Settled returns the stamps (digests with dependencies) to store after the plan p was applied: of the resources,
// outputs and conditions that p has planned completely. results has the results of conditions. A value whose conditions
// did not pass gets no stamp, so that the next plan evaluates it again. Settled returns nil if the plan has errors or
// deferred changes, if it is a destroy or refresh-only plan, or if the user selected -target or -exclude.
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

// reacher computes the scope of a plan.
type reacher struct {
	m       *Stamps
	program *program.Program
	back    map[program.Decl][]program.Decl // the declarations that refer to a declaration
	chosen  map[program.Decl]bool           // changed declarations, and declarations that refer to them, directly or indirectly
	needed  map[program.Decl]bool           // declarations that the method need has visited: the plan needs the objects of the resources among them
	part    map[string]bool                 // addresses of the resources in needed, and of the resources that only the state has
}

// need adds a declaration and all its dependencies to needed and part.
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

// needUndeclared adds a resource that only the state has, and the dependencies of all providers. One of the providers
// destroys the objects of the resource, and its settings would be unknown without the objects to which they refer. The
// store does not report which provider this is.
func (b *reacher) needUndeclared(name string) {
	b.part[name] = true
	for _, d := range b.program.Decls() {
		if d.Kind == program.Provider {
			b.need(d.ID)
		}
	}
}

// forward adds a declaration, and all declarations that refer to it directly or indirectly, to chosen.
func (b *reacher) forward(from program.Decl) {
	for queue := []program.Decl{from}; len(queue) > 0; queue = queue[1:] {
		if d := queue[0]; !b.chosen[d] {
			b.chosen[d] = true
			queue = append(queue, b.back[d]...)
		}
	}
}

// resources returns the addresses of the resources to plan: the chosen resources, and the resources to which chosen
// outputs and conditions refer. These values are unknown without their resources. resources also adds the dependencies
// to b.part.
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

package vet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/walk"
)

// A cycle is a strongly connected component of the references: several declarations that need one another, or one
// declaration that needs itself. The message shows a shortest path around the cycle.

// findCycles reports one cycle of each set of declarations that depend on each other, and tells the program which
// declarations are part of a cycle or depend on one (Program.SetEndless). If it finds a cycle, it returns false.
func findCycles(p *program.Program, bag *diag.Bag) bool {
	of, nodes := walk.Components(len(p.Decls()), func(d int32) []program.Ref { return p.Refs(program.Decl(d)) }, func(r program.Ref) int32 { return int32(r.To) })
	endless := map[program.Decl]bool{}
	ok := true
	var component []program.Decl
	for i, d := range nodes {
		component = append(component, program.Decl(d))
		if i+1 < len(nodes) && of[nodes[i+1]] == of[d] {
			continue
		}
		cycle := reportCycle(p, component, bag)
		if ok = ok && !cycle; !ok {
			withEndless(p, endless, component, cycle)
		}
		component = component[:0]
	}
	p.SetEndless(endless)
	return ok
}

// withEndless adds the members of a component to set if the component is a cycle (endless is true) or depends on a
// member of set. The caller must pass a component after all components on which it depends.
func withEndless(p *program.Program, set map[program.Decl]bool, component []program.Decl, endless bool) {
	for _, r := range p.Refs(component[0]) {
		endless = endless || set[r.To]
	}
	if !endless {
		return
	}
	for _, d := range component {
		set[d] = true
	}
}

// shownHops is the maximum number of references of a cycle that a message lists.
const shownHops = 40

// reportCycle reports whether a component is a cycle. If it is, reportCycle adds an error, unless an error about this
// cycle was added before.
func reportCycle(p *program.Program, component []program.Decl, bag *diag.Bag) bool {
	if len(component) == 1 {
		return reportSelf(p, component[0], bag)
	}
	if reportedAt(p, component, bag) {
		return true
	}
	steps := cyclePath(p, component)
	first := steps[0]
	var b strings.Builder
	b.WriteString("These declarations depend on each other:\n")
	for i, r := range steps {
		if skip := len(steps) - shownHops; skip > 0 && i >= shownHops/2 && i < shownHops/2+skip {
			if i == shownHops/2 {
				fmt.Fprintf(&b, "\n  ... and %d more ...", skip)
			}
			continue
		}
		from, to := p.Decls()[r.from], p.Decls()[r.ref.To]
		fmt.Fprintf(&b, "\n  %s refers to %s (%s:%d)", name(from), name(to), r.ref.Range.Filename, r.ref.Range.Start.Line)
	}
	b.WriteString("\n\nRemove one of these references, or move the shared part into a separate declaration.")
	d := diag.Errorf("Cycle", "%s", b.String()).At(first.ref.Range)
	for _, r := range steps[1:min(len(steps), shownHops)] {
		d = d.See(name(p.Decls()[r.from])+" refers to "+name(p.Decls()[r.ref.To]), r.ref.Range)
	}
	bag.Add(d)
	return true
}

// reportedAt reports whether a static evaluation, before the program was compiled, has already added an error about
// this cycle.
func reportedAt(p *program.Program, component []program.Decl, bag *diag.Bag) bool {
	for _, reported := range bag.List() {
		if reported.Summary == "Cycle" && reported.Subject != nil && slices.ContainsFunc(component, func(d program.Decl) bool { return p.Decls()[d].Range == *reported.Subject }) {
			return true
		}
	}
	return false
}

// name returns the name of a declaration in messages.
func name(d *program.Declaration) string {
	switch d.Kind {
	case program.ModuleContents:
		return d.String() + " (as a whole)"
	case program.Output:
		if !d.Module.IsRoot() {
			return d.Module.String() + "." + d.Name
		}
	case program.Provider:
		local := "provider " + d.Name
		if !d.Module.IsRoot() {
			local += " in " + d.Module.String()
		}
		return local
	}
	return d.String()
}

func reportSelf(p *program.Program, d program.Decl, bag *diag.Bag) bool {
	for _, r := range p.Refs(d) {
		if r.To != d {
			continue
		}
		if reportedAt(p, []program.Decl{d}, bag) {
			return true
		}
		what := p.Decls()[d]
		if what.Kind == program.Local {
			bag.Add(diag.Errorf("Self-referencing local value", "Local value %s cannot use its own result as part of its expression.", name(what)).At(r.Range).About(what))
			return true
		}
		bag.Add(diag.Errorf("Self-referential block", "Configuration for %s may not refer to itself.%s", name(what), selfHint(what, r)).At(r.Range).About(what))
		return true
	}
	return false
}

func selfHint(d *program.Declaration, r program.Ref) string {
	if d.Kind == program.Resource && r.Use&(program.ByProvision|program.ByCondition) != 0 {
		return ` In postconditions, provisioners and connections, use "self" for the object that the block declares.`
	}
	return ""
}

// cycleStep is one reference on a path around a cycle.
type cycleStep struct {
	from program.Decl
	ref  program.Ref
}

// cyclePath returns a shortest cycle through the declaration of the component with the lowest index.
func cyclePath(p *program.Program, component []program.Decl) []cycleStep {
	in := make(map[program.Decl]bool, len(component))
	start := component[0]
	for _, d := range component {
		in[d] = true
		start = min(start, d)
	}
	came := map[program.Decl]cycleStep{}
	queue := []program.Decl{start}
	for len(queue) > 0 {
		d := queue[0]
		queue = queue[1:]
		for _, r := range p.Refs(d) {
			if r.To == start {
				return unwind(came, cycleStep{d, r}, start)
			}
			if _, seen := came[r.To]; seen || !in[r.To] {
				continue
			}
			came[r.To] = cycleStep{d, r}
			queue = append(queue, r.To)
		}
	}
	panic("lang: a component without a cycle")
}

func unwind(came map[program.Decl]cycleStep, last cycleStep, start program.Decl) []cycleStep {
	steps := []cycleStep{last}
	for d := last.from; d != start; d = came[d].from {
		steps = append(steps, came[d])
	}
	for i, j := 0, len(steps)-1; i < j; i, j = i+1, j-1 {
		steps[i], steps[j] = steps[j], steps[i]
	}
	return steps
}

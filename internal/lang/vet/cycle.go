package vet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// Cycles are found by one pass of Tarjan's algorithm over the reference index, without recursion
// because chains of declarations can be as long as the configuration. A component with more than
// one member, or with a reference to itself, is a cycle, and the message shows a shortest way
// round through it.

// findCycles reports every cycle once, and tells the program what needs one.
func findCycles(p *program.Program, bag *diag.Bag) bool {
	n := len(p.Decls())
	s := &scc{p: p, index: make([]int32, n), low: make([]int32, n), onStack: make([]bool, n)}
	endless := map[program.Decl]bool{}
	ok := true
	for d := range n {
		if s.index[d] != 0 {
			continue
		}
		s.visit(program.Decl(d), func(component []program.Decl) {
			cycle := reportCycle(p, component, bag)
			if ok = ok && !cycle; !ok {
				withEndless(p, endless, component, cycle)
			}
		})
	}
	p.SetEndless(endless)
	return ok
}

// withEndless adds the members of a component that is a cycle, or that needs what was added already: a component
// is found after all that it needs.
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

type scc struct {
	p       *program.Program
	index   []int32 // 1-based order of discovery; 0: not yet seen
	low     []int32
	onStack []bool
	stack   []program.Decl
	next    int32
	calls   []frameOfVisit
}

type frameOfVisit struct {
	d    program.Decl
	edge int
}

func (s *scc) enter(d program.Decl) {
	s.next++
	s.index[d], s.low[d] = s.next, s.next
	s.stack = append(s.stack, d)
	s.onStack[d] = true
	s.calls = append(s.calls, frameOfVisit{d: d})
}

func (s *scc) visit(start program.Decl, found func([]program.Decl)) {
	s.enter(start)
	for len(s.calls) > 0 {
		top := &s.calls[len(s.calls)-1]
		refs := s.p.Refs(top.d)
		if top.edge < len(refs) {
			to := refs[top.edge].To
			top.edge++
			switch {
			case s.index[to] == 0:
				s.enter(to)
			case s.onStack[to]:
				s.low[top.d] = min(s.low[top.d], s.index[to])
			}
			continue
		}
		d := top.d
		s.calls = s.calls[:len(s.calls)-1]
		if len(s.calls) > 0 {
			parent := s.calls[len(s.calls)-1].d
			s.low[parent] = min(s.low[parent], s.low[d])
		}
		if s.low[d] == s.index[d] {
			found(s.pop(d))
		}
	}
}

func (s *scc) pop(root program.Decl) []program.Decl {
	for i := len(s.stack) - 1; ; i-- {
		s.onStack[s.stack[i]] = false
		if s.stack[i] == root {
			out := s.stack[i:]
			s.stack = s.stack[:i]
			return out
		}
	}
}

// shownHops is how many references of a long cycle a message lists.
const shownHops = 40

// reportCycle reports a component that is one.
func reportCycle(p *program.Program, component []program.Decl, bag *diag.Bag) bool {
	if len(component) == 1 {
		return reportSelf(p, component[0], bag)
	}
	if reportedAt(p, component, bag) {
		return true
	}
	way := cyclePath(p, component)
	first := way[0]
	var b strings.Builder
	b.WriteString("These declarations need each other, so none of them can come first:\n")
	for i, r := range way {
		if skip := len(way) - shownHops; skip > 0 && i >= shownHops/2 && i < shownHops/2+skip {
			if i == shownHops/2 {
				fmt.Fprintf(&b, "\n  ... and %d more ...", skip)
			}
			continue
		}
		from, to := p.Decls()[r.from], p.Decls()[r.ref.To]
		fmt.Fprintf(&b, "\n  %s refers to %s (%s:%d)", name(from), name(to), r.ref.Range.Filename, r.ref.Range.Start.Line)
	}
	b.WriteString("\n\nRemove one of these references, or move what both sides need into a declaration of its own.")
	d := diag.Errorf("Cycle", "%s", b.String()).At(first.ref.Range)
	for _, r := range way[1:min(len(way), shownHops)] {
		d = d.See(name(p.Decls()[r.from])+" refers to "+name(p.Decls()[r.ref.To]), r.ref.Range)
	}
	bag.Add(d)
	return true
}

// reportedAt reports whether a static evaluation ran into the cycle before there was a program to look for it in.
func reportedAt(p *program.Program, component []program.Decl, bag *diag.Bag) bool {
	for _, reported := range bag.List() {
		if reported.Summary == "Cycle" && reported.Subject != nil && slices.ContainsFunc(component, func(d program.Decl) bool { return p.Decls()[d].Range == *reported.Subject }) {
			return true
		}
	}
	return false
}

// name is what a message calls a declaration.
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

// cycleStep is one reference on a way.
type cycleStep struct {
	from program.Decl
	ref  program.Ref
}

// cyclePath is a shortest cycle through the smallest declaration of a component.
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
				return unwind(p, came, cycleStep{d, r}, start)
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

func unwind(p *program.Program, came map[program.Decl]cycleStep, last cycleStep, start program.Decl) []cycleStep {
	way := []cycleStep{last}
	for d := last.from; d != start; d = came[d].from {
		way = append(way, came[d])
	}
	for i, j := 0, len(way)-1; i < j; i, j = i+1, j-1 {
		way[i], way[j] = way[j], way[i]
	}
	return way
}

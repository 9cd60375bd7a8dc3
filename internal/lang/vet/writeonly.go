package vet

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// writeOnlyOutputs refuses root outputs that select a write-only attribute, directly or through
// locals and outputs of modules, unless they are sensitive. The attribute's value is null wherever
// it is kept; that the output names it shows that a secret is meant. Whole objects that merely
// contain such an attribute pass.
func (c *checker) writeOnlyOutputs() {
	w := &writeOnlyWalk{c: c, seen: map[program.Decl]bool{}, direct: map[program.Decl]bool{}}
	w.collect()
	if len(w.direct) == 0 {
		return
	}
	root := c.p.Root()
	for _, name := range slices.Sorted(maps.Keys(root.Unit.Module.Outputs)) {
		o := root.Unit.Module.Outputs[name]
		i, _ := root.Unit.Index(program.Output, name)
		clear(w.seen)
		if o.Sensitive || !w.reaches(root.Decl(i)) {
			continue
		}
		c.error(diag.Errorf("An output referencing a sensitive value needs to be marked with sensitive too", "For security reasons, any output that is referencing a sensitive value is required to also be configured the same, and this one selects a write-only attribute. If the root module really wants to export this sensitive value, you need to annotate it with the following argument:\n    sensitive = true").At(o.Range))
	}
}

type writeOnlyWalk struct {
	c      *checker
	direct map[program.Decl]bool // declarations whose own text selects a write-only attribute
	seen   map[program.Decl]bool
}

func (w *writeOnlyWalk) collect() {
	p := w.c.p
	for n := range p.Nodes() {
		for i := range n.Unit.Paths {
			s := &n.Unit.Paths[i]
			sch := p.Schema(n.Decl(s.Target.Local))
			if s.From >= 0 && sch != nil && sch.IsWriteOnly(expr.Path(s.Rest)) {
				w.direct[n.Decl(s.From)] = true
			}
		}
	}
}

// reaches follows values.
func (w *writeOnlyWalk) reaches(d program.Decl) bool {
	if w.direct[d] {
		return true
	}
	if w.seen[d] {
		return false
	}
	w.seen[d] = true
	for _, r := range w.c.p.Refs(d) {
		switch w.c.p.Decls()[r.To].Kind {
		case program.Local, program.Output, program.Variable:
			if r.Use&program.ByValue != 0 && w.reaches(r.To) {
				return true
			}
		}
	}
	return false
}

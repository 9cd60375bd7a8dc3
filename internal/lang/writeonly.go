package lang

import "github.com/lethe-iac/lethe/internal/diag"

// writeOnlyOutputs refuses root outputs that select a write-only attribute, directly or through
// locals and outputs of modules, unless they are sensitive. The attribute's value is null wherever
// it is kept; that the output names it shows that a secret is meant. Whole objects that merely
// contain such an attribute pass.
func (c *checker) writeOnlyOutputs() {
	w := &writeOnlyWalk{c: c, seen: map[Decl]bool{}, direct: map[Decl]bool{}}
	w.collect()
	if len(w.direct) == 0 {
		return
	}
	root := c.p.Root()
	for _, name := range sorted(root.unit.mod.Outputs) {
		o := root.unit.mod.Outputs[name]
		i, _ := root.unit.index(Output, name)
		clear(w.seen)
		if o.Sensitive || !w.reaches(root.decl(i)) {
			continue
		}
		c.error(diag.Errorf("An output referencing a sensitive value needs to be marked with sensitive too", "For security reasons, any output that is referencing a sensitive value is required to also be configured the same, and this one selects a write-only attribute. If the root module really wants to export this sensitive value, you need to annotate it with the following argument:\n    sensitive = true").At(o.Range))
	}
}

type writeOnlyWalk struct {
	c      *checker
	direct map[Decl]bool // declarations whose own text selects a write-only attribute
	seen   map[Decl]bool
}

func (w *writeOnlyWalk) collect() {
	p := w.c.p
	for n := range p.Nodes() {
		for i := range n.unit.paths {
			s := &n.unit.paths[i]
			sch := p.Schema(n.decl(s.target.local))
			if s.from >= 0 && sch != nil && sch.IsWriteOnly(Path(s.rest)) {
				w.direct[n.decl(s.from)] = true
			}
		}
	}
}

// reaches follows values.
func (w *writeOnlyWalk) reaches(d Decl) bool {
	if w.direct[d] {
		return true
	}
	if w.seen[d] {
		return false
	}
	w.seen[d] = true
	for _, r := range w.c.p.Refs(d) {
		switch w.c.p.Decls()[r.To].Kind {
		case Local, Output, Variable:
			if r.Use&ByValue != 0 && w.reaches(r.To) {
				return true
			}
		}
	}
	return false
}

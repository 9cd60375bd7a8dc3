package vet

import (
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// constVariables holds callers to what `const = true` promises of a module's variable: its value is known
// before anything is planned, so that it can stand in the source of a module or choose a backend.
func constVariables(p *program.Program, bag *diag.Bag) bool {
	ok := true
	for _, d := range p.Decls() {
		if d.Kind != program.Variable || !d.Var.Const {
			continue
		}
		for _, ref := range p.Refs(d.ID) {
			if ref.Use&(program.ByValue|program.ByFunction) == 0 {
				continue // its own conditions, and the call that it belongs to
			}
			to := notStatic(p, ref.To, map[program.Decl]bool{})
			if to == nil {
				continue
			}
			through := ""
			if to.ID != ref.To {
				through = ", through " + name(p.Decls()[ref.To]) + ","
			}
			bag.Add(diag.Errorf("Dynamic value in static context", "Unable to use %s%s in static context, which is required by the variable %q of %s: it has const = true.\n\nWhat is needed before anything is planned can be made from input variables, local values, functions and the workspace name only.",
				name(to), through, d.Name, d.Module).At(ref.Range).See("declared here", d.Range))
			ok = false
			break
		}
	}
	return ok
}

// notStatic finds what a value is made from that is not known before anything is planned, nil if there
// is nothing.
func notStatic(p *program.Program, d program.Decl, seen map[program.Decl]bool) *program.Declaration {
	if k := p.Decls()[d].Kind; k != program.Variable && k != program.Local {
		return p.Decls()[d]
	}
	if seen[d] {
		return nil
	}
	seen[d] = true
	for _, ref := range p.Refs(d) {
		if ref.Use&(program.ByValue|program.ByFunction) == 0 {
			continue
		}
		if to := notStatic(p, ref.To, seen); to != nil {
			return to
		}
	}
	return nil
}

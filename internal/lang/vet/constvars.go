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
			if !byValue(ref) {
				continue // its own conditions, and the call that it belongs to
			}
			to := notStatic(p, ref.To)
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
func notStatic(p *program.Program, d program.Decl) *program.Declaration {
	return madeFrom(p, d, func(at *program.Declaration) (found, through bool) {
		static := at.Kind == program.Variable || at.Kind == program.Local
		return !static, static
	}, byValue)
}

// byValue reports whether a reference makes a value.
func byValue(ref program.Ref) bool { return ref.Use&(program.ByValue|program.ByFunction) != 0 }

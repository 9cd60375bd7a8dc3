package vet

import (
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// constVariables reports an error if a module call passes a value that is not static to a variable with `const = true`:
// at most one error for each variable. The value of such a variable must be known before planning, because the source
// of a module or the settings of a backend may use it. If it reports an error, it returns false.
func constVariables(p *program.Program, bag *diag.Bag) bool {
	ok := true
	for _, d := range p.Decls() {
		if d.Kind != program.Variable || !d.Var.Const {
			continue
		}
		for _, ref := range p.Refs(d.ID) {
			if !byValue(ref) {
				continue // the reference comes from a condition of the variable, or leads to the call of its module
			}
			to := notStatic(p, ref.To)
			if to == nil {
				continue
			}
			through := ""
			if to.ID != ref.To {
				through = ", through " + name(p.Decls()[ref.To]) + ","
			}
			bag.Add(diag.Errorf("Dynamic value in static context", "Unable to use %s%s in static context, which is required by the variable %q of %s: it has const = true.\n\nUse only input variables, local values, functions and the workspace name: the value must be known before the plan.",
				name(to), through, d.Name, d.Module).At(ref.Range).See("declared here", d.Range))
			ok = false
			break
		}
	}
	return ok
}

// notStatic returns a declaration whose value is not known before planning, and which is d or one on whose value d
// depends. It returns nil if no such declaration exists.
func notStatic(p *program.Program, d program.Decl) *program.Declaration {
	return madeFrom(p, d, func(at *program.Declaration) (found, through bool) {
		static := at.Kind == program.Variable || at.Kind == program.Local
		return !static, static
	}, byValue)
}

// byValue reports whether a reference contributes to the value of the referring declaration.
func byValue(ref program.Ref) bool { return ref.Use&(program.ByValue|program.ByFunction) != 0 }

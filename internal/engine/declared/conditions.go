package declared

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// HasConditions reports whether a declaration is a check, or a variable or an output with conditions.
func HasConditions(d *program.Declaration) bool {
	switch d.Kind {
	case program.Variable:
		return len(d.Var.Validations) > 0
	case program.Output:
		return len(d.Out.Preconditions) > 0
	}
	return d.Kind == program.Check
}

// HasResourceConditions reports whether a resource has preconditions or postconditions.
func HasResourceConditions(d *program.Declaration) bool {
	return len(d.Res.Lifecycle.Preconditions)+len(d.Res.Lifecycle.Postconditions) > 0
}

// ConditionsKind returns the kind of a declaration with conditions, as check results in the state spell it.
func ConditionsKind(d *program.Declaration) string {
	switch d.Kind {
	case program.Resource:
		return "resource"
	case program.Variable:
		return "var"
	case program.Output:
		return "output"
	}
	return "check"
}

// ConditionsAddr returns the address of a variable, an output or a check with conditions, such as module.a[0].var.b.
// The parameter in is the instance of its module.
func ConditionsAddr(d *program.Declaration, in addr.ModuleInstance) string {
	local := ConditionsKind(d) + "." + d.Name
	if in.IsRoot() {
		return local
	}
	return in.String() + "." + local
}

package declared

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang"
)

// HasConditions reports whether a declaration has conditions of this kind.
func HasConditions(d *lang.Declaration) bool {
	switch d.Kind {
	case lang.Variable:
		return len(d.Var.Validations) > 0
	case lang.Output:
		return len(d.Out.Preconditions) > 0
	}
	return d.Kind == lang.Check
}

// HasResourceConditions reports whether a resource has conditions.
func HasResourceConditions(d *lang.Declaration) bool {
	return len(d.Res.Lifecycle.Preconditions)+len(d.Res.Lifecycle.Postconditions) > 0
}

// ConditionsKind is what the state calls the kind of a tested declaration.
func ConditionsKind(d *lang.Declaration) string {
	switch d.Kind {
	case lang.Variable:
		return "var"
	case lang.Output:
		return "output"
	}
	return "check"
}

// ConditionsAddr is the address of a tested declaration in an instance of its module.
func ConditionsAddr(d *lang.Declaration, in addr.ModuleInstance) string {
	local := ConditionsKind(d) + "." + d.Name
	if in.IsRoot() {
		return local
	}
	return in.String() + "." + local
}

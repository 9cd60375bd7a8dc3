package receivers

import "github.com/lethe-iac/lethe/internal/lang"

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

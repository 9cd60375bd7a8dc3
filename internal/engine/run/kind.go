package run

import (
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/plan"
)

// Kind is the kind of a walk: the operation of the command, and the mode of the plan that the walk makes or applies.
type Kind struct {
	Operation operation.Operation
	Mode      plan.Mode
}

// DecidesNothing reports whether the walk makes no decisions about objects: a refresh-only plan or an import. Then
// failed conditions are warnings and prevent nothing.
func (k Kind) DecidesNothing() bool {
	return k.Mode == plan.RefreshOnly || k.Operation.Policy().ImportsOnly
}

// Destroys reports whether the plan destroys objects in the destroy mode. The prior values are then evaluated (the
// before face).
func (k Kind) Destroys() bool { return k.Mode == plan.Destroy }

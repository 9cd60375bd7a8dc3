package run

import (
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/plan"
)

// Kind is the kind of a walk (a plan, an apply or another run of the graph): the operation of the command (such as an
// import), and the mode of the plan that the walk makes or applies (normal, destroy or refresh-only).
type Kind struct {
	Operation operation.Operation
	Mode      plan.Mode
}

// DecidesNothing reports whether the walk plans no changes of objects, because it is a refresh-only plan or an import.
// In such a walk, failed conditions are warnings and prevent nothing.
func (k Kind) DecidesNothing() bool {
	return k.Mode == plan.RefreshOnly || k.Operation.Policy().ImportsOnly
}

// Destroys reports whether the mode of the plan is destroy. Such a walk evaluates the configuration with the prior
// values of objects, not with planned values.
func (k Kind) Destroys() bool { return k.Mode == plan.Destroy }

package engine

import (
	"github.com/lethe-iac/lethe/internal/engine/ordering"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
)

// PreviewLeases says which leases the apply walk of a plan will open, as far as the configuration and
// the plan tell, and what receives them. Nothing is opened or started, and a plan never holds it.
// Ephemeral variables need no value.
func (e *Engine) PreviewLeases(prog *program.Program, o frame.Options, p *plan.Plan) []plan.Lease {
	return ordering.PreviewLeases(prog, receivers.Analyse(prog, e.Tested), o, p)
}

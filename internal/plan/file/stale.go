package file

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// Stale says why a plan cannot be applied to the current state of a workspace any more, or nil if it
// can: the state must be the very one that the plan was made from. place is as plan.Plan.Place says it. It counts where there is
// no state yet, whose lineage would tell it from others; one that was moved is the same.
func Stale(p *plan.Plan, current *state.Snapshot, workspace, place string) *diag.Diagnostic {
	if p.Workspace != workspace {
		d := diag.Errorf(wrongPlace, "The plan was made in the workspace %q, and the current workspace is %q. Select that workspace, or make a plan in this one.", p.Workspace, workspace)
		return &d
	}
	was, is := p.Previous, current
	if was == nil {
		was = &state.Snapshot{}
	}
	if is == nil {
		is = &state.Snapshot{}
	}
	if was.Serial == is.Serial && (was.SameText(is) || state.Equal(was, is)) {
		if is.Lineage != "" || p.Place == "" || place == "" || p.Place == place {
			return nil
		}
		d := diag.Errorf(elsewhere, "The plan was made for a place without a state, and the environment now names another place for the backend %q. What the plan creates may exist already, in the state of the new place. Make a new plan, or set the environment as it was when the plan was made.", p.Backend)
		return &d
	}
	d := diag.Errorf(stale, "The given plan file can no longer be applied because the state was changed by another operation after the plan was created: %s. Make a new plan.", difference(was, is))
	return &d
}

func difference(was, is *state.Snapshot) string {
	switch {
	case was.Lineage == is.Lineage && was.Serial == is.Serial:
		return fmt.Sprintf("both are of serial %d, and their contents differ", is.Serial)
	case was.Lineage == is.Lineage:
		return fmt.Sprintf("the plan is for serial %d, and the state is at serial %d", was.Serial, is.Serial)
	case was.Lineage == "":
		return "when the plan was made, there was no state"
	case is.Lineage == "":
		return "there is no state any more"
	}
	return fmt.Sprintf("the plan is for a state with the lineage %q, and this one has the lineage %q", was.Lineage, is.Lineage)
}

// WrittenBy says why a plan that was read cannot be applied by the program of that version, or nil
// if it can: providers may be called differently, and values mean different things, in another.
func (c *Contents) WrittenBy(version string) *diag.Diagnostic {
	if c.Version == version {
		return nil
	}
	d := diag.Errorf(badProgram, "The plan was made by Lethe v%s, and this is Lethe v%s. A saved plan can be applied only by the version that made it: use that one, or make a new plan.", c.Version, version)
	return &d
}

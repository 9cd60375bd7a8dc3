package file

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// Stale returns an error if a plan can no longer be applied to the current state of a workspace, and nil otherwise. The
// plan must have been made in this workspace, and the state must equal the state that the plan was made from, with the
// same serial. current is the current state; nil means an empty state. place is the present digest of the settings of
// the store (plan.Origin.Place). Stale compares it only if no state exists yet. A state has a lineage, which identifies
// the state even if it moved to another store.
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
		d := diag.Errorf(elsewhere, "The plan was made for a backend %q without a state, and the environment now selects another location. Objects of the plan may already exist in the state there. Make a new plan, or restore the environment of the plan.", p.Backend)
		return &d
	}
	d := diag.Errorf(stale, "The state was changed after the plan was created: %s. Make a new plan.", difference(was, is))
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
		return "the state no longer exists"
	}
	return fmt.Sprintf("the plan is for a state with the lineage %q, and this one has the lineage %q", was.Lineage, is.Lineage)
}

// WrittenBy returns an error if the plan was not written by Lethe of the given version, and nil otherwise. Another
// version may call providers differently, or interpret values differently.
func (c *Contents) WrittenBy(version string) *diag.Diagnostic {
	if c.Version == version {
		return nil
	}
	d := diag.Errorf(badProgram, "The plan was created by Lethe v%s, and this is Lethe v%s. Use the version that created the plan, or make a new plan.", c.Version, version)
	return &d
}

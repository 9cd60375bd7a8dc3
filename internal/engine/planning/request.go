package planning

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// Request says what to plan.
type Request struct {
	Program  *program.Program
	Options  frame.Options   // variables, workspace, directories
	State    *state.Snapshot // the previous run's
	Mode     plan.Mode
	Refresh  bool // look at real objects first
	Targets  []addr.Target
	Excludes []addr.Target
	Replace  []addr.Instance
	Imports  []Import // from the command line, beside those of the configuration
	Generate bool     // make configuration for imported objects that have none
	// DeferEphemerals keeps leases closed during planning where only write-only arguments receive
	// them: providers plan with unknown values there.
	DeferEphemerals bool
	// SpareDeposed runs no destroy-time provisioners for objects that a create-first replacement
	// deposes, as Terraform and OpenTofu do.
	SpareDeposed bool
	Backend      string // for the plan file

	// Quiet says that the targets are those of the import command, not the user's: only what is imported is looked
	// at, and no warnings say that the plan is a part.
	Quiet bool
}

// Import asks for an existing object to be taken in.
type Import struct {
	To addr.Instance
	ID string
}

// Result is a finished plan with what an apply right after it can go on using.
type Result struct {
	Plan  *plan.Plan
	Frame *frame.Frame

	// Cut says that an interrupt kept something from being looked at.
	Cut bool

	// Generated is configuration for imported resources that have none, if it was asked for. The
	// plan says nothing of them: it is to be made again with this configuration.
	Generated map[addr.Resource]string
}

package statecmd

import (
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/transfer"
	"github.com/lethe-iac/lethe/internal/workspace"
)

type transferFlags struct {
	workdir.Options                 // for the source directory
	target          workdir.Options // for the target directory
	to, as          string          // -to, -as
	dryRun          bool            // -dry-run: show the move and the next plans, and move nothing
	autoApprove     bool            // -auto-approve: do not ask for approval
}

// transferring is one run of the command state transfer.
type transferring struct {
	f              *transferFlags
	source, target side
	plan           *transfer.Plan // the moves, and both states after them
}

// side is one directory of a transfer.
type side struct {
	*session.Session
	call *base.Call          // the call of the command in the directory
	name string              // the target in messages: a relative path as the user gave it, or the real path; empty for the source
	role string              // "source" or "target" in messages, with the name of the directory
	ws   *workspace.State    // the locked state; nil before lock
	next *plan.Plan          // the plan of the directory with the state after the move
	refs *receivers.Analysis // the analysis of the references in the program; nil before the first call of steady
}

// steady reports whether a declaration depends on no managed resource.
func (s *side) steady(d program.Decl) bool {
	if s.refs == nil {
		s.refs = receivers.Analyse(s.Program, nil)
	}
	return s.refs.Steady(d)
}

// invalid adds the error for a transfer that is not possible, and returns false.
func (t *transferring) invalid(format string, a ...any) bool {
	t.source.call.Bag.Add(diag.Errorf("Invalid transfer", format, a...))
	return false
}

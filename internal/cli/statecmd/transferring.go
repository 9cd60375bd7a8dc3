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
	dryRun          bool
	autoApprove     bool
}

// transferring is a transfer in progress.
type transferring struct {
	f              *transferFlags
	source, target side
	plan           *transfer.Plan // the moves, and both states after them
}

// side is one directory of a transfer.
type side struct {
	*session.Session
	call *base.Call
	name string // the target in messages: a relative path as the user gave it, or the real path; empty for the source
	role string // the word for the directory in messages, with its name
	ws   *workspace.State
	next *plan.Plan          // the plan with the state after the move
	refs *receivers.Analysis // of the program; nil until it is needed
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

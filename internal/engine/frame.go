package engine

import (
	"context"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/state"
)

// Frame gives a frame whose before face is a stored state, for looking around: nothing is read,
// planned or opened. What the state does not have is unknown.
func (e *Engine) Frame(ctx context.Context, prog *program.Program, o frame.Options, s *state.Snapshot, bag *diag.Bag) (*frame.Frame, bool) {
	r, ok := run.New(ctx, e.env(), run.Request{Program: prog, Options: o}, bag)
	if !ok {
		return nil, false
	}
	if s == nil {
		s = &state.Snapshot{}
	}
	filling.Stored(prog, r.Frame, s)
	return r.Frame, true
}

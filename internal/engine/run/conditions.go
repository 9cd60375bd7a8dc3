package run

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// Conditions that belong to no object, those of variables, outputs and checks, are nodes and steps
// of their own: they may look at anything, ephemeral values too, and hold what they look at. So are
// ephemeral resources that open themselves, for the case that they have no other receiver.

// Test evaluates the conditions of a declaration in one module instance. What fails in a check block is
// a warning, and keeps nothing from being done.
func (r *Run) Test(ctx context.Context, d *program.Declaration, f *frame.Frame) bool {
	switch d.Kind {
	case program.Resource:
		r.Leases.ReceiveFrom(ctx, r.Bag, d, f, r.Receivers.Face(d.ID, frame.After), r.Receivers.OwnKeys(d))
		return true // what comes of it is in the slot
	case program.Variable:
		return r.conditions(ctx, d, f, program.Validation)
	case program.Output:
		return r.judge(func(r *Run) bool { return r.conditions(ctx, d, f, program.OutputPre) })
	}
	r.Scoped(func(r *Run) { r.conditions(ctx, d, f, program.Assert) })
	return true
}

func (r *Run) conditions(ctx context.Context, d *program.Declaration, f *frame.Frame, when program.When) bool {
	r.Receive(ctx, d.ID, f.Addr(), addr.NoKey)
	results := f.Conditions(d.ID, addr.NoKey, when, nil, r.Bag)
	r.Checks.report(d, declared.ConditionsAddr(d, f.Addr()), results)
	return holds(results)
}

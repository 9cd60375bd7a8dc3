package suite

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/plan"
)

// cleanup destroys what the runs of a file made, the state that was used last first. What cannot be destroyed is listed,
// and its state written to a file.
func (x *execution) cleanup() {
	for _, k := range slices.Backward(x.used) {
		if len(objects(k.snapshot)) == 0 {
			continue
		}
		x.suite.Reporter.Run(k.by, TearingDown)
		var bag diag.Bag
		k.destroy(x, &bag)
		left := &Left{File: x.file, Run: k.by, Objects: objects(k.snapshot), Diags: bag.List()}
		if len(left.Objects) > 0 {
			x.file.Status = Error
			written, err := x.suite.Write(k.snapshot)
			if left.Written = written; err != nil {
				left.Diags = append(left.Diags, diag.Errorf("Failed to write state", "The state of what is left could not be written: %s.", err))
			}
		}
		if len(left.Objects) > 0 || bag.HasErrors() {
			x.suite.Reporter.Left(left)
		}
	}
}

// destroy destroys the objects of a state.
func (k *kept) destroy(x *execution, bag *diag.Bag) {
	ctx := x.suite.Cleanup
	h := k.how
	result, ok := h.engine.Plan(ctx, engine.Request{Program: h.program, Options: h.options, State: k.snapshot, Mode: plan.Destroy, Refresh: true}, bag)
	if result == nil || !ok {
		return
	}
	done, _ := h.engine.Apply(ctx, engine.ApplyRequest{Program: h.program, Options: h.options, Plan: result.Plan, Journal: k}, bag)
	k.set(done.Snapshot)
}

// abandon lists what is there at this moment, and writes the states. The suite is locked.
func (x *execution) abandon() {
	for _, k := range slices.Backward(x.used) {
		now := k.now()
		left := &Left{File: x.file, Run: k.by, Objects: objects(now)}
		if len(left.Objects) > 0 {
			left.Written, _ = x.suite.Write(now) // that it could not be written is seen by what is not said
			x.suite.Reporter.Left(left)
		}
	}
}

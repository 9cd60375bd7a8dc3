package suite

import (
	"slices"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/plan"
)

// cleanup destroys what the runs of a file made, the state that was used last first. What cannot be destroyed is listed,
// and its state written to a file; so is what is to stay.
func (x *execution) cleanup() {
	for _, k := range slices.Backward(x.used()) {
		if len(objects(k.snapshot)) > 0 {
			x.tearDown(k)
		}
		if k.place != nil {
			k.place.Unlock()
		}
	}
	for _, k := range x.states {
		k.forget(true)
	}
}

// tearDown ends a state: it is destroyed, or stays as the last run made it that says so.
func (x *execution) tearDown(k *kept) {
	s := x.suite
	var bag diag.Bag
	switch {
	case !k.stay():
		k.again(x, k.how, plan.Destroy, &bag)
	case k.stays != nil && k.stays != k.by:
		k.again(x, k.asItWas, plan.Normal, &bag)
	}
	left := &Left{File: x.file, Run: k.by, Objects: objects(k.snapshot), Meant: k.stay(), Diags: bag.List()}
	var err error
	switch {
	case len(left.Objects) == 0:
	case k.place != nil:
	case left.Meant:
		left.Run = k.stays
		left.Written, err = s.Keep(x.kept(k, k.stays, k.snapshot, false))
	default:
		left.Failed = true
		left.Written, err = s.Keep(x.kept(k, k.by, k.snapshot, true))
	}
	if err != nil {
		left.Diags = append(left.Diags, unwritten(err))
		k.forget(false) // its journal has what is there
	}
	if err != nil || bag.HasErrors() || len(left.Objects) > 0 && !left.Meant {
		x.file.Status = Error
	}
	if len(left.Diags) > 0 || len(left.Objects) > 0 && k.place == nil {
		s.Reporter.Left(left)
	}
}

func unwritten(err error) diag.Diagnostic {
	return diag.Errorf("Failed to write state", "The state of what is left could not be written: %s.", err)
}

// again plans a state anew, as a run did, and applies that: to destroy its objects, or to make it what the run made.
func (k *kept) again(x *execution, h how, mode plan.Mode, bag *diag.Bag) {
	ctx, r := x.suite.Cleanup, x.suite.Reporter
	r.Run(k.by, TearingDown)
	defer x.suite.still(func(since time.Duration) { r.Still(k.by, TearingDown, since) })()
	result, ok := h.engine.Plan(ctx, engine.Request{Program: h.program, Options: h.options, State: k.snapshot, Mode: mode, Refresh: true, Unprotected: mode == plan.Destroy}, bag)
	if result != nil && ok {
		k.apply(ctx, h, result.Plan, bag)
	}
}

// abandon lists what is there at this moment, and writes the states. The suite is locked.
func (x *execution) abandon() {
	for _, k := range x.states {
		if k.by == nil || k.place != nil { // a backend has a journal of it
			continue
		}
		now := k.now()
		failed := k.of == nil || k.of.Failed
		left := &Left{File: x.file, Run: k.by, Objects: objects(now), Failed: failed}
		if len(left.Objects) > 0 {
			left.Written, _ = x.suite.Keep(x.kept(k, k.by, now, failed)) // that it could not be written is seen by what is not said
			x.suite.Reporter.Left(left)
		}
		k.forget(len(left.Objects) == 0 || left.Written != "")
	}
}

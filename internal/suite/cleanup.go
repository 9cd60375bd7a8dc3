package suite

import (
	"slices"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/plan"
)

// cleanup destroys the objects of all states that the runs of a file changed, in the reverse order of their last use.
// It reports the objects that remain, and writes the states that contain them to files. It releases the locks of states
// in stores, and closes the journals of the other states.
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

// tearDown destroys the objects of a state, unless skip_cleanup or a backend keeps them. If skip_cleanup keeps them,
// and a later run without skip_cleanup changed them, tearDown restores the objects of the last run with skip_cleanup.
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
		left.Written, err = s.States.Keep(x.kept(k, k.stays, k.snapshot, false))
	default:
		left.Failed = true
		left.Written, err = s.States.Keep(x.kept(k, k.by, k.snapshot, true))
	}
	if err != nil {
		left.Diags = append(left.Diags, unwritten(err))
		k.forget(false) // keep the journal, because it is now the only record of the objects
	}
	if err != nil || bag.HasErrors() || len(left.Objects) > 0 && !left.Meant {
		x.file.Status = Error
	}
	if len(left.Diags) > 0 || len(left.Objects) > 0 && k.place == nil {
		s.Reporter.Left(left)
	}
}

func unwritten(err error) diag.Diagnostic {
	return diag.Errorf("Failed to write state", "The state of the remaining objects could not be written: %s.", err)
}

// again plans the state with the settings h of a run, and applies the plan. The mode Destroy destroys the objects. The
// mode Normal restores the objects of the run.
func (k *kept) again(x *execution, h how, mode plan.Mode, bag *diag.Bag) {
	ctx, r := x.suite.Cleanup, x.suite.Reporter
	r.Run(k.by, TearingDown)
	defer x.suite.still(func(since time.Duration) { r.Still(k.by, TearingDown, since) })()
	of := operation.Test
	if mode == plan.Destroy {
		of = operation.TearDown
	}
	result, ok := h.engine.Plan(ctx, engine.Request{Operation: of, Program: h.program, Options: h.options, State: k.snapshot, Mode: mode, Refresh: true}, bag)
	if result != nil && ok {
		k.apply(ctx, h, result.Plan, bag)
	}
}

// abandon reports the objects that exist now, and writes the states that contain them to files. The caller must have
// locked Suite.mu.
func (x *execution) abandon() {
	for _, k := range x.states {
		if k.by == nil || k.place != nil { // no run has changed the state, or its journal is in the store of its backend
			continue
		}
		now := k.now()
		failed := k.of == nil || k.of.Failed
		left := &Left{File: x.file, Run: k.by, Objects: objects(now), Failed: failed}
		if len(left.Objects) > 0 {
			left.Written, _ = x.suite.States.Keep(x.kept(k, k.by, now, failed)) // ignore the error: Written is "" then
			x.suite.Reporter.Left(left)
		}
		k.forget(len(left.Objects) == 0 || left.Written != "")
	}
}

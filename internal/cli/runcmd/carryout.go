package runcmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// applyFlags are the flags of all commands that apply a plan.
type applyFlags struct {
	planFlags
	autoApprove  bool
	mayForget    bool // -suppress-forget-errors
	foreign      bool // -foreign-plan
	createsAgain bool // -unknown=create
}

func (f *applyFlags) define(c *base.Call) {
	f.planFlags.define(c)
	c.Flags.BoolVar(&f.autoApprove, "auto-approve", false, "Skip interactive approval of plan before applying.")
	c.Flags.BoolVar(&f.mayForget, "suppress-forget-errors", false, "Exit with 0 although objects were forgotten instead of destroyed.")
}

// claim claims the parts of the state that a plan uses, if other runs may work on the state too. stale is not nil if
// another run has changed these parts.
func (o *execution) claim(ctx context.Context, pl *plan.Plan) (stale *diag.Diagnostic, ok bool) {
	if !o.ws.Shared() {
		return nil, true
	}
	f := o.s.Engine.Footprint(o.s.Program)
	return o.ws.Claim(ctx, workspace.Claim{Base: pl.Previous, Refreshed: pl.Refreshed, Parts: f.Plan(pl), Of: f.Object})
}

// replans is the maximum number of times that a plan is made again. Each time, another run has changed the parts of the
// state that the plan used.
const replans = 20

// planUnseen plans for a command that applies. A plan that no user approves is claimed at once. If its parts of the
// state have changed, it is made again.
func (o *execution) planUnseen(ctx context.Context, approved bool) (*engine.Result, bool) {
	known := o.c.Bag.List()
	for n := 0; ; n++ {
		result, ok := o.plan(ctx)
		if !ok || approved && result.Plan.Applyable() {
			return result, ok
		}
		stale, ok := o.claim(ctx, result.Plan)
		if stale == nil {
			return result, ok
		}
		if n == replans {
			o.c.Bag.Add(*stale)
			return result, false
		}
		o.c.Bag.Clear()
		o.c.Bag.Add(known...)
		o.c.UI.Line("Other runs have changed the state since it was read for this plan. Planning again.")
		if !o.ws.Reload(ctx) || !o.only.began(o.ws) {
			return nil, false
		}
	}
}

// carryOut applies a plan and stores the new state.
func (o *execution) carryOut(ctx context.Context, pl *plan.Plan, f *applyFlags) int {
	if !f.createsAgain && !o.mayCreate(pl) {
		return o.c.UI.Fail()
	}
	if stale, ok := o.claim(ctx, pl); !ok {
		if stale != nil {
			o.c.Bag.Add(*stale)
		}
		return o.c.UI.Fail()
	}
	journal, ok := o.ws.Record()
	if !ok {
		return o.c.UI.Fail()
	}
	done, ok := o.s.Engine.Apply(ctx, engine.ApplyRequest{Program: o.s.Program, Options: o.s.FrameOptions(), Plan: pl, Journal: journal}, &o.c.Bag)
	if done.Interrupted {
		o.c.Interrupted()
	}
	if ok {
		settle(o.s, o.ws, pl, done.Snapshot)
	}
	saved := o.ws.SaveApplied(done.Snapshot)
	for _, ch := range pl.Changes {
		if ch.Importing != nil && done.Snapshot != nil && done.Snapshot.Get(ch.Object) != nil {
			imported(o.ws, ch.Object.Instance)
		}
	}
	refreshed := o.c.Command.Name == "refresh" // Terraform and OpenTofu print nothing more for refresh
	if done.Summary.Operation == "destroy" && o.c.Command.Name != "destroy" {
		done.Summary.Operation = "apply" // like Terraform and OpenTofu: the name of the command, also for apply -destroy
	}
	if !ok && !refreshed {
		o.c.UI.Send(done.Summary)
	}
	if !saved || !ok {
		return o.c.UI.Fail()
	}
	if !refreshed {
		partial(pl, &o.c.Bag)
	}
	o.c.UI.Diagnostics(o.c.Bag.List())
	o.c.Bag.Clear()
	if !refreshed {
		o.c.UI.Send(done.Summary)
	}
	if o.c.Command.Name != "destroy" && done.Snapshot != nil {
		o.c.UI.Outputs(done.Snapshot.Outputs)
	}
	if !f.mayForget {
		forgotten(pl, done.Summary.Forgotten, &o.c.Bag)
	}
	return o.c.UI.Done(base.ExitOK)
}

// partial warns after applying a plan with -target or -exclude.
func partial(pl *plan.Plan, bag *diag.Bag) {
	flag := "target"
	switch {
	case len(pl.Targets)+len(pl.Excludes) == 0 || pl.Changed:
		return
	case len(pl.Targets) == 0:
		flag = "exclude"
	}
	bag.Add(diag.Warningf("Applied changes may be incomplete", "The plan was created with the -%s option in effect, so some changes requested in the configuration may have been ignored and the output values may not be fully updated. Run the following command to verify that no other changes are pending:\n    lethe plan\n\nNote that the -%s option is not suitable for routine use, and is provided only for exceptional situations such as recovering from errors or mistakes, or when Lethe specifically suggests to use it as part of an error message.", flag, flag))
}

// forgotten reports an error if a destroy left objects behind, because its user expects that none remain.
func forgotten(pl *plan.Plan, n int, bag *diag.Bag) {
	if pl.Mode == plan.Destroy && n > 0 {
		bag.Add(diag.Errorf("Objects were forgotten, not destroyed", "Because the configuration sets destroy = false, %s removed from the state and not destroyed. If this is intended, use -suppress-forget-errors.", diag.Counted(n, "object was", "objects were")))
	}
}

package runcmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// applyFlags are the flags of everything that applies.
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
	c.Flags.BoolVar(&f.mayForget, "suppress-forget-errors", false, "Destroying is a success although some objects were forgotten.")
}

// claim takes what a plan works on, where others may work on the state, too.
func (o *operation) claim(ctx context.Context, pl *plan.Plan) bool {
	if !o.ws.Shared() {
		return true
	}
	f := o.p.Engine.Footprint(o.p.Program)
	return o.ws.Claim(ctx, workspace.Claim{Base: pl.Previous, Fresh: pl.Refreshed, Parts: f.Plan(pl), Of: f.Object})
}

// carryOut applies a plan and stores what came of it.
func (o *operation) carryOut(ctx context.Context, pl *plan.Plan, f *applyFlags) int {
	if !f.createsAgain && !o.mayCreate(pl) || !o.claim(ctx, pl) {
		return o.p.UI.Fail()
	}
	journal, ok := o.ws.Record()
	if !ok {
		return o.p.UI.Fail()
	}
	done, ok := o.p.Engine.Apply(ctx, engine.ApplyRequest{Program: o.p.Program, Options: o.p.LangOptions(), Plan: pl, Journal: journal}, o.p.Bag)
	if done.Cut {
		o.p.Call.CutShort()
	}
	if ok {
		settle(o.p, o.ws, pl, done.Snapshot)
	}
	saved := o.ws.SaveApplied(done.Snapshot)
	for _, ch := range pl.Changes {
		if ch.Importing != nil && done.Snapshot != nil && done.Snapshot.Get(ch.Object) != nil {
			imported(o.ws, ch.Object.Instance)
		}
	}
	refreshed := o.p.Call.Command.Name == "refresh" // of which Terraform and OpenTofu say nothing more
	if done.Summary.Operation == "destroy" && o.p.Call.Command.Name != "destroy" {
		done.Summary.Operation = "apply" // the command, as Terraform and OpenTofu say it, also of apply -destroy
	}
	if !ok && !refreshed {
		o.p.UI.Tell(done.Summary)
	}
	if !saved || !ok {
		return o.p.UI.Fail()
	}
	if !refreshed {
		partial(pl, o.p.Bag)
	}
	o.p.UI.Diagnostics(o.p.Bag.List())
	o.p.Bag.Clear()
	if !refreshed {
		o.p.UI.Tell(done.Summary)
	}
	if o.p.Call.Command.Name != "destroy" && done.Snapshot != nil {
		o.p.UI.Outputs(done.Snapshot.Outputs)
	}
	if !f.mayForget {
		forgotten(pl, done.Summary.Forgotten, o.p.Bag)
	}
	return o.p.UI.Done(base.ExitOK)
}

// partial warns after the apply of a plan that left something out.
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

// forgotten makes a failure of a destruction that left objects behind: its user wants nothing to be
// there any more.
func forgotten(pl *plan.Plan, n int, bag *diag.Bag) {
	if pl.Mode == plan.Destroy && n > 0 {
		bag.Add(diag.Errorf("Objects were forgotten, not destroyed", "Because of destroy = false in the configuration, %s removed from the state and not destroyed. If that is what you want, use -suppress-forget-errors.", diag.Counted(n, "object was", "objects were")))
	}
}

package runcmd

import (
	"context"
	"os"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/view"
)

// Apply is `apply`.
var Apply = &base.Command{
	Name: "apply", Stream: true, Args: "[PLAN]", Short: "Create or update infrastructure",
	Long: `Creates or updates infrastructure according to Lethe configuration
files in the current directory.

By default, Lethe will generate a new plan and present it for your
approval before taking any action. You can optionally provide a plan
file created by a previous call to "lethe plan", in which case Lethe
will take the actions described in that plan without any
confirmation prompt.`,
	Setup: base.Flags(func(c *base.Call, f *applyFlags) { f.define(c) }, runApply),
}

// applyFlags are the flags of everything that applies.
type applyFlags struct {
	planFlags
	autoApprove bool
	mayForget   bool // -suppress-forget-errors
}

func (f *applyFlags) define(c *base.Call) {
	f.planFlags.define(c)
	c.Flags.BoolVar(&f.autoApprove, "auto-approve", false, "Skip interactive approval of plan before applying.")
	c.Flags.BoolVar(&f.mayForget, "suppress-forget-errors", false, "Destroying is a success although some objects were forgotten.")
}

// noApply is why there is no apply without configuration.
const noApply = "Apply requires configuration to be present. Applying without a configuration would mark everything for destruction, which is normally not what is desired. If you would like to destroy everything, run \"lethe destroy\"."

func runApply(ctx context.Context, c *base.Call, f *applyFlags) int {
	if !c.Between(0, 1) {
		return c.UI.Fail()
	}
	if len(c.Operands) == 1 {
		if info, err := os.Stat(c.Path(c.Operands[0])); err != nil || !info.IsDir() {
			return applySaved(ctx, c, f, c.Operands[0])
		}
		c.Bag.Add(diag.Errorf("Too many command line arguments", "Apply takes a plan file, and %q is a directory. To apply the configuration in another directory, use the global -chdir option.", c.Operands[0]))
		return c.UI.Fail()
	}
	o, ok := begin(ctx, c, &f.planFlags, "OperationTypeApply", f.unlessDestroying(noApply), true)
	if !ok {
		return c.UI.Fail()
	}
	result, ok := o.plan(ctx)
	if result == nil {
		return c.UI.Fail()
	}
	o.showPlan(result.Plan, view.PlanOptions{Applying: true})
	if !ok || result.Plan.Applyable() && c.CutShort() {
		return c.UI.Fail()
	}
	if result.Plan.Applyable() && !f.autoApprove && !approve(o.p, result.Plan) {
		return c.UI.Fail()
	}
	return o.carryOut(ctx, result.Plan, f.mayForget)
}

// approve asks whether to go on.
func approve(p *project.Project, pl *plan.Plan) bool {
	if !p.MayAsk() {
		p.Bag.Add(base.NotApproved("-auto-approve, or apply a saved plan"))
		return false
	}
	title, note := "Do you want to perform these actions?", p.Call.Product()+" will perform the actions described above."
	where := ""
	if pl.Workspace != "default" {
		where = " in workspace \"" + pl.Workspace + "\""
	}
	switch pl.Mode {
	case plan.Destroy:
		title, note = "Do you really want to destroy all resources"+where+"?", p.Call.Product()+" will destroy all your managed infrastructure, as shown above.\nThere is no undo."
	case plan.RefreshOnly:
		title, note = "Would you like to update the "+p.Call.Product()+" state to reflect these detected changes?", p.Call.Product()+" will write these changes to the state without modifying any real infrastructure.\nThere is no undo."
	default:
		if where != "" {
			title = "Do you want to perform these actions" + where + "?"
		}
	}
	p.UI.Diagnostics(p.Bag.List()) // so that users know of them when they answer
	p.Bag.Clear()
	yes, answered := p.UI.Confirm(title, note)
	if yes {
		return true
	}
	if !answered && !p.Call.CutShort() {
		p.Bag.Add(base.NotApproved("-auto-approve, or apply a saved plan"))
	}
	word := "Apply"
	if pl.Mode == plan.Destroy {
		word = "Destroy"
	}
	p.UI.Print("\n" + word + " cancelled.\n")
	return false
}

// carryOut applies a plan and stores what came of it.
func (o *operation) carryOut(ctx context.Context, pl *plan.Plan, mayForget bool) int {
	journal, ok := o.ws.Record()
	if !ok {
		return o.p.UI.Fail()
	}
	done, ok := o.p.Engine.Apply(ctx, engine.ApplyRequest{Program: o.p.Program, Options: o.p.LangOptions(), Plan: pl, Journal: journal}, o.p.Bag)
	if done.Cut {
		o.p.Call.CutShort()
	}
	if !o.ws.SaveApplied(done.Snapshot) || !ok {
		return o.p.UI.Fail()
	}
	refreshed := o.p.Call.Command.Name == "refresh" // of which Terraform and OpenTofu say nothing more
	if !refreshed {
		partial(pl, o.p.Bag)
	}
	o.p.UI.Diagnostics(o.p.Bag.List())
	o.p.Bag.Clear()
	if done.Summary.Operation == "destroy" && o.p.Call.Command.Name != "destroy" {
		done.Summary.Operation = "apply" // the command, as Terraform and OpenTofu say it, also of apply -destroy
	}
	if !refreshed {
		o.p.UI.Tell(done.Summary)
	}
	if o.p.Call.Command.Name != "destroy" && done.Snapshot != nil {
		o.p.UI.Outputs(done.Snapshot.Outputs)
	}
	if !mayForget {
		forgotten(pl, done.Summary.Forgotten, o.p.Bag)
	}
	return o.p.UI.Done(base.ExitOK)
}

// partial warns after the apply of a plan that left something out.
func partial(pl *plan.Plan, bag *diag.Bag) {
	flag := "target"
	switch {
	case len(pl.Targets)+len(pl.Excludes) == 0:
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
		bag.Add(diag.Errorf("Objects were forgotten, not destroyed", "Destroying was asked for, but by its lifecycle %s left in place and only removed from the state. If that is what you want, use -suppress-forget-errors.", diag.Counted(n, "object was", "objects were")))
	}
}

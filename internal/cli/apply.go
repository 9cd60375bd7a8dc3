package cli

import (
	"context"
	"os"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/workspace"
)

var applyCommand = &Command{
	Name: "apply", Stream: true, Args: "[PLAN]", Short: "Create or update infrastructure",
	Long: `Creates or updates infrastructure according to Lethe configuration
files in the current directory.

By default, Lethe will generate a new plan and present it for your
approval before taking any action. You can optionally provide a plan
file created by a previous call to "lethe plan", in which case Lethe
will take the actions described in that plan without any
confirmation prompt.`,
	Flags: func(c *call) {
		c.planFlags()
		c.flags.BoolVar(&c.opts.autoApprove, "auto-approve", false, "Skip interactive approval of plan before applying.")
		c.flags.BoolVar(&c.opts.mayForget, "suppress-forget-errors", false, "Destroying is a success although some objects were forgotten.")
	},
	Run: runApply,
}

var destroyCommand = &Command{
	Name: "destroy", Stream: true, Short: "Destroy previously-created infrastructure",
	Long: `Destroy Lethe-managed infrastructure.

This command is a convenience alias for:
    lethe apply -destroy`,
	Flags: func(c *call) {
		applyCommand.Flags(c)
		c.opts.destroy = true
	},
	Run: func(ctx context.Context, c *call) int {
		c.opts.destroy = true
		if len(c.operands) == 1 && c.isFile(c.operands[0]) {
			c.bag.Add(diag.Errorf("Destroy can't be called with a plan file", "What a saved plan does was decided when it was made. If %q was made with plan -destroy, apply it with:\n  lethe apply %[1]q", c.operands[0]))
			return c.ui.fail()
		}
		if !c.noOperands() {
			return c.ui.fail()
		}
		return runApply(ctx, c)
	},
}

var refreshCommand = &Command{
	Name: "refresh", Stream: true, Short: "Update the state to match remote systems",
	Long: `Update the state file of your infrastructure with metadata that matches
the physical resources they are tracking. This does the same as
    lethe apply -refresh-only -auto-approve
but shows only the outputs. To see first what would change, use
    lethe plan -refresh-only`,
	Flags: func(c *call) { c.planFlags() },
	Run:   runRefresh,
}

func runRefresh(ctx context.Context, c *call) int {
	c.opts.refreshOnly = true
	if !c.noOperands() {
		return c.ui.fail()
	}
	p, ok := c.prepare(ctx, false)
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	ws, ok := p.lockState(ctx, "", "OperationTypeRefresh")
	if !ok {
		return c.ui.fail()
	}
	defer ws.Unlock()
	if ws.Snapshot().Len() == 0 {
		c.bag.Add(diag.Warningf("Empty or non-existent state", "There are currently no remote objects tracked in the state, so there is nothing to refresh."))
	}
	result, ok := p.plan(ctx, ws)
	if !ok {
		return c.ui.fail()
	}
	return p.carryOut(ctx, ws, result.Plan)
}

func runApply(ctx context.Context, c *call) int {
	if !c.between(0, 1) {
		return c.ui.fail()
	}
	if len(c.operands) == 1 {
		if info, err := os.Stat(c.path(c.operands[0])); err != nil || !info.IsDir() {
			return applySaved(ctx, c, c.operands[0])
		}
		c.bag.Add(diag.Errorf("Too many command line arguments", "Apply takes a plan file, and %q is a directory. To apply the configuration in another directory, use the global -chdir option.", c.operands[0]))
		return c.ui.fail()
	}
	p, ok := c.prepare(ctx, true)
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	ws, ok := p.lockState(ctx, "", "OperationTypeApply")
	if !ok {
		return c.ui.fail()
	}
	defer ws.Unlock()
	result, ok := p.plan(ctx, ws)
	if result == nil {
		return c.ui.fail()
	}
	p.showPlan(result.Plan, view.PlanOptions{Applying: true})
	if !ok || result.Plan.Applyable() && c.cutShort() {
		return c.ui.fail()
	}
	if result.Plan.Applyable() && !c.opts.autoApprove && !p.approve(result.Plan) {
		return c.ui.fail()
	}
	return p.carryOut(ctx, ws, result.Plan)
}

// isFile reports whether there is a file of that name.
func (c *call) isFile(name string) bool {
	info, err := os.Stat(c.path(name))
	return err == nil && info.Mode().IsRegular()
}

// approve asks whether to go on.
func (p *project) approve(pl *plan.Plan) bool {
	if !p.mayAsk() {
		p.bag.Add(notApproved("-auto-approve, or apply a saved plan"))
		return false
	}
	title, note := "Do you want to perform these actions?", p.product()+" will perform the actions described above."
	where := ""
	if pl.Workspace != "default" {
		where = " in workspace \"" + pl.Workspace + "\""
	}
	switch pl.Mode {
	case plan.Destroy:
		title, note = "Do you really want to destroy all resources"+where+"?", p.product()+" will destroy all your managed infrastructure, as shown above.\nThere is no undo."
	case plan.RefreshOnly:
		title, note = "Would you like to update the "+p.product()+" state to reflect these detected changes?", p.product()+" will write these changes to the state without modifying any real infrastructure.\nThere is no undo."
	default:
		if where != "" {
			title = "Do you want to perform these actions" + where + "?"
		}
	}
	yes, answered := p.ui.confirm(title, note)
	if yes {
		return true
	}
	if !answered && !p.cutShort() {
		p.bag.Add(notApproved("-auto-approve, or apply a saved plan"))
	}
	word := "Apply"
	if pl.Mode == plan.Destroy {
		word = "Destroy"
	}
	p.ui.print("\n" + word + " cancelled.\n")
	return false
}

// notApproved names the ways out of a question that gets no answer.
func notApproved(use string) diag.Diagnostic {
	return diag.Errorf("Plan not approved", "Approval is needed, and nobody can be asked: use %s.", use)
}

// carryOut applies a plan and stores what came of it.
func (p *project) carryOut(ctx context.Context, ws *workspace.State, pl *plan.Plan) int {
	journal, ok := ws.Record()
	if !ok {
		return p.ui.fail()
	}
	defer ws.End()
	done, ok := p.engine.Apply(ctx, engine.ApplyRequest{Program: p.program, Options: p.langOptions(p.applying), Plan: pl, Journal: journal}, &p.bag)
	if done.Cut {
		p.cutShort()
	}
	if !ws.SaveApplied(done.Snapshot) || !ok {
		return p.ui.fail()
	}
	refreshed := p.command.Name == "refresh" // of which the peers say nothing more
	if !refreshed {
		p.partial(pl)
	}
	p.ui.Diagnostics(p.bag.List())
	p.bag.Clear()
	if done.Summary.Operation == "destroy" && p.command.Name != "destroy" {
		done.Summary.Operation = "apply" // the command, as the peers say it, also of apply -destroy
	}
	if !refreshed {
		p.ui.Tell(done.Summary)
	}
	p.showOutputs(done.Snapshot)
	p.forgotten(pl, done.Summary.Forgotten)
	return p.ui.done(exitOK)
}

// partial warns after the apply of a plan that left something out.
func (p *project) partial(pl *plan.Plan) {
	flag := "target"
	switch {
	case len(pl.Targets)+len(pl.Excludes) == 0:
		return
	case len(pl.Targets) == 0:
		flag = "exclude"
	}
	p.bag.Add(diag.Warningf("Applied changes may be incomplete", "The plan was created with the -%s option in effect, so some changes requested in the configuration may have been ignored and the output values may not be fully updated. Run the following command to verify that no other changes are pending:\n    lethe plan\n\nNote that the -%s option is not suitable for routine use, and is provided only for exceptional situations such as recovering from errors or mistakes, or when Lethe specifically suggests to use it as part of an error message.", flag, flag))
}

// forgotten makes a failure of a destruction that left objects behind: who runs it wants nothing to
// be there any more.
func (p *project) forgotten(pl *plan.Plan, n int) {
	if pl.Mode == plan.Destroy && n > 0 && !p.opts.mayForget {
		p.bag.Add(diag.Errorf("Objects were forgotten, not destroyed", "Destroying was asked for, but by its lifecycle %s left in place and only removed from the state. If that is what you want, use -suppress-forget-errors.", diag.Counted(n, "object was", "objects were")))
	}
}

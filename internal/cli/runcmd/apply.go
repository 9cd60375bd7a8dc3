package runcmd

import (
	"context"
	"errors"
	"os"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/view"
)

// Apply is `apply`.
var Apply = &base.Command{
	Name: "apply", Stream: true, Makes: true, Args: "[PLAN]", Short: "Create or update infrastructure",
	Long: `Creates or updates infrastructure according to Lethe configuration
files in the current directory.

By default, Lethe will generate a new plan and present it for your
approval before taking any action. You can optionally provide a plan
file created by a previous call to "lethe plan", in which case Lethe
will take the actions described in that plan without any
confirmation prompt.`,
	Examples: [][2]string{
		{"lethe apply", "Plan, ask, and carry out"},
		{"lethe apply tfplan", "Carry out a saved plan"},
		{"lethe apply -auto-approve -json", "Carry out without a question, and report to a program"},
		{"lethe apply -target=module.network", "Carry out a part, and what it needs"},
	},
	Setup: base.Flags(func(c *base.Call, f *applyFlags) {
		f.define(c)
		c.Flags.BoolVar(&f.foreign, "foreign-plan", false, "Apply a saved plan that was not sealed with the key of this machine.")
		c.Flags.Func("unknown", "With `create`: create objects again although an earlier run may have created them.", func(s string) error {
			f.createsAgain = s == "create"
			if !f.createsAgain {
				return errors.New("the only value is create")
			}
			return nil
		})
	}, runApply),
}

// noApply is why there is no apply without configuration.
const noApply = "Apply requires configuration to be present. Applying without a configuration would mark everything for destruction, which is normally not what is desired. If you would like to destroy everything, run \"lethe destroy\"."

func runApply(ctx context.Context, c *base.Call, f *applyFlags) int {
	if len(c.Operands) == 1 {
		if info, err := os.Stat(c.Path(c.Operands[0])); err != nil || !info.IsDir() {
			return applySaved(ctx, c, f, c.Operands[0])
		}
		c.Bag.Add(diag.Errorf("Too many command line arguments", "Apply takes a plan file, and %q is a directory. To apply the configuration in another directory, use the global -chdir option.", c.Operands[0]))
		return c.UI.Fail()
	}
	if c.View.JSON && !f.autoApprove { // a plan may take long, and would not be applied
		c.Bag.Add(diag.Errorf("Plan file or auto-approve required", "With -json nobody is asked whether to go on. Apply a saved plan, or use the option -auto-approve."))
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
	return o.carryOut(ctx, result.Plan, f)
}

// approve asks whether to go on.
func approve(p *project.Project, pl *plan.Plan) bool {
	if !p.UI.MayAsk() { // an answer on standard input is taken with -input=false too, as by Terraform
		p.Bag.Add(base.NotApproved("-auto-approve, or apply a saved plan"))
		return false
	}
	title, note := "Do you want to perform these actions?", p.Call.Product()+" will perform the actions described above."
	what, where := "confirm", ""
	if pl.Workspace != "default" {
		where = " in workspace \"" + pl.Workspace + "\""
	}
	switch pl.Mode {
	case plan.Destroy:
		title, note = "Do you really want to destroy all resources"+where+"?", p.Call.Product()+" will destroy all your managed infrastructure, as shown above.\nThere is no undo."
	case plan.RefreshOnly:
		title, note = "Would you like to update the "+p.Call.Product()+" state to reflect these detected changes?", p.Call.Product()+" will write these changes to the state without modifying any real infrastructure.\nThere is no undo."
	default:
		what = "approve"
		if where != "" {
			title = "Do you want to perform these actions" + where + "?"
		}
	}
	p.UI.Diagnostics(p.Bag.List()) // so that users know of them when they answer
	p.Bag.Clear()
	yes, answered := p.UI.Confirm(title, note, what)
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

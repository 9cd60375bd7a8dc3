package runcmd

import (
	"context"
	"os"
	"path/filepath"
	"syscall"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/reviewed"
	"github.com/lethe-iac/lethe/internal/cli/savedplan"
	"github.com/lethe-iac/lethe/internal/cli/timed"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/view"
)

// Plan is the command `plan`.
var Plan = &base.Command{
	Name: "plan", Stream: true, Short: "Show changes required by the current configuration",
	Long: `Generates a speculative execution plan. It shows the actions that Lethe
would take to apply the current configuration, and does not perform them.

You can optionally save the plan to a file, which you can then pass to
the "apply" command to perform exactly the actions described in the plan.

If count or for_each of a resource depend on an object that does not exist yet,
the plan has the changes of the first round, and lists the resources that a later
round decides about. A saved plan is one round.

With -refresh-only, -detailed-exitcode has the code 2 if others have changed
objects, or if root outputs differ from the stored ones.`,
	Examples: [][2]string{
		{"lethe plan -out=tfplan", "Save the plan for apply"},
		{"lethe plan -detailed-exitcode", "Exit with 2 if there are changes"},
		{"lethe plan -target=module.network", "Plan for one resource and its dependencies"},
		{"lethe plan -replace='aws_instance.web[0]'", "Plan to replace one object"},
		{"lethe plan -refresh-only", "Show changes made outside of Lethe"},
		{"lethe plan -invoke=action.aws_lambda_invoke.warm", "Plan to invoke one action"},
		{"lethe plan -html=plan.html", "Write the plan as a page, too"},
		{"lethe plan -timings=timings.html", "Draw how long each step takes"},
		{"lethe plan -var-file=prod.tfvars", "Set variables from a file"},
	},
	Setup: base.Flags(func(c *base.Call, f *planFlags) {
		f.define(c)
		f.defineRounds(c)
		f.defineInvoke(c)
		c.Flags.StringVar(&f.out, "out", "", "Write the plan to this `file`.")
		c.Flags.BoolVar(&f.detailed, "detailed-exitcode", false, "Exit with 0 if nothing changes, 1 on errors, 2 if something changes or is left for a later round.")
		c.Flags.StringVar(&f.generate, "generate-config-out", "", "Write configuration for imported objects without configuration to this new `file`.")
		f.page.Define(c)
		timed.Flag(c, &f.Timings)
	}, runPlan),
}

// noPlan is the error text for a plan in a directory without configuration.
const noPlan = "The directory has no configuration files, so the plan would destroy everything. Change to the right directory, or use -destroy to destroy everything."

func runPlan(ctx context.Context, c *base.Call, f *planFlags) int {
	if !f.mayGenerate(c) || !f.maySave(c) || !f.mayDraw(c) {
		return c.UI.Fail()
	}
	o, ok := begin(ctx, c, f, operation.Plan, f.unlessDestroying(noPlan))
	if !ok {
		return c.UI.Fail()
	}
	result, ok := o.planAndGenerate(ctx)
	if result == nil {
		return c.UI.Fail()
	}
	o.showPlan(result.Plan, view.PlanOptions{Saved: f.out})
	// A plan with errors is saved, too, because other programs may read the errors. If a secret was found in output
	// that must not contain it (leaked), the plan is not saved.
	leaked := !ok && c.Secrets.Found()
	saved := f.out == "" || leaked || o.savePlan(ctx, result, f.out)
	saved = (f.page.File == "" || leaked || f.page.Page(c, reviewed.Review(o.s, result.Plan), false)) && saved
	if !ok || !saved {
		return c.UI.Fail()
	}
	if f.detailed && (result.Plan.Applyable() || len(result.Plan.Deferred) > 0) {
		return c.UI.Done(base.ExitChanges)
	}
	return c.UI.Done(base.ExitOK)
}

// unlessDestroying returns the given error text for a directory without configuration. It returns "" if -destroy is
// set, because a destroy plan needs no configuration.
func (f *planFlags) unlessDestroying(why string) string {
	if f.destroy {
		return ""
	}
	return why
}

func (o *execution) showPlan(out *plan.Plan, how view.PlanOptions) {
	how.Schemas = o.s.Schemas()
	o.c.UI.Plan(out, how)
}

// savePlan writes a plan to a file; the argument to is the name of the file. If the plan cannot be saved, savePlan
// reports an error and returns false.
func (o *execution) savePlan(ctx context.Context, r *engine.Result, to string) bool {
	ok, err := savedplan.New(o.s).Save(ctx, to, r.Plan)
	return ok && saves(o.c, to, err)
}

// saves reports err, the error of writing a plan file, and returns false. The argument to is the name of the file. If
// err is nil, saves returns true.
func saves(c *base.Call, to string, err error) bool {
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to write plan file", "The plan could not be written to %s: %s.", to, disk.Reason(err)))
	}
	return err == nil
}

// mayDraw reports an error and returns false if the page of -html cannot be written, or if -full is set without -html.
// Callers call mayDraw before they plan, so that a long plan does not fail at its end.
func (f *planFlags) mayDraw(c *base.Call) bool {
	if f.page.Full && f.page.File == "" {
		c.Bag.Add(diag.Errorf("Wrong combination of options", "The option -full belongs to -html."))
		return false
	}
	return f.page.MayWrite(c)
}

// maySave reports an error and returns false if the file of -out is a directory, or its directory does not exist.
// Callers call maySave before they plan. A missing directory is not created, because its name is probably misspelt.
// Without -out, maySave returns true.
func (f *planFlags) maySave(c *base.Call) bool {
	if f.out == "" {
		return true
	}
	path := c.Path(f.out)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return saves(c, f.out, syscall.EISDIR)
	}
	_, err := os.Stat(filepath.Dir(path))
	return saves(c, f.out, err)
}

package runcmd

import (
	"context"
	"errors"
	"os"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/timed"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/operation"
)

// Apply is the command `apply`.
var Apply = &base.Command{
	Name: "apply", Stream: true, Makes: true, Saves: true, Args: "[PLAN]", Short: "Create or update infrastructure",
	Long: `Creates or updates infrastructure according to Lethe configuration
files in the current directory.

By default, Lethe will generate a new plan and present it for your
approval before taking any action. You can optionally provide a plan
file created by a previous call to "lethe plan", in which case Lethe
will take the actions described in that plan without any
confirmation prompt.`,
	Examples: [][2]string{
		{"lethe apply", "Plan, ask, and apply"},
		{"lethe apply tfplan", "Apply a saved plan"},
		{"lethe apply -auto-approve -json", "Apply without a question, and report as JSON"},
		{"lethe apply -timings=timings.html", "Draw how long each step takes"},
		{"lethe apply -target=module.network", "Apply one resource and its dependencies"},
		{"lethe apply -invoke=action.aws_lambda_invoke.warm", "Invoke one action"},
	},
	Setup: base.Flags(func(c *base.Call, f *applyFlags) {
		f.define(c)
		f.defineInvoke(c)
		timed.Flag(c, &f.Timings)
		c.Flags.BoolVar(&f.foreign, "foreign-plan", false, "Apply a saved plan that LETHE_PLAN_KEY did not seal, although the variable is set. Without the variable, omit the warning about a plan of another machine.")
		c.Flags.Func("unknown", "With `create`: create objects again that an interrupted run may have created.", func(s string) error {
			f.createsAgain = s == "create"
			if !f.createsAgain {
				return errors.New("the only value is create")
			}
			return nil
		})
	}, runApply),
}

// noApply is the error text for an apply in a directory without configuration.
const noApply = "The directory has no configuration files, so apply would destroy everything. Change to the right directory, or run \"lethe destroy\" to destroy everything."

func runApply(ctx context.Context, c *base.Call, f *applyFlags) int {
	if len(c.Operands) == 1 {
		if info, err := os.Stat(c.Path(c.Operands[0])); err != nil || !info.IsDir() {
			if f.out != "" {
				c.Bag.Add(changesPlan)
				return c.UI.Fail()
			}
			return applySaved(ctx, c, f, c.Operands[0])
		}
		c.Bag.Add(diag.Errorf("Too many command line arguments", "Apply takes a plan file, and %q is a directory. To apply the configuration in another directory, use the global -chdir option.", c.Operands[0]))
		return c.UI.Fail()
	}
	if c.View.JSON && !f.autoApprove { // planning may take long, and the plan would not be applied
		c.Bag.Add(diag.Errorf("Plan file or auto-approve required", "With -json, apply cannot ask for approval. Use -auto-approve, or apply a saved plan."))
		return c.UI.Fail()
	}
	if !f.maySave(c) {
		return c.UI.Fail()
	}
	o, ok := begin(ctx, c, &f.planFlags, operation.Apply, f.unlessDestroying(noApply))
	if !ok {
		return c.UI.Fail()
	}
	return (&applyRounds{execution: o, f: f}).run(ctx)
}

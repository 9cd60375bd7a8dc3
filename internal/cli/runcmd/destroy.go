package runcmd

import (
	"context"
	"os"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/timed"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/store"
)

// Destroy is the command `destroy`.
var Destroy = &base.Command{
	Name: "destroy", Stream: true, Makes: true, Saves: true, Counts: true, Short: "Destroy previously-created infrastructure",
	Long: `Destroy Lethe-managed infrastructure.

This command is a convenience alias for:
    lethe apply -destroy`,
	Examples: [][2]string{
		{"lethe destroy", "Plan, ask, and destroy everything"},
		{"lethe destroy -target=module.test", "Destroy one resource and its dependents"},
		{"lethe plan -destroy", "Show the planned destruction"},
	},
	Setup: base.Flags(func(c *base.Call, f *applyFlags) {
		f.define(c)
		timed.Flag(c, &f.Timings)
	}, runDestroy),
}

func runDestroy(ctx context.Context, c *base.Call, f *applyFlags) int {
	switch {
	case f.destroy:
		c.Bag.Add(diag.Errorf("Invalid mode option", "The -destroy option is not valid for \"lethe destroy\", because this command always runs in destroy mode."))
		return c.UI.Fail()
	case f.refreshOnly:
		c.Bag.Add(diag.Errorf("Invalid mode option", "The -refresh-only option is not valid for \"lethe destroy\", which always runs in destroy mode. To bring the state up to date with the real objects, run \"lethe apply -refresh-only\"."))
		return c.UI.Fail()
	}
	f.destroy = true
	if len(c.Operands) == 1 && isFile(c.Path(c.Operands[0])) {
		c.Bag.Add(diag.Errorf("Destroy can't be called with a plan file", "A saved plan cannot be changed into a destroy plan. If %q was made with plan -destroy, run:\n  lethe apply %s", c.Operands[0], store.ShellFile(c.Operands[0])))
		return c.UI.Fail()
	}
	if !c.NoOperands() {
		return c.UI.Fail()
	}
	return runApply(ctx, c, f)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

package runcmd

import (
	"context"
	"os"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Destroy is `destroy`.
var Destroy = &base.Command{
	Name: "destroy", Stream: true, Makes: true, Counts: true, Short: "Destroy previously-created infrastructure",
	Long: `Destroy Lethe-managed infrastructure.

This command is a convenience alias for:
    lethe apply -destroy`,
	Examples: [][2]string{
		{"lethe destroy", "Plan, ask, and destroy everything"},
		{"lethe destroy -target=module.test", "Destroy a part, and what needs it"},
		{"lethe plan -destroy", "Show what would be destroyed"},
	},
	Setup: base.Flags(func(c *base.Call, f *applyFlags) { f.define(c) }, runDestroy),
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
		c.Bag.Add(diag.Errorf("Destroy can't be called with a plan file", "What a saved plan does was decided when it was made. If %q was made with plan -destroy, apply it with:\n  lethe apply %[1]q", c.Operands[0]))
		return c.UI.Fail()
	}
	if !c.NoOperands() {
		return c.UI.Fail()
	}
	return runApply(ctx, c, f)
}

// isFile reports whether there is a file of that name.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

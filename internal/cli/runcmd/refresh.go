package runcmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/operation"
)

// Refresh is the command `refresh`.
var Refresh = &base.Command{
	Name: "refresh", Stream: true, Short: "Update the state to match remote systems",
	Long: `Update the state file of your infrastructure with metadata that matches
the physical resources they are tracking. This does the same as
    lethe apply -refresh-only -auto-approve
but shows only the outputs. To see the changes first, use
    lethe plan -refresh-only`,
	Examples: [][2]string{
		{"lethe apply -refresh-only", "Refresh after approval"},
	},
	Setup: base.Flags(func(c *base.Call, f *planFlags) { f.define(c) }, runRefresh),
}

func runRefresh(ctx context.Context, c *base.Call, f *planFlags) int {
	f.refreshOnly = true
	o, ok := begin(ctx, c, f, operation.Refresh, "")
	if !ok {
		return c.UI.Fail()
	}
	if o.ws.Snapshot().Len() == 0 {
		c.Bag.Add(diag.Warningf("Empty or non-existent state", "There are currently no remote objects tracked in the state, so there is nothing to refresh."))
	}
	result, ok := o.plan(ctx)
	if !ok {
		return c.UI.Fail()
	}
	return o.carryOut(ctx, result.Plan, &applyFlags{})
}

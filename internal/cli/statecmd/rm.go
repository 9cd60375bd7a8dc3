package statecmd

import (
	"context"
	"fmt"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
)

// Rm is the command `state rm`.
var Rm = &base.Command{
	Name: "state rm", Args: "ADDRESS...", Short: "Remove instances from the state",
	Long: `Remove one or more items from the Lethe state, causing Lethe to
"forget" those items without first destroying them in the remote system.

The configuration is not changed. Before the next plan, remove the block
there as well: otherwise the plan creates a second object. A "removed" block
in the configuration does the same as this command, and a plan shows it
first.`,
	Examples: [][2]string{
		{"lethe state rm aws_instance.web", "Forget an object without destroying it"},
		{"lethe state rm -dry-run module.old", "Show the removals without making them"},
	},
	Setup: base.Flags(func(c *base.Call, f *rmFlags) {
		c.Flags.BoolVar(&f.dryRun, "dry-run", false, "Print the removals without making them.")
		f.VarFlags(c)
		f.LockFlags(c)
		f.StateFlags(c)
		c.RemoteFlag()
	}, runRm),
}

type rmFlags struct {
	workdir.Options
	dryRun bool
}

func runRm(ctx context.Context, c *base.Call, f *rmFlags) int {
	targets, ok := workdir.Addresses(c, "address", c.Operands, nil)
	if !ok {
		return c.UI.Fail()
	}
	return change(ctx, c, &f.Options, operation.Remove, func(s *state.Snapshot) (*state.Snapshot, bool) {
		var found diag.Bag
		next, missing, ok := s.Remove(targets, &found)
		if f.dryRun && len(missing) == 0 {
			c.UI.Print("Would have removed nothing.\n")
			return nil, false
		}
		c.Bag.Move(&found)
		word := "Removed"
		if f.dryRun {
			word = "Would remove"
		}
		instances := map[addr.Instance]bool{} // an instance may have deposed objects
		for _, o := range missing {
			instances[o.Instance] = true
			c.UI.Print(fmt.Sprintf("%s %s\n", word, o))
		}
		if ok && !f.dryRun {
			c.UI.Print(fmt.Sprintf("Successfully removed %d resource instance(s).\n", len(instances)))
		}
		return next, ok && !f.dryRun
	})
}

package statecmd

import (
	"context"
	"fmt"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
)

// Rm is `state rm`.
var Rm = &base.Command{
	Name: "state rm", Args: "ADDRESS...", Short: "Remove instances from the state",
	Long: "Remove one or more items from the Lethe state, causing Lethe to\n\"forget\" those items without first destroying them in the remote system.",
	Examples: [][2]string{
		{"lethe state rm aws_instance.web", "Forget an object, which stays where it is"},
		{"lethe state rm -dry-run module.old", "Show what would be forgotten"},
	},
	Setup: base.Flags(func(c *base.Call, f *rmFlags) {
		c.Flags.BoolVar(&f.dryRun, "dry-run", false, "Only say what would be removed.")
		f.VarFlags(c)
		f.LockFlags(c)
		f.StateFlags(c)
		c.RemoteFlag()
	}, runRm),
}

type rmFlags struct {
	project.Options
	dryRun bool
}

func runRm(ctx context.Context, c *base.Call, f *rmFlags) int {
	targets, ok := project.Addresses(c, "address", c.Operands, nil)
	if !ok {
		return c.UI.Fail()
	}
	return change(ctx, c, &f.Options, "state-rm", func(s *state.Snapshot) (*state.Snapshot, bool) {
		var found diag.Bag
		next, gone, ok := s.Remove(targets, &found)
		if f.dryRun && len(gone) == 0 {
			c.UI.Print("Would have removed nothing.\n")
			return nil, false
		}
		c.Bag.Take(&found)
		word := "Removed"
		if f.dryRun {
			word = "Would remove"
		}
		for _, o := range gone {
			c.UI.Print(fmt.Sprintf("%s %s\n", word, o))
		}
		if ok && !f.dryRun {
			c.UI.Print(fmt.Sprintf("Successfully removed %d resource instance(s).\n", len(gone)))
		}
		return next, ok && !f.dryRun
	})
}

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

// Taint is the command `taint`.
var Taint = &base.Command{
	Name: "taint", Args: "ADDRESS", Short: "Mark a resource instance as not fully functional",
	Long: "Marks a resource instance as tainted, so that the next plan replaces it. Lethe marks\nan instance itself if a part of its creation failed.",
	Examples: [][2]string{
		{"lethe taint aws_instance.web", "Have the next plan replace an object"},
		{"lethe plan -replace=aws_instance.web", "Replace it in one plan, without changing the state"},
	},
	Setup: taintSetup(true),
}

// Untaint is the command `untaint`.
var Untaint = &base.Command{
	Name: "untaint", Args: "ADDRESS", Short: "Remove the 'tainted' state from a resource instance",
	Long: "Removes the \"tainted\" state from a resource instance, so that it is not\nreplaced by the next plan.",
	Examples: [][2]string{
		{"lethe untaint aws_instance.web", "Keep a tainted object that works"},
	},
	Setup: taintSetup(false),
}

type taintFlags struct {
	workdir.Options
	allowMissing bool
}

func taintSetup(taint bool) func(*base.Call) base.Run {
	return base.Flags(func(c *base.Call, f *taintFlags) {
		c.Flags.BoolVar(&f.allowMissing, "allow-missing", false, "Succeed even if the object does not exist.")
		f.VarFlags(c)
		f.LockFlags(c)
		f.StateFlags(c)
		c.RemoteFlag()
	}, func(ctx context.Context, c *base.Call, f *taintFlags) int { return runTaint(ctx, c, f, taint) })
}

func runTaint(ctx context.Context, c *base.Call, f *taintFlags, taint bool) int {
	i, err := addr.ParseInstance(c.Operands[0])
	if err != nil {
		c.Bag.Add(diag.Errorf("Invalid resource instance address", "%s.", err))
		return c.UI.Fail()
	}
	return change(ctx, c, &f.Options, operation.Taint, func(s *state.Snapshot) (*state.Snapshot, bool) {
		if s.Get(i.Current()) == nil && f.allowMissing {
			c.Bag.Add(diag.Warningf("No such resource instance", "Resource instance %s was not found, but this is not an error because -allow-missing was set.", i))
			return nil, false
		}
		edit, text := s.Untaint, "Resource instance %s has been successfully untainted.\n"
		if taint {
			edit, text = s.Taint, "Resource instance %s has been marked as tainted.\n"
		}
		next, ok := edit(i, &c.Bag)
		if ok {
			c.UI.Print(fmt.Sprintf(text, i))
		}
		return next, ok
	})
}

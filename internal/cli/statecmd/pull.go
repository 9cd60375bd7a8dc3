package statecmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
)

// Pull is the command `state pull`.
var Pull = &base.Command{
	Name: "state pull", Short: "Pull current state and output to stdout",
	Long: "Pull the state from its location, upgrade the local copy, and output it\nto stdout.",
	Examples: [][2]string{
		{"lethe state pull > state.json", "Save a copy of the state"},
	},
	Setup: base.Flags(func(c *base.Call, f *workdir.Options) { f.VarFlags(c) }, runPull),
}

func runPull(ctx context.Context, c *base.Call, f *workdir.Options) int {
	at, ok := selected(ctx, c, f)
	if !ok {
		return c.UI.Fail()
	}
	s, ok := at.Read(ctx)
	switch {
	case !ok:
		return c.UI.Fail()
	case s == nil && at.InFile():
		return c.UI.Done(base.ExitOK)
	case s == nil: // without a state, print an empty state, as Terraform and OpenTofu do, because programs read the output
		s = &state.Snapshot{Version: base.Version}
	}
	if err := s.Write(c.Stdout); err != nil {
		c.Bag.Add(diag.Errorf("Failed to write state", "%s.", err))
	}
	return c.UI.DoneDocument()
}

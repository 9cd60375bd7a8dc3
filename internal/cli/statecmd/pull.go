package statecmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Pull is `state pull`.
var Pull = &base.Command{
	Name: "state pull", Short: "Pull current state and output to stdout",
	Long: "Pull the state from its location, upgrade the local copy, and output it\nto stdout.",
	Examples: [][2]string{
		{"lethe state pull > state.json", "Save a copy of the state"},
	},
	Setup: base.Flags(func(c *base.Call, f *project.Options) { f.VarFlags(c) }, runPull),
}

func runPull(ctx context.Context, c *base.Call, f *project.Options) int {
	p, ok := project.Open(c, f)
	if !ok {
		return c.UI.Fail()
	}
	s, ok := p.ReadState(ctx)
	if !ok {
		return c.UI.Fail()
	}
	if s == nil {
		return c.UI.Done(base.ExitOK)
	}
	if err := s.Write(c.Stdout); err != nil {
		c.Bag.Add(diag.Errorf("Failed to write state", "%s.", err))
	}
	return p.UI.DoneQuiet()
}

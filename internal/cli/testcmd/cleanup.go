package testcmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
)

// Cleanup is `test cleanup`.
var Cleanup = &base.Command{
	Name: "test cleanup", Stream: true, Makes: true, Short: "Destroy what runs of tests left on purpose",
	Long: `Destroys what runs with skip_cleanup made and "lethe test" left, with the module,
the values and the provider settings that their test files give them.`,
	Examples: [][2]string{{"lethe test cleanup", "Destroy all that tests left"}},
	Setup: base.Flags(func(c *base.Call, f *flags) {
		f.TestsFlag(c)
		c.Flags.BoolVar(&f.verbose, "verbose", false, "Accepted for compatibility.")
		c.Flags.IntVar(&f.Parallelism, "parallelism", 10, "How `many` provider calls may run at once.")
		f.VarFlags(c)
		f.WarningFlags(c)
		c.JSONFlag()
	}, cleanup),
}

func cleanup(ctx context.Context, c *base.Call, f *flags) int {
	f.Input = false
	if !f.NoOperands(c) {
		return c.UI.Fail()
	}
	p, ok := project.Open(c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	kept, ok := p.Tests().Kept()
	if !ok {
		return c.UI.Fail()
	}
	if len(kept) == 0 {
		c.UI.Line("Nothing is left of earlier tests.")
		return c.UI.Done(base.ExitOK)
	}
	s, ok := prepare(ctx, p, f)
	if !ok {
		return c.UI.Fail()
	}
	c.UI.Diagnostics(c.Bag.List())
	c.Bag.Clear()
	s.Reporter, c.Leaving = reporter(p, f), s.Abandon
	if !s.CleanUp(ctx, kept) || c.CutShort() {
		return c.UI.Fail()
	}
	c.UI.Line("What earlier tests left is destroyed.")
	return c.UI.Done(base.ExitOK)
}

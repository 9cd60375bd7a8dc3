package testcmd

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/suite"
)

// Cleanup is `test cleanup`.
var Cleanup = &base.Command{
	Name: "test cleanup", Stream: true, Makes: true, Short: "Destroy what tests left",
	Long: `Destroys what runs with skip_cleanup made, and what "lethe test" could not
destroy, with the module, the values and the provider settings that their test
files give them.`,
	Examples: [][2]string{
		{"lethe test cleanup", "Destroy all that tests left"},
		{"lethe test cleanup -repair", "Destroy what they could not, and leave what is to stay"},
	},
	Setup: base.Flags(func(c *base.Call, f *flags) {
		f.TestsFlag(c)
		c.Flags.BoolVar(&f.repair, "repair", false, "Keep what skip_cleanup keeps: destroy only what could not be destroyed before.")
		c.Flags.BoolVar(&f.verbose, "verbose", false, "Accepted for compatibility.")
		c.Flags.IntVar(&f.Parallelism, "parallelism", 10, "How `many` provider calls may run at once.")
		f.VarFlags(c)
		f.WarningFlags(c)
		c.JSONFlag()
	}, cleanup),
}

func cleanup(ctx context.Context, c *base.Call, f *flags) int {
	f.Input = false
	p, ok := project.Open(c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	kept, ok := p.Tests().Kept()
	if !ok {
		return c.UI.Fail()
	}
	but := ""
	if f.repair {
		all := len(kept)
		if kept = slices.DeleteFunc(kept, func(k suite.Kept) bool { return !k.Failed }); len(kept) < all {
			but = ", but for what skip_cleanup keeps"
		}
	}
	if len(kept) == 0 {
		c.UI.Line("Nothing is left of earlier tests" + but + ".")
		return c.UI.Done(base.ExitOK)
	}
	s, ok := prepare(ctx, p, f)
	if !ok {
		return c.UI.Fail()
	}
	c.UI.Diagnostics(c.Bag.List())
	c.Bag.Clear()
	s.Reporter = reporter(p, f)
	c.AtOnce(s.Abandon)
	if !s.CleanUp(ctx, kept) || c.CutShort() {
		return c.UI.Fail()
	}
	c.UI.Line("What earlier tests left is destroyed" + but + ".")
	return c.UI.Done(base.ExitOK)
}

package testcmd

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/suite"
)

// Cleanup is the command `test cleanup`.
var Cleanup = &base.Command{
	Name: "test cleanup", Stream: true, Makes: true, Saves: true, Short: "Destroy objects that tests left",
	Long: `Destroys objects of runs with skip_cleanup, and objects that "lethe test" could
not destroy. It uses the module, the values and the provider settings in their
test files.`,
	Examples: [][2]string{
		{"lethe test cleanup", "Destroy all objects that tests left"},
		{"lethe test cleanup -repair", "Destroy only objects that tests failed to destroy"},
	},
	Setup: base.Flags(func(c *base.Call, f *flags) {
		f.TestsFlag(c)
		c.Flags.BoolVar(&f.repair, "repair", false, "Destroy only objects that tests failed to destroy, and keep the objects of skip_cleanup.")
		c.Flags.BoolVar(&f.verbose, "verbose", false, "Accepted for compatibility.")
		c.Flags.IntVar(&f.Parallelism, "parallelism", 10, "How `many` provider calls may run at once.")
		f.VarFlags(c)
		f.WarningFlags(c)
		c.JSONFlag()
	}, cleanup),
}

func cleanup(ctx context.Context, c *base.Call, f *flags) int {
	f.Input = false
	p, ok := session.Open(c, &f.Options, operation.Test)
	if !ok {
		return c.UI.Fail()
	}
	t := newTests(p)
	kept, ok := t.Kept()
	if !ok {
		return c.UI.Fail()
	}
	but := ""
	if f.repair {
		all := len(kept)
		if kept = slices.DeleteFunc(kept, func(k suite.Kept) bool { return !k.Failed }); len(kept) < all {
			but = ", except objects of skip_cleanup"
		}
	}
	if len(kept) == 0 {
		c.UI.Line("Earlier tests left no objects" + but + ".")
		return c.UI.Done(base.ExitOK)
	}
	s, ok := prepare(ctx, t, f)
	if !ok {
		return c.UI.Fail()
	}
	c.UI.Diagnostics(c.Bag.List())
	c.Bag.Clear()
	s.Reporter = reporter(p, f)
	c.AtOnce(s.Abandon)
	if !s.CleanUp(ctx, kept) || c.Interrupted() {
		return c.UI.Fail()
	}
	c.UI.Line("The objects of earlier tests are destroyed" + but + ".")
	return c.UI.Done(base.ExitOK)
}

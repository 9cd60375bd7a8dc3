package initcmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
)

// Get is `get`.
var Get = &base.Command{
	Name: "get", Stream: true, Short: "Install or upgrade remote modules",
	Long: "Downloads and installs modules needed for the configuration in the\ncurrent working directory.",
	Examples: [][2]string{
		{"lethe get -update", "Install the newest modules that the constraints allow"},
	},
	Setup: base.Flags(func(c *base.Call, f *getFlags) {
		c.Flags.BoolVar(&f.update, "update", false, "Check for newer versions.")
		c.Flags.BoolVar(&f.offline, "offline", false, "Ask no server: take what this machine has.")
		f.TestsFlag(c)
		c.StreamFlags()
		f.VarFlags(c)
	}, runGet),
}

type getFlags struct {
	project.Options
	update, offline bool
}

func runGet(ctx context.Context, c *base.Call, f *getFlags) int {
	p, ok := project.Open(c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	if f.offline {
		p.Providers.Registry.Client.Offline = true
	}
	p.InstallModules(ctx, f.update, p.UI.Line)
	if !p.Load() || !p.Tests().LoadAll() || !initModules(p, f.update, func() {}) {
		return c.UI.Fail()
	}
	p.Lock.SetModules(p.Modules.Locks())
	if !writeLock(p) {
		return c.UI.Fail()
	}
	return c.UI.Done(base.ExitOK)
}

package initcmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/loader"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
)

// Get is the command `get`.
var Get = &base.Command{
	Name: "get", Stream: true, Short: "Install or upgrade remote modules",
	Long: "Downloads and installs modules needed for the configuration in the\ncurrent working directory.",
	Examples: [][2]string{
		{"lethe get -update", "Install the newest modules that the constraints allow"},
	},
	Setup: base.Flags(func(c *base.Call, f *getFlags) {
		c.Flags.BoolVar(&f.update, "update", false, "Check for newer versions.")
		c.Flags.BoolVar(&f.offline, "offline", false, "Use only packages on this machine. Ask no server.")
		f.TestsFlag(c)
		c.StreamFlags()
		f.VarFlags(c)
	}, runGet),
}

type getFlags struct {
	workdir.Options
	update, offline bool
}

func runGet(ctx context.Context, c *base.Call, f *getFlags) int {
	d, ok := workdir.Open(c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	if f.offline {
		d.Network.Registry.Client.Offline = true
	}
	l := loader.New(d)
	l.InstallModules(ctx, f.update, c.UI.Line)
	if !l.Load() || !l.LoadAllTests() || !initModules(l, f.update, func() {}) {
		return c.UI.Fail()
	}
	d.Lock.SetModules(l.Modules.Locks())
	if !writeLock(d) {
		return c.UI.Fail()
	}
	return c.UI.Done(base.ExitOK)
}

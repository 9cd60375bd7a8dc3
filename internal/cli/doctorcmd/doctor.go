// Package doctorcmd defines the command doctor.
//
//	doctor.go      the command
//	machine.go     settings, environment variables, traces, caches, certificates
//	directory.go   providers and the state of the working directory
//	checking.go    the findings of a run, also from diagnostics
//	access_*.go    whether a directory can be written
package doctorcmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Doctor is the command `doctor`.
var Doctor = &base.Command{
	Name: "doctor", Short: "Find problems of the installation and the working directory", Result: true, ReportsCLIConfig: true, // checking.settings reports the missing files
	Long: `Checks everything around a configuration, and prints one line for each finding:
the CLI configuration, environment variables with and without effect, traces,
caches, certificates, the clock, provider versions beside the lock file, and the
state with its lock, journals of killed runs, states that could not be stored and
open leases.

It starts no provider, takes no lock and changes nothing. It uses the network only
if the backend of the state does. Values of environment variables and credentials
are not shown. The exit code is 1 if a problem is found.`,
	Examples: [][2]string{
		{"lethe doctor", "Check this machine and this directory"},
		{"lethe doctor -json", "Print the findings as JSON"},
	},
	Setup: base.Flags(func(c *base.Call, f *workdir.Options) {
		c.DocumentFlags()
		f.VarFlags(c)
		f.StateFlag(c)
	}, runDoctor),
}

func runDoctor(ctx context.Context, c *base.Call, f *workdir.Options) int {
	x := &checking{call: c}
	ok := false
	x.within("settings", func() { x.dir, ok = workdir.Open(c, f) })
	x.settings(ok)
	x.environment()
	x.traces()
	x.certificates()
	if ok {
		x.caches()
		x.directory(ctx)
	}
	if ctx.Err() != nil {
		return c.UI.Fail()
	}
	alone, err := c.Document(x.findings.JSON)
	if err == nil && !alone {
		err = x.findings.Text(c.Stdout)
	}
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to show the findings", "%s.", err))
	}
	if code := c.UI.DoneDocument(); code != base.ExitOK || x.findings.Problems() == 0 {
		return code
	}
	return base.ExitError
}

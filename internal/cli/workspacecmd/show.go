package workspacecmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
)

// Show is the command `workspace show`.
var Show = &base.Command{
	Name: "workspace show", Short: "Show the name of the current workspace",
	Long: "Show the name of the current workspace.",
	Examples: [][2]string{
		{"lethe workspace show", "Print the name of the workspace"},
	},
	Setup: base.NoFlags(runShow),
}

func runShow(_ context.Context, c *base.Call) int {
	env := workdir.Workspaces(c)
	if !env.CheckName(env.Selected()) {
		return c.UI.Fail()
	}
	c.UI.Print(env.Selected() + "\n")
	return c.UI.Done(base.ExitOK)
}

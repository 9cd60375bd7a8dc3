package workspacecmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
)

// Show is `workspace show`.
var Show = &base.Command{
	Name: "workspace show", Short: "Show the name of the current workspace",
	Long: "Show the name of the current workspace.",
	Examples: [][2]string{
		{"lethe workspace show", "Name the workspace that commands work in"},
	},
	Setup: base.NoFlags(runShow),
}

func runShow(_ context.Context, c *base.Call) int {
	env := project.Workspaces(c)
	if !env.CheckName(env.Selected()) {
		return c.UI.Fail()
	}
	c.UI.Print(env.Selected() + "\n")
	return c.UI.Done(base.ExitOK)
}

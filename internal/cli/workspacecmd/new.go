package workspacecmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/cli/statecmd"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// New is `workspace new`.
var New = &base.Command{
	Name: "workspace new", Args: "NAME", Short: "Create a new workspace",
	Long: "Create a new workspace and select it.",
	Examples: [][2]string{
		{"lethe workspace new staging", "Make a workspace and select it"},
	},
	Setup: base.Flags(func(c *base.Call, f *newFlags) {
		f.LockFlags(c)
		c.Flags.StringVar(&f.State, "state", "", "Begin with the state in this `file`.")
		f.VarFlags(c)
	}, runNew),
}

type newFlags struct{ project.Options }

func runNew(ctx context.Context, c *base.Call, f *newFlags) int {
	name := c.Operands[0]
	if c.Getenv(workspace.Variable) != name && !mayChange(c, "create a workspace of another name") {
		return c.UI.Fail()
	}
	if !project.Workspaces(c).CheckName(name) {
		return c.UI.Fail()
	}
	from := f.State
	f.State = ""
	p, names, ok := open(ctx, c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	initial := empty()
	if from != "" {
		if initial, ok = statecmd.ReadFile(ctx, p, from); !ok {
			return c.UI.Fail()
		}
	}
	if slices.Contains(names, name) {
		c.Bag.Add(diag.Errorf(fmt.Sprintf("Workspace %q already exists", name), "Select it with: lethe workspace select %s", name))
		return c.UI.Fail()
	}
	if !create(ctx, p, name, initial) || !choose(c, name) {
		return c.UI.Fail()
	}
	switched(c, name)
	return c.UI.Done(base.ExitOK)
}

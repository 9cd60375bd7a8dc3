package workspacecmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/store"
)

// Select is the command `workspace select`.
var Select = &base.Command{
	Name: "workspace select", Args: "NAME", Short: "Select a workspace",
	Long: "Select a different workspace.",
	Examples: [][2]string{
		{"lethe workspace select -or-create staging", "Select a workspace, and create it if it does not exist"},
	},
	Setup: base.Flags(func(c *base.Call, f *selectFlags) {
		c.Flags.BoolVar(&f.orCreate, "or-create", false, "Create the workspace if it does not exist.")
		f.VarFlags(c)
	}, runSelect),
}

type selectFlags struct {
	workdir.Options
	orCreate bool
}

func runSelect(ctx context.Context, c *base.Call, f *selectFlags) int {
	if !mayChange(c, "select a new workspace") {
		return c.UI.Fail()
	}
	env, name := workdir.Workspaces(c), c.Operands[0]
	st, names, ok := open(ctx, c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	if !env.CheckName(name) {
		return c.UI.Fail()
	}
	if name == env.Selected() {
		return c.UI.Done(base.ExitOK)
	}
	if !slices.Contains(names, name) {
		opened, ok := st.OpenStore(ctx)
		if !ok {
			return c.UI.Fail()
		}
		if store.Single(ctx, opened.Store) {
			c.Bag.Add(diag.Errorf("Workspaces not supported", "The backend %q stores only one state, so its only workspace is %q.", opened.Type, store.Default))
			return c.UI.Fail()
		}
		if !f.orCreate {
			c.Bag.Add(diag.Errorf(fmt.Sprintf("Workspace %q doesn't exist.", name), "You can create this workspace with the \"new\" subcommand \nor include the \"-or-create\" flag with the \"select\" subcommand.%s", diag.DidYouMean(name, names)))
			return c.UI.Fail()
		}
		req := st.Request(operation.Create)
		req.Lock = true // the command has no options for locks
		if !create(ctx, c, st, req, name, empty()) || !choose(c, name) {
			return c.UI.Fail()
		}
		switched(c, name)
		return c.UI.Done(base.ExitOK)
	}
	if !choose(c, name) {
		return c.UI.Fail()
	}
	c.UI.Print(fmt.Sprintf("Switched to workspace %q.\n", name))
	return c.UI.Done(base.ExitOK)
}

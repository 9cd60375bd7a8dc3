package workspacecmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/statecmd"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// New is the command `workspace new`.
var New = &base.Command{
	Name: "workspace new", Args: "NAME", Short: "Create a new workspace",
	Long: "Create a new workspace and select it.",
	Examples: [][2]string{
		{"lethe workspace new staging", "Create a workspace and select it"},
	},
	Setup: base.Flags(func(c *base.Call, f *newFlags) {
		f.LockFlags(c)
		c.Flags.StringVar(&f.State, "state", "", "Start with the state in this `file`.")
		f.VarFlags(c)
	}, runNew),
}

// begun returns the first state of a workspace with the content of another state. It has a new lineage, so that "state
// push" and saved plans distinguish both states.
func begun(from *state.Snapshot) *state.Snapshot {
	e := from.Edit()
	e.Head().Lineage, e.Head().Serial, e.Head().Version = state.NewLineage(), 1, base.Version
	return e.Done()
}

type newFlags struct{ workdir.Options }

func runNew(ctx context.Context, c *base.Call, f *newFlags) int {
	name := c.Operands[0]
	if c.Getenv(workspace.Variable) != name && !mayChange(c, "create a workspace of another name") {
		return c.UI.Fail()
	}
	if !workdir.Workspaces(c).CheckName(name) {
		return c.UI.Fail()
	}
	from := f.State
	f.State = ""
	st, names, ok := open(ctx, c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	initial := empty()
	if from != "" {
		if initial, _, ok = statecmd.ReadFile(ctx, c, st, from); !ok {
			return c.UI.Fail()
		}
		initial = begun(initial)
	}
	if slices.Contains(names, name) {
		c.Bag.Add(diag.Errorf(fmt.Sprintf("Workspace %q already exists", name), "Select it with: lethe workspace select %s", name))
		return c.UI.Fail()
	}
	if !create(ctx, c, st, st.Request(operation.Create), name, initial) || !choose(c, name) {
		return c.UI.Fail()
	}
	switched(c, name)
	return c.UI.Done(base.ExitOK)
}

package workspacecmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// Delete is the command `workspace delete`.
var Delete = &base.Command{
	Name: "workspace delete", Args: "NAME", Short: "Delete a workspace",
	Long: "Delete a workspace. If its state still has objects, the command needs -force,\nand Lethe no longer manages these objects.",
	Examples: [][2]string{
		{"lethe workspace delete staging", "Delete a workspace whose state is empty"},
	},
	Setup: base.Flags(func(c *base.Call, f *deleteFlags) {
		c.Flags.BoolVar(&f.force, "force", false, "Delete even if the state has objects.")
		f.LockFlags(c)
		f.VarFlags(c)
	}, runDelete),
}

type deleteFlags struct {
	workdir.Options
	force bool
}

func runDelete(ctx context.Context, c *base.Call, f *deleteFlags) int {
	name := c.Operands[0]
	st, names, ok := open(ctx, c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	switch {
	case !slices.Contains(names, name):
		c.Bag.Add(diag.Errorf(fmt.Sprintf("Workspace %q doesn't exist.", name), "There is nothing to delete.%s", diag.DidYouMean(name, names)))
	case name == store.Default:
		c.Bag.Add(diag.Errorf("Cannot delete the default workspace", "The workspace \"default\" always exists and cannot be deleted."))
	case name == workdir.Workspaces(c).Selected():
		c.Bag.Add(diag.Errorf(fmt.Sprintf("Workspace %q is your active workspace.", name), "The active workspace cannot be deleted. Select another workspace and try again."))
	default:
		return remove(ctx, c, st, name, f.force)
	}
	return c.UI.Fail()
}

func remove(ctx context.Context, c *base.Call, st *states.States, name string, force bool) int {
	locked, ok := st.Lock(ctx, states.Locking{Operation: operation.Delete, Workspace: name})
	if !ok {
		return c.UI.Fail()
	}
	ws := locked.State
	has := ws.Snapshot().Len() > 0
	if has && !force {
		ws.Unlock()
		c.Bag.Add(diag.Errorf("Workspace is not empty", "Workspace %q is currently tracking the following resource instances:\n%s\n\nIf the workspace is deleted, Lethe no longer manages these objects. First destroy them with: lethe destroy\n\nTo delete the workspace anyway and forget the objects, use -force.", name, objectsOf(ws)))
		return c.UI.Fail()
	}
	if left := unsettled(ws); left != "" && !force {
		ws.Unlock()
		c.Bag.Add(diag.Errorf("Workspace is not empty", "Interrupted runs in the workspace %q left these objects, which no state has:\n%s\n\nIf the workspace is deleted, Lethe forgets them. Set the environment variable %s to %s, and settle them with \"lethe state resolve\" and \"lethe leases close\". To delete the workspace anyway, use -force.", name, left, workspace.Variable, name))
		return c.UI.Fail()
	}
	variable, err := ws.DisabledJournals(ctx)
	if err == nil && variable != "" && !force {
		ws.Unlock()
		c.Bag.Add(diag.Errorf("Workspace is not empty", "An interrupted run has recorded changes of workspace %q that are not in its state. To recover them, set the environment variable %s to true and run this command again. To delete the workspace anyway, use -force.", name, variable))
		return c.UI.Fail()
	}
	if err == nil {
		err = ws.Delete(ctx)
	}
	ws.Unlock()
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to delete workspace", "%s.", err))
		return c.UI.Fail()
	}
	c.UI.Print(fmt.Sprintf("Deleted workspace %q!\n", name))
	if has {
		c.Bag.Add(diag.Warningf("Workspace was not empty", "%q was non-empty.\nThe resources managed by the deleted workspace may still exist, but are no longer manageable by Lethe since the state has been deleted.", name))
	}
	return c.UI.Done(base.ExitOK)
}

// unsettled lists the objects that interrupted runs may have created, and the leases that they left open, one on each
// line.
func unsettled(ws *workspace.State) string {
	var lines []string
	for _, u := range ws.Notes().Unknown {
		if u.MayExist() {
			lines = append(lines, "  - "+u.String())
		}
	}
	for _, l := range ws.Notes().Leases {
		lines = append(lines, "  - "+l.String())
	}
	return strings.Join(lines, "\n")
}

func objectsOf(ws *workspace.State) string {
	var lines []string
	for o := range ws.Snapshot().Objects() {
		lines = append(lines, "  - "+o.String())
	}
	return strings.Join(lines, "\n")
}

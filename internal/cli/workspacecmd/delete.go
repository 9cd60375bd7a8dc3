package workspacecmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// Delete is `workspace delete`.
var Delete = &base.Command{
	Name: "workspace delete", Args: "NAME", Short: "Delete a workspace",
	Long: "Delete a workspace. One that still has objects is only deleted with -force,\nand then its objects are left to themselves.",
	Examples: [][2]string{
		{"lethe workspace delete staging", "Remove a workspace whose state is empty"},
	},
	Setup: base.Flags(func(c *base.Call, f *deleteFlags) {
		c.Flags.BoolVar(&f.force, "force", false, "Delete even if there are objects in the state.")
		f.LockFlags(c)
		f.VarFlags(c)
	}, runDelete),
}

type deleteFlags struct {
	project.Options
	force bool
}

func runDelete(ctx context.Context, c *base.Call, f *deleteFlags) int {
	name := c.Operands[0]
	p, names, ok := open(ctx, c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	switch {
	case !slices.Contains(names, name):
		c.Bag.Add(diag.Errorf(fmt.Sprintf("Workspace %q doesn't exist.", name), "There is nothing to delete.%s", diag.DidYouMean(name, names)))
	case name == store.Default:
		c.Bag.Add(diag.Errorf("Cannot delete the default workspace", "The default workspace always exists."))
	case name == project.Workspaces(c).Selected():
		c.Bag.Add(diag.Errorf(fmt.Sprintf("Workspace %q is your active workspace.", name), "You cannot delete the currently active workspace. Please switch to another workspace and try again."))
	default:
		return remove(ctx, p, name, f.force)
	}
	return c.UI.Fail()
}

func remove(ctx context.Context, p *project.Project, name string, force bool) int {
	ws, ok := p.LockState(ctx, name, "workspace-delete")
	if !ok {
		return p.UI.Fail()
	}
	has := ws.Snapshot().Len() > 0
	if has && !force {
		ws.Unlock()
		p.Bag.Add(diag.Errorf("Workspace is not empty", "Workspace %q is currently tracking the following resource instances:\n%s\n\nDeleting this workspace would cause Lethe to lose track of any associated remote objects, which would then require you to delete them manually outside of Lethe. You should destroy these objects with Lethe before deleting the workspace.\n\nIf you want to delete this workspace anyway, and have Lethe forget about these managed objects, use the -force option to disable this safety check.", name, objectsOf(ws)))
		return p.UI.Fail()
	}
	variable, err := ws.Unread(ctx)
	if err == nil && variable != "" && !force {
		ws.Unlock()
		p.Bag.Add(diag.Errorf("Workspace is not empty", "A lost run has recorded changes in workspace %q, which are not in its state. To have them taken in, set the environment variable %s to true, and run this again. If you want to delete this workspace anyway, use the -force option.", name, variable))
		return p.UI.Fail()
	}
	if err == nil {
		err = ws.Delete(ctx)
	}
	ws.Unlock()
	if err != nil {
		p.Bag.Add(diag.Errorf("Failed to delete workspace", "%s.", err))
		return p.UI.Fail()
	}
	p.UI.Print(fmt.Sprintf("Deleted workspace %q!\n", name))
	if has {
		p.Bag.Add(diag.Warningf("Workspace was not empty", "%q was non-empty.\nThe resources managed by the deleted workspace may still exist, but are no longer manageable by Lethe since the state has been deleted.", name))
	}
	return p.UI.Done(base.ExitOK)
}

func objectsOf(ws *workspace.State) string {
	var lines []string
	for o := range ws.Snapshot().Objects() {
		lines = append(lines, "  - "+o.String())
	}
	return strings.Join(lines, "\n")
}

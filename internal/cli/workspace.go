package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/workspace"
)

func (c *call) selectWorkspace(name string) bool {
	err := c.workspaces().Select(name)
	if err != nil {
		c.bag.Add(diag.Errorf("Failed to select workspace", "%s.", err))
	}
	return err == nil
}

var workspaceListCommand = &Command{
	Name: "workspace list", Short: "List workspaces",
	Long:   "List workspaces. The selected one has a star.",
	Flags:  func(c *call) { c.varFlags(); c.jsonFlag() },
	Result: true,
	Run: func(ctx context.Context, c *call) int {
		if !c.noOperands() || !c.workspaces().CheckName(c.workspaces().Selected()) {
			return c.ui.fail()
		}
		p, names, ok := c.listWorkspaces(ctx)
		if !ok {
			return c.ui.fail()
		}
		defer p.close()
		if w := c.workspaces().Selected(); !slices.Contains(names, w) { // it exists as soon as something is stored in it
			names = append(names, w)
		}
		if c.opts.json {
			return c.workspacesJSON(names)
		}
		for _, n := range names {
			mark := "  "
			if n == c.workspaces().Selected() {
				mark = "* "
			}
			c.ui.print(mark + n + "\n")
		}
		c.ui.print("\n")
		if c.Getenv("TF_WORKSPACE") != "" {
			c.ui.print("The active workspace is being overridden using the TF_WORKSPACE environment\nvariable.\n\n")
		}
		return c.ui.done(exitOK)
	},
}

// workspacesJSON prints the workspaces in the form that the peers have for it.
func (c *call) workspacesJSON(names []string) int {
	type entry struct {
		Name      string `json:"name"`
		IsCurrent bool   `json:"is_current"`
	}
	doc := struct {
		FormatVersion string  `json:"format_version"`
		Workspaces    []entry `json:"workspaces"`
		Diagnostics   []any   `json:"diagnostics"`
	}{"1.0", []entry{}, []any{}}
	for _, n := range names {
		doc.Workspaces = append(doc.Workspaces, entry{n, n == c.workspaces().Selected()})
	}
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err) // names are strings
	}
	c.ui.print(string(text) + "\n")
	return exitOK
}

// listWorkspaces opens the store and lists what it has; the default workspace always exists.
func (c *call) listWorkspaces(ctx context.Context) (*project, []string, bool) {
	p, ok := c.open()
	if !ok {
		return nil, nil, false
	}
	st, ok := p.openStore(ctx)
	if !ok {
		p.close()
		return nil, nil, false
	}
	names, err := st.List(ctx)
	if err != nil {
		c.bag.Add(diag.Errorf("Failed to list workspaces", "%s.", err))
		p.close()
		return nil, nil, false
	}
	return p, names, true
}

var workspaceShowCommand = &Command{
	Name: "workspace show", Short: "Show the name of the current workspace",
	Long: "Show the name of the current workspace.",
	Run: func(_ context.Context, c *call) int {
		if !c.workspaces().CheckName(c.workspaces().Selected()) {
			return c.ui.fail()
		}
		c.ui.print(c.workspaces().Selected() + "\n")
		return c.ui.done(exitOK)
	},
}

var workspaceNewCommand = &Command{
	Name: "workspace new", Args: "NAME", Short: "Create a new workspace",
	Long: "Create a new workspace and select it.",
	Flags: func(c *call) {
		c.lockFlags()
		c.flags.StringVar(&c.opts.state, "state", "", "Begin with the state in this `file`.")
		c.varFlags()
	},
	Run: runWorkspaceNew,
}

func runWorkspaceNew(ctx context.Context, c *call) int {
	if !c.between(1, 1) || !c.mayChange() {
		return c.ui.fail()
	}
	name := c.operands[0]
	if !c.workspaces().CheckName(name) {
		return c.ui.fail()
	}
	initial := emptyState()
	if c.opts.state != "" {
		var ok bool
		if initial, ok = c.readPushed(c.opts.state); !ok {
			return c.ui.fail()
		}
		c.opts.state = ""
	}
	p, names, ok := c.listWorkspaces(ctx)
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	if slices.Contains(names, name) {
		c.bag.Add(diag.Errorf(fmt.Sprintf("Workspace %q already exists", name), "Select it with: lethe workspace select %s", name))
		return c.ui.fail()
	}
	if !p.createWorkspace(ctx, name, initial) || !c.selectWorkspace(name) {
		return c.ui.fail()
	}
	c.onNewWorkspace(name)
	return c.ui.done(exitOK)
}

func (c *call) onNewWorkspace(name string) {
	c.ui.print(fmt.Sprintf("Created and switched to workspace %q!\n\nYou're now on a new, empty workspace. Workspaces isolate their state,\nso if you run \"lethe plan\" Lethe will not see any existing state\nfor this configuration.\n", name))
}

// mayChange refuses to select a workspace that the environment overrides.
func (c *call) mayChange() bool {
	if c.Getenv("TF_WORKSPACE") == "" {
		return true
	}
	c.bag.Add(diag.Errorf("Workspace is overridden", "The selected workspace is currently overridden using the TF_WORKSPACE environment variable.\n\nTo select a new workspace, either update this environment variable or unset it and then run this command again."))
	return false
}

func emptyState() *state.Snapshot {
	return &state.Snapshot{Lineage: state.NewLineage(), Version: Version}
}

// createWorkspace makes a workspace with a first state.
func (p *project) createWorkspace(ctx context.Context, name string, initial *state.Snapshot) bool {
	st, ok := p.openStore(ctx)
	if !ok {
		return false
	}
	data, err := initial.Bytes()
	if err == nil {
		_, err = st.Put(ctx, name, data, "")
	}
	if err != nil {
		p.bag.Add(diag.Errorf("Failed to create workspace", "%s.", err))
	}
	return err == nil
}

var workspaceSelectCommand = &Command{
	Name: "workspace select", Args: "NAME", Short: "Select a workspace",
	Long: "Select a different workspace.",
	Flags: func(c *call) {
		c.flags.BoolVar(&c.orCreate, "or-create", false, "Create the workspace if it does not exist.")
		c.varFlags()
	},
	Run: runWorkspaceSelect,
}

func runWorkspaceSelect(ctx context.Context, c *call) int {
	if !c.between(1, 1) || !c.mayChange() {
		return c.ui.fail()
	}
	name := c.operands[0]
	p, names, ok := c.listWorkspaces(ctx)
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	if !c.workspaces().CheckName(name) {
		return c.ui.fail()
	}
	if name == c.workspaces().Selected() {
		return c.ui.done(exitOK)
	}
	if !slices.Contains(names, name) {
		if !c.orCreate {
			c.bag.Add(diag.Errorf(fmt.Sprintf("Workspace %q doesn't exist.", name), "You can create this workspace with the \"new\" subcommand \nor include the \"-or-create\" flag with the \"select\" subcommand."))
			return c.ui.fail()
		}
		if !p.createWorkspace(ctx, name, emptyState()) || !c.selectWorkspace(name) {
			return c.ui.fail()
		}
		c.onNewWorkspace(name)
		return c.ui.done(exitOK)
	}
	if !c.selectWorkspace(name) {
		return c.ui.fail()
	}
	c.ui.print(fmt.Sprintf("Switched to workspace %q.\n", name))
	return c.ui.done(exitOK)
}

var workspaceDeleteCommand = &Command{
	Name: "workspace delete", Args: "NAME", Short: "Delete a workspace",
	Long: "Delete a workspace. One that still has objects is only deleted with -force,\nand then its objects are left to themselves.",
	Flags: func(c *call) {
		c.flags.BoolVar(&c.force, "force", false, "Delete even if there are objects in the state.")
		c.lockFlags()
		c.varFlags()
	},
	Run: runWorkspaceDelete,
}

func runWorkspaceDelete(ctx context.Context, c *call) int {
	if !c.between(1, 1) {
		return c.ui.fail()
	}
	name := c.operands[0]
	p, names, ok := c.listWorkspaces(ctx)
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	switch {
	case !slices.Contains(names, name):
		c.bag.Add(diag.Errorf(fmt.Sprintf("Workspace %q doesn't exist.", name), "There is nothing to delete."))
	case name == store.Default:
		c.bag.Add(diag.Errorf("Cannot delete the default workspace", "The default workspace always exists."))
	case name == c.workspaces().Selected():
		c.bag.Add(diag.Errorf(fmt.Sprintf("Workspace %q is your active workspace.", name), "You cannot delete the currently active workspace. Please switch to another workspace and try again."))
	default:
		return p.deleteWorkspace(ctx, name)
	}
	return c.ui.fail()
}

func (p *project) deleteWorkspace(ctx context.Context, name string) int {
	ws, ok := p.lockState(ctx, name, "workspace-delete")
	if !ok {
		return p.ui.fail()
	}
	has := ws.Snapshot().Len() > 0
	if has && !p.force {
		ws.Unlock()
		p.bag.Add(diag.Errorf("Workspace is not empty", "Workspace %q is currently tracking the following resource instances:\n%s\n\nDeleting this workspace would cause Lethe to lose track of any associated remote objects, which would then require you to delete them manually outside of Lethe. You should destroy these objects with Lethe before deleting the workspace.\n\nIf you want to delete this workspace anyway, and have Lethe forget about these managed objects, use the -force option to disable this safety check.", name, listObjects(ws)))
		return p.ui.fail()
	}
	err := ws.Delete(ctx)
	ws.Unlock()
	if err != nil {
		p.bag.Add(diag.Errorf("Failed to delete workspace", "%s.", err))
		return p.ui.fail()
	}
	p.ui.print(fmt.Sprintf("Deleted workspace %q!\n", name))
	if has {
		p.bag.Add(diag.Warningf("Workspace was not empty", "%q was non-empty.\nThe resources managed by the deleted workspace may still exist, but are no longer manageable by Lethe since the state has been deleted.", name))
	}
	return p.ui.done(exitOK)
}

func listObjects(ws *workspace.State) string {
	var lines []string
	for o := range ws.Snapshot().Objects() {
		lines = append(lines, "  - "+o.String())
	}
	return strings.Join(lines, "\n")
}

var forceUnlockCommand = &Command{
	Name: "force-unlock", Args: "LOCK_ID", Short: "Release a stuck lock on the current workspace",
	Long: "Manually unlock the state for the defined configuration. This will not modify\nyour infrastructure. It removes the lock on the state; do this only if you are\nsure that nobody works on it.",
	Flags: func(c *call) {
		c.flags.BoolVar(&c.force, "force", false, "Don't ask for input for unlock confirmation.")
		c.varFlags()
	},
	Run: runForceUnlock,
}

func runForceUnlock(ctx context.Context, c *call) int {
	if !c.between(1, 1) {
		return c.ui.fail()
	}
	p, ok := c.open()
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	st, ok := p.openStore(ctx)
	if !ok {
		return c.ui.fail()
	}
	if !c.force {
		yes, answered := c.ui.confirm("Do you really want to force-unlock?", "Lethe will remove the lock on the remote state.\nThis will allow local Lethe commands to modify this state, even though it\nmay still be in use.")
		if !answered && !c.cutShort() {
			c.bag.Add(notApproved("-force"))
			return c.ui.fail()
		}
		if !yes {
			c.ui.print("force-unlock cancelled.\n")
			return c.ui.fail()
		}
	}
	breaker, ok := st.Store.(store.Breaker)
	if !ok {
		c.bag.Add(diag.Errorf("Local state cannot be unlocked by another process", "This store has no locks that could be broken."))
		return c.ui.fail()
	}
	if err := breaker.Break(ctx, c.workspaces().Selected(), c.operands[0]); err != nil {
		c.bag.Add(diag.Errorf("Failed to unlock state", "Nothing was unlocked: %s", err))
		return c.ui.fail()
	}
	c.ui.print("Lethe state has been successfully unlocked!\n\nThe state has been unlocked, and Lethe commands should now be able to\nobtain a new lock on the remote state.\n")
	return c.ui.done(exitOK)
}

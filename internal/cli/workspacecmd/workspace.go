// Package workspacecmd has the commands about workspaces, each of which is a state of its own:
// workspace list, show, new, select and delete, and force-unlock.
package workspacecmd

import (
	"context"
	"fmt"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// open opens the store and lists what it has; the default workspace always exists.
func open(ctx context.Context, c *base.Call, o *project.Options) (*project.Project, []string, bool) {
	p, ok := project.Open(c, o)
	if !ok {
		return nil, nil, false
	}
	st, ok := p.OpenStore(ctx)
	if !ok {
		return nil, nil, false
	}
	names, err := st.List(ctx)
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to list workspaces", "%s.", err))
	}
	return p, names, err == nil
}

// Names lists the workspaces, for completion: none where they are not known.
func Names(c *base.Call) []string {
	_, names, _ := open(context.Background(), c, &project.Options{})
	return names
}

// mayChange refuses to do something about the selection where the environment overrides it.
func mayChange(c *base.Call, what string) bool {
	if c.Getenv(workspace.Variable) == "" {
		return true
	}
	c.Bag.Add(diag.Errorf("Workspace is overridden", "The selected workspace is currently overridden using the TF_WORKSPACE environment variable.\n\nTo %s, either update this environment variable or unset it and then run this command again.", what))
	return false
}

func empty() *state.Snapshot {
	return &state.Snapshot{Lineage: state.NewLineage(), Version: base.Version}
}

// create makes a workspace with a first state.
func create(ctx context.Context, p *project.Project, name string, initial *state.Snapshot) bool {
	st, ok := p.OpenStore(ctx)
	if !ok {
		return false
	}
	data, err := initial.Bytes()
	if err == nil {
		_, err = st.Put(ctx, name, data, "")
	}
	if err != nil {
		p.Bag.Add(diag.Errorf("Failed to create workspace", "%s.", err))
	}
	return err == nil
}

// choose makes a workspace the selected one.
func choose(c *base.Call, name string) bool {
	err := project.Workspaces(c).Select(name)
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to select workspace", "%s.", err))
	}
	return err == nil
}

// switched says that there is a new workspace.
func switched(c *base.Call, name string) {
	c.UI.Print(c.Renamed(fmt.Sprintf("Created and switched to workspace %q!\n\nYou're now on a new, empty workspace. Workspaces isolate their state,\nso if you run \"lethe plan\" Lethe will not see any existing state\nfor this configuration.\n", name)))
}

// Package workspacecmd defines the commands for workspaces: workspace list, show, new, select and delete, and
// force-unlock. Each workspace has a separate state.
package workspacecmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// open opens the states of the working directory and lists the workspaces, which always include the default workspace. If
// opening or listing fails, open reports an error and returns false.
func open(ctx context.Context, c *base.Call, o *workdir.Options) (*states.States, []string, bool) {
	st, ok := states.Open(c, o)
	if !ok {
		return nil, nil, false
	}
	opened, ok := st.OpenStore(ctx)
	if !ok {
		return nil, nil, false
	}
	names, err := opened.List(ctx)
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to list workspaces", "%s.", err))
	}
	return st, names, err == nil
}

// Names returns the names of the workspaces for completion, or nil if they cannot be listed.
func Names(c *base.Call) []string {
	_, names, _ := open(context.Background(), c, &workdir.Options{})
	return names
}

// mayChange reports an error and returns false if the environment selects the workspace. The parameter what is the
// action of the command in the error, such as "select a new workspace".
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

// create locks a new workspace as the request req demands, and writes its first state. If a run was interrupted before it wrote a state there, its
// journal would not continue that state, and its objects would be lost: then create writes nothing. The lock excludes a
// run that is in progress and has no journal yet. After an error, create reports the error and returns false.
func create(ctx context.Context, c *base.Call, st *states.States, req workspace.Request, name string, initial *state.Snapshot) bool {
	opened, ok := st.OpenStore(ctx)
	if !ok {
		return false
	}
	if req.Lock {
		unlock, err := store.Acquire(ctx, opened.Store, name, store.NewLockInfo(req.Operation.Policy().Lock, base.Version), req.Timeout, func(*store.LockError) { req.Waiting() })
		if errors.Is(err, store.ErrOnly) {
			c.Bag.Add(diag.Errorf("Failed to create workspace", "%s.", err))
			return false
		}
		if err != nil {
			c.Bag.Add(store.LockDiagnostic(err, "Lethe"))
			return false
		}
		defer func() {
			if err := unlock(context.WithoutCancel(ctx)); err != nil {
				c.Bag.Add(diag.Errorf("Error releasing the state lock", "%s.", err))
			}
		}()
	}
	left, err := workspace.Unfinished(ctx, workdir.Workspaces(c), opened.Store, name)
	if left {
		c.Bag.Add(diag.Errorf("Failed to create workspace", "A run in the workspace %q was interrupted before it wrote a state, or is in progress. Its journal has changes that no state has. To write them, set the environment variable %s to %s and run: lethe apply -refresh-only. Then the workspace exists, and can be selected.", name, workspace.Variable, name))
		return false
	}
	var data []byte
	if err == nil {
		data, err = initial.Bytes()
	}
	if err == nil {
		_, err = opened.Put(ctx, name, data, "")
	}
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to create workspace", "%s.", err))
	}
	return err == nil
}

// choose selects a workspace for later commands. If the selection cannot be written, it reports an error and returns
// false.
func choose(c *base.Call, name string) bool {
	err := workdir.Workspaces(c).Select(name)
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to select workspace", "%s.", err))
	}
	return err == nil
}

// switched prints that a workspace was created and selected.
func switched(c *base.Call, name string) {
	c.UI.Print(c.Renamed(fmt.Sprintf("Created and switched to workspace %q!\n\nYou're now on a new, empty workspace. Workspaces isolate their state,\nso if you run \"lethe plan\" Lethe will not see any existing state\nfor this configuration.\n", name)))
}

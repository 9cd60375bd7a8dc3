// Package statecmd has the commands that look at the state and what is beside it, or change that, and nothing else: state
// list, show, pull, push, rm, mv, replace-provider, taint and untaint, and those about leases that were left open.
package statecmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/disk"
)

// readOnly opens the working directory for a command that looks at nothing but the state.
func readOnly(ctx context.Context, c *base.Call, o *project.Options) (*project.Project, *state.Snapshot, bool) {
	p, ok := project.Open(c, o)
	if !ok {
		return nil, nil, false
	}
	s, ok := p.ReadState(ctx)
	if ok && s == nil {
		c.Bag.Add(noState())
	}
	return p, s, s != nil
}

// selected opens the selected workspace.
func selected(ctx context.Context, c *base.Call, o *project.Options) (*project.Project, project.Selected, bool) {
	p, ok := project.Open(c, o)
	if !ok {
		return nil, project.Selected{}, false
	}
	at, ok := p.Selected(ctx)
	return p, at, ok
}

func noState() diag.Diagnostic {
	return diag.Errorf("No state file was found!", "State management commands require a state file. Run this command in a directory where Lethe has been run or use the -state flag to point the command to a specific state location.")
}

// stamped names the backup of a file that the user named as a state, with the time in seconds as Terraform does, so that no
// command overwrites the backup of another. It is "" for the state of the workspace, which has a history.
func stamped(c *base.Call, file string) string {
	if file == "" {
		return ""
	}
	return fmt.Sprintf("%s.%d.backup", file, c.Now().Unix())
}

// change locks the state, changes it and writes it back.
func change(ctx context.Context, c *base.Call, o *project.Options, operation string, edit func(*state.Snapshot) (*state.Snapshot, bool)) int {
	if operation != "taint" {
		o.Backup = cmp.Or(o.Backup, stamped(c, cmp.Or(o.StateOut, o.State)))
	}
	p, ok := project.Open(c, o)
	if !ok {
		return c.UI.Fail()
	}
	ws, ok := p.LockState(ctx, "", operation)
	if !ok {
		return c.UI.Fail()
	}
	if ws.Missing() && operation != "taint" { // of which Terraform and OpenTofu say that there is no such object
		c.Bag.Add(noState())
		return c.UI.Fail()
	}
	next, ok := edit(ws.Snapshot())
	if ok && !ws.Save(next) {
		return c.UI.Fail()
	}
	return c.UI.Done(base.ExitOK)
}

// ReadFile reads a state from a file, or from standard input if its name is "-". It may be encrypted.
func ReadFile(ctx context.Context, p *project.Project, name string) (*state.Snapshot, bool) {
	c := p.Call
	which := "The file is " + name + "."
	var data []byte
	var err error
	if name == "-" {
		which = "The state is that of standard input."
		data, err = io.ReadAll(c.Stdin)
	} else {
		data, err = os.ReadFile(c.Path(name))
	}
	if err != nil {
		c.Bag.Add(diag.Errorf("Error reading source state", "The file %s cannot be read: %s.", name, disk.Reason(err)))
		return nil, false
	}
	return p.OpenState(ctx, data, which)
}

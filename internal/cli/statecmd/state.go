// Package statecmd defines the commands that only read or change the state and the files beside it: all commands named
// state, except state resolve; taint and untaint; and the commands for open leases.
package statecmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// read reads the state of the selected workspace without a lock. If the state is missing or cannot be read, read
// reports an error and returns false.
func read(ctx context.Context, c *base.Call, st *states.States) (*state.Snapshot, bool) {
	s, ok := st.Read(ctx)
	if ok && s == nil {
		c.Bag.Add(noState())
	}
	return s, s != nil
}

// selected opens the store for the selected workspace. If the directory or the store cannot be opened, it reports an
// error and returns false.
func selected(ctx context.Context, c *base.Call, o *workdir.Options) (states.Selected, bool) {
	st, ok := states.Open(c, o)
	if !ok {
		return states.Selected{}, false
	}
	return st.Selected(ctx)
}

// locked opens the working directory and locks the state of the selected workspace for an operation. If a step fails,
// it reports an error and returns false.
func locked(ctx context.Context, c *base.Call, o *workdir.Options, of operation.Operation) (*states.States, *workspace.State, bool) {
	st, ok := states.Open(c, o)
	if !ok {
		return nil, nil, false
	}
	l, ok := st.Lock(ctx, states.Locking{Operation: of})
	if !ok {
		return nil, nil, false
	}
	return st, l.State, true
}

func noState() diag.Diagnostic {
	return diag.Errorf("No state file was found!", "This command needs a state. Run it in a directory where Lethe has been applied, or name a state file with -state.")
}

// stamped returns the name of the backup of a state file that the user named. As in Terraform, the name contains the
// time in seconds, so that no command overwrites the backup of another. If file is "", stamped returns "", and the
// store of the workspace decides how it keeps the previous state.
func stamped(c *base.Call, file string) string {
	if file == "" {
		return ""
	}
	return fmt.Sprintf("%s.%d.backup", file, c.Now().Unix())
}

// change locks the state, changes it with edit and writes it. The lock names the operation in the argument of. If edit
// returns false, change writes nothing, and fails only if edit has added an error. A missing state is an error, except
// for the operation Taint. change returns the exit code.
func change(ctx context.Context, c *base.Call, o *workdir.Options, of operation.Operation, edit func(*state.Snapshot) (*state.Snapshot, bool)) int {
	if of != operation.Taint {
		o.Backup = cmp.Or(o.Backup, stamped(c, cmp.Or(o.StateOut, o.State)))
	}
	_, ws, ok := locked(ctx, c, o, of)
	if !ok {
		return c.UI.Fail()
	}
	if ws.Missing() && of != operation.Taint { // without a state, taint reports that the object is missing, as Terraform and OpenTofu do
		c.Bag.Add(noState())
		return c.UI.Fail()
	}
	next, ok := edit(ws.Snapshot())
	if ok && !ws.Save(next) {
		return c.UI.Fail()
	}
	return c.UI.Done(base.ExitOK)
}

// ReadFile reads a state from a file, or from standard input if its name is "-". The state may be encrypted. If a run
// that used the file was interrupted, the state has the changes in the journal of that run, and notes are the notes about
// it. If a transfer was interrupted, the state is the state after its end. ReadFile reports an error and returns false if
// the file cannot be read, decrypted or decoded.
func ReadFile(ctx context.Context, c *base.Call, st *states.States, name string) (s *state.Snapshot, notes journal.Notes, ok bool) {
	which := "The file is " + name + "."
	var data []byte
	var err error
	if name == "-" {
		which = "The state is read from standard input."
		data, err = io.ReadAll(c.Stdin)
	} else {
		data, err = os.ReadFile(c.Path(name))
	}
	if err != nil {
		c.Bag.Add(diag.Errorf("Error reading source state", "The file %s cannot be read: %s.", name, disk.Reason(err)))
		return nil, notes, false
	}
	if s, ok = st.OpenState(ctx, data, which, &c.Bag); !ok || name == "-" {
		return s, notes, ok
	}
	file, ok := st.Backend.OpenFile(c.Path(name), "")
	if !ok {
		return nil, notes, false
	}
	env := workdir.Workspaces(c)
	if left, err := workspace.Unfinished(ctx, env, file, store.Default); err == nil && !left {
		return s, notes, true
	}
	left, ok := workspace.ReadNotes(ctx, env, file, store.Default)
	if !ok {
		return nil, notes, false
	}
	ws, ok := workspace.Lock(ctx, env, workspace.Request{Store: file, Name: store.Default, Operation: operation.Plan})
	if !ok {
		return nil, notes, false
	}
	defer ws.Unlock()
	return ws.Snapshot(), left.Notes, true
}

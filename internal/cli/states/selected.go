package states

import (
	"context"

	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// Selected is the selected workspace in the store in use.
type Selected struct {
	of    *States
	env   *workspace.Env
	store store.Store
	name  string
}

// Selected opens the store for the selected workspace.
func (s *States) Selected(ctx context.Context) (Selected, bool) {
	env := workdir.Workspaces(s.dir.Call)
	name := env.Selected()
	if !env.CheckName(name) {
		return Selected{}, false
	}
	st, ok := s.OpenStore(ctx)
	if !ok {
		return Selected{}, false
	}
	return Selected{s, env, st.Store, name}, true
}

// Examine inspects the state and the files beside it without a lock.
func (at Selected) Examine(ctx context.Context) (*workspace.Examination, bool) {
	return workspace.Examine(ctx, at.env, at.store, at.name)
}

// BeginRepair locks the state for a repair, until the end of the command.
func (at Selected) BeginRepair(ctx context.Context) (*workspace.Repairing, bool) {
	req := at.of.Request(operation.Repair)
	req.Store, req.Name = at.store, at.name
	r, ok := workspace.BeginRepair(ctx, at.env, req)
	if ok {
		at.of.locked = append(at.of.locked, r.Unlock)
	}
	return r, ok
}

// ReadNotes reads the notes about interrupted runs beside the state, without a lock.
func (at Selected) ReadNotes(ctx context.Context) (workspace.RunNotes, bool) {
	return workspace.ReadNotes(ctx, at.env, at.store, at.name)
}

// Read reads the state without a lock. It returns nil without a state.
func (at Selected) Read(ctx context.Context) (*state.Snapshot, bool) {
	return workspace.Read(ctx, at.env, at.store, at.name)
}

// Display returns a path for messages.
func (at Selected) Display(path string) string { return at.of.dir.Display(path) }

// InFile reports whether the state is stored in a local file.
func (at Selected) InFile() bool {
	return at.store.Capabilities().Files != nil
}

// Read reads the state of the selected workspace without a lock. It returns nil without a state.
func (s *States) Read(ctx context.Context) (*state.Snapshot, bool) {
	at, ok := s.Selected(ctx)
	if !ok {
		return nil, false
	}
	return at.Read(ctx)
}

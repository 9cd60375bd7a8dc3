package project

import (
	"context"

	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// Selected is the selected workspace, in the store in use.
type Selected struct {
	p     *Project
	env   *workspace.Env
	store store.Store
	name  string
}

// Selected opens the store for the selected workspace.
func (p *Project) Selected(ctx context.Context) (Selected, bool) {
	env := Workspaces(p.Call)
	name := env.Selected()
	if !env.CheckName(name) {
		return Selected{}, false
	}
	st, ok := p.OpenStore(ctx)
	if !ok {
		return Selected{}, false
	}
	return Selected{p, env, st.Store, name}, true
}

// Examine looks at all there is of the state, without a lock.
func (at Selected) Examine(ctx context.Context) (*workspace.Examination, bool) {
	return workspace.Examine(ctx, at.env, at.store, at.name)
}

// BeginRepair locks the state, to be repaired, until the command ends.
func (at Selected) BeginRepair(ctx context.Context) (*workspace.Repairing, bool) {
	req := at.p.LockRequest("state-repair")
	req.Store, req.Name = at.store, at.name
	r, ok := workspace.BeginRepair(ctx, at.env, req)
	if ok {
		at.p.Call.AtEnd(r.Unlock)
	}
	return r, ok
}

// ReadNotes reads what is known of lost runs beside the state, without a lock.
func (at Selected) ReadNotes(ctx context.Context) (workspace.Left, bool) {
	return workspace.ReadNotes(ctx, at.env, at.store, at.name)
}

// Read reads the state without a lock; nil where there is none.
func (at Selected) Read(ctx context.Context) (*state.Snapshot, bool) {
	return workspace.Read(ctx, at.env, at.store, at.name)
}

// InFile reports whether the state is a file of this machine.
func (at Selected) InFile() bool {
	_, is := store.As[*store.Local](at.store)
	return is
}

// ReadState reads the state of the selected workspace without a lock; nil where there is none.
func (p *Project) ReadState(ctx context.Context) (*state.Snapshot, bool) {
	at, ok := p.Selected(ctx)
	if !ok {
		return nil, false
	}
	return at.Read(ctx)
}

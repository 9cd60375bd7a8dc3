package remotestore

import (
	"context"
	"errors"
	"net/http"

	"github.com/lethe-iac/lethe/internal/store"
)

// Lock takes the lock of a workspace and returns the function that releases it. If another process holds the lock, the
// error is a *store.LockError. The service only locks existing workspaces, so Lock creates a missing one. Unlocking
// removes it again if no state was written.
func (r *remote) Lock(ctx context.Context, workspace string, who store.LockInfo) (func(context.Context) error, error) {
	name, err := r.name(workspace)
	if err != nil {
		return nil, err
	}
	w, err := r.find(ctx, name)
	if err != nil {
		return nil, err
	}
	h := holding{LockInfo: who, Made: w == nil}
	h.Info = "" // omitted, because the service limits the length of the reason
	if w == nil {
		if w, err = r.make(ctx, name); err != nil {
			return nil, err
		}
	}
	err = r.api.JSON(ctx, http.MethodPost, r.at("workspaces", w.ID, "actions", "lock"), nil, map[string]string{"reason": h.text()}, nil)
	if store.Refused(err, http.StatusConflict) {
		now, looking := r.find(ctx, name)
		if looking != nil {
			return nil, looking
		}
		var have *holding
		if now != nil {
			have = holder(now)
		}
		switch {
		case have == nil:
			return nil, store.Changing()
		case have.ID != who.ID:
			return nil, r.held(name, have, errors.New("the workspace is locked"))
		}
		err = nil // an earlier request took the lock, and its answer was lost
	}
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.locks[name] = who.ID
	r.mu.Unlock()
	return func(ctx context.Context) error { return r.free(ctx, name, who.ID, "unlock") }, nil
}

// Break releases the lock with the given ID. If the workspace has no such lock, the error is a *store.LockError. If the
// workspace no longer exists, Break returns nil. It also accepts ORGANIZATION/WORKSPACE, the ID of the lock in
// Terraform and OpenTofu.
func (r *remote) Break(ctx context.Context, workspace, id string) error {
	name, err := r.name(workspace)
	if err != nil {
		return err
	}
	r.mu.Lock()
	own := r.locks[name] == id
	r.mu.Unlock()
	if own {
		return r.free(ctx, name, id, "unlock")
	}
	return r.free(ctx, name, id, "force-unlock")
}

// free releases the lock if it has the given ID. action is "unlock", or "force-unlock" for a lock that another process took.
func (r *remote) free(ctx context.Context, name, id, action string) error {
	w, err := r.find(ctx, name)
	if err != nil {
		return err
	}
	if w == nil {
		r.forget(name, id)
		return nil // the workspace was removed, and its lock with it
	}
	h := holder(w)
	switch {
	case h == nil:
		r.forget(name, id)
		return &store.LockError{Err: errors.New("the workspace is not locked")}
	case h.ID != id && id != r.path(name):
		return store.OtherLock(r.held(name, h, nil).Held, id)
	}
	_, err = r.api.Ask(ctx, http.MethodPost, r.at("workspaces", w.ID, "actions", action), nil, []byte("{}"))
	if store.Refused(err, http.StatusConflict) {
		return r.held(name, h, err)
	}
	if err != nil {
		return err
	}
	r.forget(name, id)
	if h.Made && w.Relationships.Current.Data == nil {
		return r.remove(ctx, name)
	}
	return nil
}

// forget records that this process no longer holds the lock with the given ID.
func (r *remote) forget(name, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locks[name] == id {
		delete(r.locks, name)
	}
}

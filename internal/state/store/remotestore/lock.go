package remotestore

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/lethe-iac/lethe/internal/state/store"
)

// reason begins that of a lock which has its holder behind it.
const reason = "Locked by Lethe "

// holding is who has a lock, as the reason for it says.
type holding struct {
	store.LockInfo
	Made bool `json:",omitempty"` // the workspace was made for the lock
}

// mostReason is how long a reason may be.
const mostReason = 255

// text is the reason. A user whose name is long is shortened.
func (h holding) text() string {
	for {
		text, err := json.Marshal(h)
		if err != nil {
			panic(err) // a year past 9999
		}
		over := len(reason) + len(text) - mostReason
		if over <= 0 || h.Who == "" {
			return reason + string(text)
		}
		h.Who = strings.ToValidUTF8(h.Who[:max(0, len(h.Who)-over)], "")
	}
}

// holder reads who has a lock; nil where there is none. Of those that others took, the ID is ORGANIZATION/WORKSPACE, as
// Terraform has it.
func holder(w *workspace) *holding {
	if !w.Attributes.Locked {
		return nil
	}
	var h holding
	text, ours := strings.CutPrefix(w.Attributes.Reason, reason)
	if !ours || json.Unmarshal([]byte(text), &h) != nil || h.ID == "" {
		return &holding{LockInfo: store.LockInfo{Info: w.Attributes.Reason}}
	}
	return &h
}

// path is the ID that Terraform and OpenTofu give to the lock of a workspace.
func (r *remote) path(name string) string { return r.o.Organization + "/" + name }

// held is the error for a lock that another has.
func (r *remote) held(name string, h *holding, err error) *store.LockError {
	info := h.LockInfo
	if info.Path = r.path(name); info.ID == "" {
		info.ID = info.Path
	}
	return &store.LockError{Held: &info, Err: err}
}

// Lock implements store.Store. The service locks what is there: a workspace that is not is made, and removed with its lock
// if no state was written.
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
	h.Info = "" // the service keeps short reasons
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
			return nil, &store.LockError{Err: errors.New("the workspace was locked, and is not any more")}
		case have.ID != who.ID:
			return nil, r.held(name, have, errors.New("the workspace is locked"))
		}
		err = nil // an earlier request took it
	}
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.locks[name] = who.ID
	r.mu.Unlock()
	return func(ctx context.Context) error { return r.free(ctx, name, who.ID, "unlock") }, nil
}

// Break implements store.Breaker. The ID that Terraform and OpenTofu know the lock by serves as well.
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

// free gives a lock back, if it is the one with that ID.
func (r *remote) free(ctx context.Context, name, id, action string) error {
	w, err := r.find(ctx, name)
	if err != nil {
		return err
	}
	if w == nil {
		r.forget(name, id)
		return nil // it went with the workspace
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

// forget notes that this process has not that lock any more.
func (r *remote) forget(name, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locks[name] == id {
		delete(r.locks, name)
	}
}

package httpstore

import (
	"context"
	"errors"
	"net/http"

	"github.com/lethe-iac/lethe/internal/store"
)

// Get implements store.Store.
func (r *remote) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	now, err := r.get(ctx, workspace)
	if now.version == "" {
		return nil, "", err
	}
	return now.data, now.version, err
}

// Put implements store.Store. A caller without the lock takes it for the write if it becomes free soon: without ETags,
// only the lock separates two such callers. If the lock stays held, or if locking fails, Put writes without it, because
// the caller wants no lock.
func (r *remote) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	if err := store.Only(workspace); err != nil {
		return "", err
	}
	if id := r.lockID(); id != "" || r.o.LockAddress == nil {
		return r.put(ctx, data, prev, id)
	}
	return r.singleWrite.Write(ctx, workspace, func(id string, _ error) (store.Version, error) { return r.put(ctx, data, prev, id) })
}

// put replaces the state under the lock with that ID, or without a lock if id is "".
func (r *remote) put(ctx context.Context, data []byte, prev store.Version, id string) (store.Version, error) {
	now, err := r.get(ctx, store.Default)
	if err != nil {
		return "", err
	}
	stale := &store.StaleError{Workspace: store.Default, Missing: now.version == ""}
	if now.version != prev {
		return "", stale
	}
	to, header := *r.o.Address, http.Header{}
	switch {
	case !now.exists:
		header.Set("If-None-Match", "*")
	case now.etag != "":
		header.Set("If-Match", now.etag)
	}
	if id != "" {
		q := to.Query()
		q.Set("ID", id)
		to.RawQuery = q.Encode()
	}
	_, err = r.api.Ask(ctx, r.o.Update, &to, header, data)
	if store.Refused(err, http.StatusPreconditionFailed) {
		// A proxy may change ETags, or the server may interpret the conditions differently. If the state is unchanged,
		// write without conditions.
		if again, reading := r.get(ctx, store.Default); reading == nil && again.version == prev {
			_, err = r.api.Ask(ctx, r.o.Update, &to, nil, data)
		}
	}
	switch {
	case store.Refused(err, http.StatusPreconditionFailed):
		return "", stale
	case store.Refused(err, http.StatusLocked, http.StatusConflict):
		return "", lockError(err, errors.New("someone else holds the lock of the state"))
	case err != nil:
		return "", failed(err, r.o.Update, r.o.Address)
	}
	return store.Digest(data), nil
}

// Delete implements store.Store. It always fails: the only workspace is the default workspace.
func (r *remote) Delete(_ context.Context, workspace string) error {
	if workspace == store.Default {
		return store.ErrDefault
	}
	return store.Only(workspace)
}

// List implements store.Store. It reads the state, so that init detects a missing server.
func (r *remote) List(ctx context.Context) ([]string, error) {
	_, err := r.get(ctx, store.Default)
	return []string{store.Default}, err
}

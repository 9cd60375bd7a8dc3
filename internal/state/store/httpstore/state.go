package httpstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/lethe-iac/lethe/internal/state/store"
)

// Get implements store.Store.
func (r *remote) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	now, err := r.get(ctx, workspace)
	if now.version == "" {
		return nil, "", err
	}
	return now.data, now.version, err
}

// Put implements store.Store. A caller without the lock has it for the time of the writing, if it is free by
// then: nothing else keeps two such callers apart where the server has no ETags. A lock that stays taken
// does not hinder a caller who wants none.
func (r *remote) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	if err := store.Only(workspace); err != nil {
		return "", err
	}
	if id := r.lockID(); id != "" || r.o.LockAddress == nil {
		return r.put(ctx, data, prev, id)
	}
	unlock, err := store.Acquire(ctx, r, workspace, store.NewLockInfo("write", ""), longestMoment, nil)
	var held *store.LockError
	switch {
	case errors.As(err, &held):
		return r.put(ctx, data, prev, "")
	case err != nil:
		return "", err
	}
	v, err := r.put(ctx, data, prev, r.lockID())
	if failed := unlock(ctx); err == nil && failed != nil {
		err = fmt.Errorf("the state was written, and its lock could not be released: %w", failed)
	}
	return v, err
}

// longestMoment is how long a caller who has no lock waits for others who write.
const longestMoment = 2 * time.Second

// put replaces the state, with the ID of the lock, "" for none.
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
	case !now.there:
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
		// Something on the way may change ETags, so that none fits, or the server may mean something else by the conditions.
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

// Delete implements store.Store: there is only the workspace that is never removed.
func (r *remote) Delete(_ context.Context, workspace string) error {
	if workspace == store.Default {
		return store.ErrDefault
	}
	return store.Only(workspace)
}

// List implements store.Store. It asks for the state, so that init finds out whether there is a server.
func (r *remote) List(ctx context.Context) ([]string, error) {
	_, err := r.get(ctx, store.Default)
	return []string{store.Default}, err
}

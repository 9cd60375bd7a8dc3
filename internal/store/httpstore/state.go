package httpstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/store"
)

// Get returns the state of a workspace and its version, or nil and "" if no state exists.
func (r *remote) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	now, err := r.get(ctx, workspace)
	if now.version == "" {
		return nil, "", err
	}
	return now.data, now.version, err
}

// Put replaces the state that has the version prev, and returns the new version. If the state has another version, the
// error is a *store.StaleError. A caller without the lock takes it for the write if it becomes free soon: without
// ETags, only the lock separates two such callers. If the lock stays held, or if locking fails, Put writes without it,
// because the caller wants no lock.
func (r *remote) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	if err := store.Only(workspace); err != nil {
		return "", err
	}
	if id := r.lockID(); id != "" || r.o.LockAddress == nil {
		return r.put(ctx, data, prev, id)
	}
	return r.singleWrite.Write(ctx, workspace, func(id string, _ error) (store.Version, error) { return r.put(ctx, data, prev, id) })
}

// put replaces the state that has the version prev, under the lock with the given ID, or without a lock if id is "".
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
	err = r.replace(ctx, &to, header, data)
	if store.Refused(err, http.StatusPreconditionFailed) {
		// A proxy may change ETags, or the server may interpret the conditions in another way. If the state still has the
		// version prev, write it without conditions.
		if again, reading := r.get(ctx, store.Default); reading == nil && again.version == prev {
			err = r.replace(ctx, &to, nil, data)
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
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written = bytes.Clone(data)
	return store.Digest(data), nil
}

// Finish implements store.Finisher: it returns the version of the present state, and whether that state is data. The
// server may return the same state in another form, so Finish does not compare bytes.
func (r *remote) Finish(ctx context.Context, workspace string, data []byte) (store.Version, bool, error) {
	now, err := r.get(ctx, workspace)
	return now.version, now.version != "" && jsontext.Equivalent(now.data, data), err
}

// replace sends a new state. The error is a *store.UnansweredError if the answer is a success that does not mean that
// the state is stored, such as 202 (Accepted), and the server does not return the state.
func (r *remote) replace(ctx context.Context, to *url.URL, header http.Header, data []byte) error {
	a, err := r.api.Ask(ctx, r.o.Update, to, header, data)
	if err != nil || slices.Contains([]int{http.StatusOK, http.StatusCreated, http.StatusNoContent}, a.Status) {
		return err
	}
	if now, err := r.get(ctx, store.Default); err == nil && jsontext.Equivalent(now.data, data) {
		return nil
	}
	return &store.UnansweredError{Err: fmt.Errorf("%s of %s: the server answered %d %s, so that it may store the state later, or not at all", r.o.Update, store.Shown(r.o.Address), a.Status, http.StatusText(a.Status))}
}

// Delete always fails, because the only workspace is the default workspace, which cannot be deleted.
func (r *remote) Delete(_ context.Context, workspace string) error {
	if workspace == store.Default {
		return store.ErrDefault
	}
	return store.Only(workspace)
}

// List returns the names of the workspaces, the default workspace first. It reads the state, so that init detects a
// missing server.
func (r *remote) List(ctx context.Context) ([]string, error) {
	_, err := r.get(ctx, store.Default)
	return []string{store.Default}, err
}

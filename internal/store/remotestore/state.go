package remotestore

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/store"
)

// Get returns the state of a workspace and its version, or nil and "" if no state exists.
func (r *remote) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	name, err := r.name(workspace)
	if err != nil {
		return nil, "", err
	}
	w, err := r.find(ctx, name)
	if err != nil || w == nil {
		return nil, "", err
	}
	now, err := r.current(ctx, w)
	if err != nil || now.ID == "" {
		return nil, "", err
	}
	data, err := r.download(ctx, r.path(name), now)
	if len(data) == 0 {
		return nil, "", err
	}
	return data, store.Version(now.ID), err
}

// download returns the content of a state version of the workspace with a path.
func (r *remote) download(ctx context.Context, path string, v stateVersion) ([]byte, error) {
	if v.Attributes.URL == "" {
		return nil, fmt.Errorf("%s did not return an address for the state of the workspace %s: the token has no permission to read it", r.o.Host, path)
	}
	to, err := r.o.Base.Parse(v.Attributes.URL)
	if err != nil {
		return nil, fmt.Errorf("the address of the state cannot be used: %w", err)
	}
	api := r.files
	if to.Host == r.o.Base.Host && to.Scheme == r.o.Base.Scheme {
		api = r.api
	}
	a, err := api.Ask(ctx, http.MethodGet, to, http.Header{"Accept": {"application/json"}}, nil)
	if err != nil {
		return nil, err
	}
	return a.Body, nil
}

// errUnlocked reports that the lock of this process was taken away, and that the workspace is not locked now.
var errUnlocked = errors.New("the workspace is no longer locked")

// Put replaces the state that has the version prev, and returns the new version. If the state has another version, the
// error is a *store.StaleError. If the caller has no lock, or its lock was taken away, Put takes the lock for the
// write. If another process holds the lock, Put tries to write anyway, and the service decides: the lock may belong to
// the same user.
func (r *remote) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	name, err := r.name(workspace)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	_, locked := r.locks[name]
	r.mu.Unlock()
	if locked {
		if v, err := r.put(ctx, workspace, name, data, prev, true); !errors.Is(err, errUnlocked) {
			return v, err
		}
	}
	return r.singleWrite.Write(ctx, workspace, func(id string, err error) (store.Version, error) {
		var held *store.LockError
		if err != nil && !errors.As(err, &held) {
			return "", err
		}
		return r.put(ctx, workspace, name, data, prev, id != "")
	})
}

// put creates a state version. locked is true if the caller holds the lock. The service refuses a state if its serial
// is not higher or its lineage differs. If locked is true and the state still has the version prev, put then forces the
// write, because the user may want such a state. If the workspace is not locked although locked is true, put returns
// errUnlocked. If the state has another version than prev, it returns a *store.StaleError.
func (r *remote) put(ctx context.Context, workspace, name string, data []byte, prev store.Version, locked bool) (store.Version, error) {
	w, err := r.find(ctx, name)
	if err == nil && w == nil && prev == "" {
		w, err = r.make(ctx, name)
	}
	if err != nil {
		return "", err
	}
	if w == nil {
		return "", &store.StaleError{Workspace: workspace, Missing: true}
	}
	if locked && !w.Attributes.Locked {
		return "", errUnlocked
	}
	stale := func() error {
		now, err := r.current(ctx, w)
		if err == nil && store.Version(now.ID) != prev {
			err = &store.StaleError{Workspace: workspace, Missing: now.ID == ""}
		}
		return err
	}
	if err := stale(); err != nil {
		return "", err
	}
	var top struct {
		Serial  int64
		Lineage string
	}
	_ = json.Unmarshal(data, &top)
	sum := md5.Sum(data)
	attributes := map[string]any{"serial": top.Serial, "lineage": top.Lineage, "md5": hex.EncodeToString(sum[:]), "state": data}
	var doc struct{ Data stateVersion }
	create := func() error {
		in := map[string]any{"data": map[string]any{"type": "state-versions", "attributes": attributes}}
		return r.api.JSON(ctx, http.MethodPost, r.at("workspaces", w.ID, "state-versions"), nil, in, &doc)
	}
	if err = create(); store.Refused(err, http.StatusConflict) {
		if changed := stale(); changed != nil || !locked {
			return "", errors.Join(changed, err)
		}
		attributes["force"] = true
		err = create()
	}
	if err != nil {
		return "", err
	}
	return store.Version(doc.Data.ID), nil
}

// Delete deletes a workspace and its state. For the default workspace it returns store.ErrDefault, and for another
// workspace of a store with only one workspace store.ErrOnly. It first releases this process's lock, because the
// service only deletes unlocked workspaces.
func (r *remote) Delete(ctx context.Context, workspace string) error {
	if workspace == store.Default {
		return store.ErrDefault
	}
	name, err := r.name(workspace)
	if err != nil {
		return err
	}
	if r.o.Name != "" {
		return store.ErrOnly
	}
	r.mu.Lock()
	id, locked := r.locks[name]
	r.mu.Unlock()
	if locked {
		if err := r.Break(ctx, workspace, id); err != nil {
			return err
		}
	}
	return r.remove(ctx, name)
}

// List returns the names of the workspaces, the default workspace first. It omits workspaces that were only created to
// be locked. A store with one workspace returns only that workspace, as "default" or, if the settings name it, by its
// name.
func (r *remote) List(ctx context.Context) ([]string, error) {
	if r.o.Name != "" {
		_, err := r.find(ctx, r.o.Name) // this request lets init detect a missing service
		if r.o.Named {
			return []string{r.o.Name}, err
		}
		return []string{store.Default}, err
	}
	all, err := r.workspaces(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, w := range all {
		name, ok := strings.CutPrefix(w.Attributes.Name, r.o.Prefix)
		held := holder(&w)
		if ok && name != store.Default && store.CheckName(name) == nil && !(held != nil && held.Made && w.Relationships.Current.Data == nil) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Insert(slices.Compact(names), 0, store.Default), nil
}

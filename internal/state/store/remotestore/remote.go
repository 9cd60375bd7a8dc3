// Package remotestore keeps states in the workspaces of HCP Terraform, of Terraform Enterprise, or of a service with their
// API: what Terraform and OpenTofu call the backend "remote" and the block "cloud". Plans and applies run here, as in
// workspaces whose execution mode is local; those that run on the service are refused.
//
// The version of a state is the ID of its state version. The service compares serials and lineages; a writing holds the
// lock of the workspace besides, so that nothing comes between a look and a writing. What locks is a user there, and
// not a process: who has a lock stands in the reason for it.
package remotestore

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/state/store"
)

// Options say where states are.
type Options struct {
	Client       *http.Client
	Base         *url.URL // of the API, ending in a slash
	Token        string
	Host         string // as users know it
	Agent        string // how the client names itself; "": as net/http does
	Organization string
	// Name is that of the only workspace, "" for many. Named makes it be listed by that name, and not as the default one.
	Name  string
	Named bool
	// Of many, the names there begin with Prefix, which they have not here; or they have all Tags and
	// Bindings, tags with values, and are in Project, an ID.
	Prefix, Project string
	Tags            []string
	Bindings        map[string]string
}

// New makes the store. It makes each request once: see store.Careful.
func New(o Options) store.Remote { return newRemote(o) }

func newRemote(o Options) *remote {
	header := http.Header{"Authorization": {"Bearer " + o.Token}, "Content-Type": {"application/vnd.api+json"}, "Accept": {"application/vnd.api+json"}}
	plain := http.Header{}
	if o.Agent != "" {
		header.Set("User-Agent", o.Agent)
		plain.Set("User-Agent", o.Agent)
	}
	return &remote{
		o: o, api: &store.API{Client: o.Client, Header: header, Said: said}, files: &store.API{Client: o.Client, Header: plain, Signed: true},
		locks: map[string]string{},
	}
}

type remote struct {
	o     Options
	api   *store.API
	files *store.API // without the token: addresses of states let in by themselves

	mu    sync.Mutex
	locks map[string]string // of this process: IDs by name there
}

// said finds in a refusal what the service says of it.
func said(text []byte) string {
	var doc struct {
		Errors []struct{ Title, Detail string }
	}
	_ = json.Unmarshal(text, &doc)
	var out []string
	for _, e := range doc.Errors {
		if e.Detail == "" {
			e.Detail = e.Title
		}
		out = append(out, e.Detail)
	}
	return strings.Join(out, "; ")
}

// name is that of a workspace there.
func (r *remote) name(workspace string) (string, error) {
	if err := store.CheckName(workspace); err != nil {
		return "", err
	}
	switch {
	case r.o.Name == "":
		return r.o.Prefix + workspace, nil
	case workspace == store.Default, workspace == r.o.Name:
		return r.o.Name, nil
	}
	return "", store.ErrOnly
}

// Only implements store.Namer.
func (r *remote) Only() string {
	if !r.o.Named {
		return ""
	}
	return r.o.Name
}

// Prepare implements store.Namer.
func (r *remote) Prepare(ctx context.Context) error {
	if r.o.Name == "" {
		return nil
	}
	w, err := r.find(ctx, r.o.Name)
	if err == nil && w == nil {
		_, err = r.make(ctx, r.o.Name)
	}
	return err
}

// at is an address of the API.
func (r *remote) at(parts ...string) *url.URL {
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return r.o.Base.JoinPath(parts...)
}

// workspace is one there.
type workspace struct {
	ID         string
	Attributes struct {
		Name      string
		Mode      string `json:"execution-mode"`
		Terraform string `json:"terraform-version"`
		Locked    bool
		Reason    string `json:"locked-reason"`
	}
	Relationships struct {
		Current struct{ Data *struct{ ID string } } `json:"current-state-version"`
	}
}

// find looks a workspace up; nil where there is none.
func (r *remote) find(ctx context.Context, name string) (*workspace, error) {
	var doc struct{ Data workspace }
	err := r.api.JSON(ctx, http.MethodGet, r.at("organizations", r.o.Organization, "workspaces", name), nil, nil, &doc)
	switch {
	case store.Refused(err, http.StatusNotFound):
		return nil, nil
	case store.Refused(err, http.StatusUnauthorized):
		return nil, fmt.Errorf("%s does not take the token: %w", r.o.Host, err)
	case err != nil:
		return nil, err
	}
	return &doc.Data, nil
}

// make makes a workspace whose plans and applies run where the user is.
func (r *remote) make(ctx context.Context, name string) (*workspace, error) {
	type object map[string]any
	var tags, bindings []object
	for _, tag := range r.o.Tags {
		tags = append(tags, object{"type": "tags", "attributes": object{"name": tag}})
	}
	for key, value := range r.o.Bindings {
		bindings = append(bindings, object{"type": "tag-bindings", "attributes": object{"key": key, "value": value}})
	}
	relations := object{}
	if tags != nil {
		relations["tags"] = object{"data": tags}
	}
	if bindings != nil {
		relations["tag-bindings"] = object{"data": bindings}
	}
	if r.o.Project != "" {
		relations["project"] = object{"data": object{"type": "projects", "id": r.o.Project}}
	}
	data := object{"type": "workspaces", "attributes": object{"name": name, "execution-mode": "local"}, "relationships": relations}
	var doc struct{ Data workspace }
	err := r.api.JSON(ctx, http.MethodPost, r.at("organizations", r.o.Organization, "workspaces"), nil, object{"data": data}, &doc)
	if store.Refused(err, http.StatusUnprocessableEntity) { // another was faster
		if w, looking := r.find(ctx, name); looking == nil && w != nil {
			return w, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the workspace %s of %s cannot be made: %w", name, r.o.Organization, err)
	}
	return &doc.Data, nil
}

// stateVersion is a state as the API describes it.
type stateVersion struct {
	ID         string
	Attributes struct {
		URL string `json:"hosted-state-download-url"`
	}
}

// current is the state version of a workspace; its ID is "" where it has no state.
func (r *remote) current(ctx context.Context, w *workspace) (stateVersion, error) {
	var doc struct{ Data stateVersion }
	err := r.api.JSON(ctx, http.MethodGet, r.at("workspaces", w.ID, "current-state-version"), nil, nil, &doc)
	if store.Refused(err, http.StatusNotFound) {
		return stateVersion{}, nil
	}
	return doc.Data, err
}

// Get implements store.Store.
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
	to, err := r.o.Base.Parse(now.Attributes.URL)
	if err != nil {
		return nil, "", fmt.Errorf("the address of the state is none: %w", err)
	}
	api := r.files
	if to.Host == r.o.Base.Host && to.Scheme == r.o.Base.Scheme {
		api = r.api
	}
	a, err := api.Ask(ctx, http.MethodGet, to, http.Header{"Accept": {"application/json"}}, nil)
	if err != nil || len(a.Body) == 0 {
		return nil, "", err
	}
	return a.Body, store.Version(now.ID), nil
}

// longestMoment is how long a caller who has no lock waits for others who write.
const longestMoment = 5 * time.Second

// Put implements store.Store. A caller without the lock has it for the time of the writing. If another keeps it, the
// service decides: it knows users.
func (r *remote) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	name, err := r.name(workspace)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	_, locked := r.locks[name]
	r.mu.Unlock()
	if locked {
		return r.put(ctx, workspace, name, data, prev, true)
	}
	unlock, err := store.Acquire(ctx, r, workspace, store.NewLockInfo("write", ""), longestMoment, nil)
	var held *store.LockError
	switch {
	case errors.As(err, &held):
		return r.put(ctx, workspace, name, data, prev, false)
	case err != nil:
		return "", err
	}
	v, err := r.put(ctx, workspace, name, data, prev, true)
	if failed := unlock(ctx); err == nil && failed != nil {
		err = fmt.Errorf("the state was written, and the lock for that could not be given back: %w", failed)
	}
	return v, err
}

// put makes a state version. The service refuses one whose serial is not higher, or whose lineage is another, as a user may
// want it: under the lock, it is told to take such a one.
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

// Delete implements store.Store. One that this process has locked is given back first: the service removes no other.
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

func (r *remote) remove(ctx context.Context, name string) error {
	_, err := r.api.Ask(ctx, http.MethodDelete, r.at("organizations", r.o.Organization, "workspaces", name), nil, nil)
	if store.Refused(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// List implements store.Store. A workspace that is there for its lock alone is none yet.
func (r *remote) List(ctx context.Context) ([]string, error) {
	if r.o.Name != "" {
		_, err := r.find(ctx, r.o.Name) // so that init finds out whether there is a service
		if r.o.Named {
			return []string{r.o.Name}, err
		}
		return []string{store.Default}, err
	}
	names := []string{}
	q := url.Values{"page[size]": {"100"}}
	if r.o.Prefix != "" {
		q.Set("search[name]", r.o.Prefix)
	}
	if len(r.o.Tags) > 0 {
		q.Set("search[tags]", strings.Join(r.o.Tags, ","))
	}
	if r.o.Project != "" {
		q.Set("filter[project][id]", r.o.Project)
	}
	for i, key := range slices.Sorted(maps.Keys(r.o.Bindings)) {
		q.Set(fmt.Sprintf("filter[tagged][%d][key]", i), key)
		q.Set(fmt.Sprintf("filter[tagged][%d][value]", i), r.o.Bindings[key])
	}
	for page := 1; page > 0; {
		to := r.at("organizations", r.o.Organization, "workspaces")
		q.Set("page[number]", fmt.Sprint(page))
		to.RawQuery = q.Encode()
		var doc struct {
			Data []workspace
			Meta struct {
				Pagination struct {
					Next int `json:"next-page"`
				}
			}
		}
		if err := r.api.JSON(ctx, http.MethodGet, to, nil, nil, &doc); err != nil {
			if store.Refused(err, http.StatusNotFound) {
				err = fmt.Errorf("the organization %q does not exist on %s, or the token does not let into it", r.o.Organization, r.o.Host)
			}
			return nil, err
		}
		for _, w := range doc.Data {
			name, ok := strings.CutPrefix(w.Attributes.Name, r.o.Prefix)
			held := holder(&w)
			if ok && name != store.Default && store.CheckName(name) == nil && !(held != nil && held.Made && w.Relationships.Current.Data == nil) {
				names = append(names, name)
			}
		}
		page = doc.Meta.Pagination.Next
	}
	slices.Sort(names)
	return slices.Insert(slices.Compact(names), 0, store.Default), nil
}

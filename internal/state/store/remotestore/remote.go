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
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

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
	// Here lets plans and applies run here, though the service would run those of the workspace.
	Here bool

	Tries store.Tries
}

// newRemote makes the store. It makes each request once: see store.Careful.
func newRemote(o Options) *remote {
	header := http.Header{"Authorization": {"Bearer " + o.Token}, "Content-Type": {"application/vnd.api+json"}, "Accept": {"application/vnd.api+json"}}
	plain := http.Header{}
	if o.Agent != "" {
		header.Set("User-Agent", o.Agent)
		plain.Set("User-Agent", o.Agent)
	}
	return &remote{
		o: o, api: &store.API{Client: o.Client, Header: header, Said: said}, files: &store.API{Client: o.Client, Header: plain, Signed: true},
		locks: map[string]string{}, selected: map[string]bool{},
	}
}

type remote struct {
	o     Options
	api   *store.API
	files *store.API // without the token: addresses of states let in by themselves

	mu    sync.Mutex
	locks map[string]string // of this process: IDs by name there
	// selected are names of workspaces that are known to be among those that Tags, Bindings and Project select.
	selected map[string]bool
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

// Place implements store.Placed.
func (r *remote) Place(workspace string) string {
	name, _ := r.name(workspace)
	return "remote:" + r.o.Host + "/" + r.o.Organization + "/" + name
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
	return r.o.Tries.Do(ctx, func() error {
		w, err := r.find(ctx, r.o.Name)
		if err == nil && w == nil {
			_, err = r.make(ctx, r.o.Name)
		}
		return err
	})
}

// at is an address of the API.
func (r *remote) at(parts ...string) *url.URL {
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return r.o.Base.JoinPath(parts...)
}

// path is the ID that Terraform and OpenTofu give to the lock of a workspace.
func (r *remote) path(name string) string { return r.o.Organization + "/" + name }

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
		return nil, fmt.Errorf("%s does not accept the token: %w", r.o.Host, err)
	case err != nil:
		return nil, err
	}
	return &doc.Data, r.selects(ctx, name)
}

// selects refuses a workspace that is there, and not one of those that tags or a project select: it is of another
// configuration.
func (r *remote) selects(ctx context.Context, name string) error {
	if r.o.Name != "" || r.o.Project == "" && len(r.o.Tags)+len(r.o.Bindings) == 0 {
		return nil
	}
	r.mu.Lock()
	known := r.selected[name]
	r.mu.Unlock()
	if known {
		return nil
	}
	all, err := r.workspaces(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range all {
		r.selected[w.Attributes.Name] = true
	}
	if !r.selected[name] {
		return fmt.Errorf("the workspace %s is there, and not one of those that the cloud block selects, by their tags or their project: it may be that of another configuration. Give it the tags of the block, or choose another workspace", r.path(name))
	}
	return nil
}

// workspaces lists those that prefix, tags and project select.
func (r *remote) workspaces(ctx context.Context) (all []workspace, err error) {
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
		all = append(all, doc.Data...)
		page = doc.Meta.Pagination.Next
	}
	return all, nil
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
	r.mu.Lock()
	r.selected[name] = true
	r.mu.Unlock()
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

// remove removes a workspace. What a token may do is the safe way as a rule, which the service refuses while the workspace has
// objects: then the caller has decided to remove it all the same.
func (r *remote) remove(ctx context.Context, name string) error {
	w, err := r.find(ctx, name)
	if err != nil || w == nil {
		return err
	}
	_, err = r.api.Ask(ctx, http.MethodPost, r.at("workspaces", w.ID, "actions", "safe-delete"), nil, []byte("{}"))
	if !store.Refused(err, http.StatusNotFound, http.StatusConflict, http.StatusMethodNotAllowed) {
		return err
	}
	_, err = r.api.Ask(ctx, http.MethodDelete, r.at("organizations", r.o.Organization, "workspaces", name), nil, nil)
	if store.Refused(err, http.StatusNotFound) {
		return nil
	}
	return err
}

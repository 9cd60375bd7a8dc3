// Package remotestore keeps states in the workspaces of HCP Terraform, of Terraform Enterprise, or of a service with
// the same API. Its drivers are the backend "remote" and the block "cloud" of Terraform and OpenTofu. Lethe runs plans
// and applies locally, as for workspaces with the execution mode "local". It refuses to run them for other workspaces.
//
// The version of a state is the ID of its state version on the service. The service compares serials and lineages. A
// write also holds the lock of the workspace, so that the state cannot change between the check of its version and the
// write. For the service, a user holds the lock, not a process. So the reason of the lock names the process.
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
	"time"

	"github.com/lethe-iac/lethe/internal/store"
)

// Options configures the store.
type Options struct {
	Client       *http.Client
	Base         *url.URL // the address of the API, ending with a slash
	Token        string
	Host         string // the name of the host, for messages
	Agent        string // the User-Agent; "": the default of net/http
	Organization string
	// Name is the only workspace of the store, or "" if the store has many. If Named is true, List returns that name;
	// otherwise the workspace is called "default".
	Name  string
	Named bool
	// These fields select the workspaces if Name is "". On the service, their names begin with Prefix, which their
	// local names lack. They have all Tags and Bindings (tags with values), and belong to Project, an ID. If Name is not
	// "", Project is the name of the project in which the workspace is created.
	Prefix, Project string
	Tags            []string
	Bindings        map[string]string
	// Here permits local plans and applies for every execution mode. Otherwise the mode must be "local".
	Here bool

	Tries store.Tries
}

// longestMoment is how long a Put without the lock waits until the lock is free.
const longestMoment = 5 * time.Second

// newRemote returns a store that sends each request once. The function store.Retrying adds retries.
func newRemote(o Options) *remote {
	header := http.Header{"Authorization": {"Bearer " + o.Token}, "Content-Type": {"application/vnd.api+json"}, "Accept": {"application/vnd.api+json"}}
	plain := http.Header{}
	if o.Agent != "" {
		header.Set("User-Agent", o.Agent)
		plain.Set("User-Agent", o.Agent)
	}
	r := &remote{
		o: o, api: &store.API{Client: o.Client, Header: header, ErrorMessage: errorMessage}, files: &store.API{Client: o.Client, Header: plain, Signed: true},
		locks: map[string]string{}, selected: map[string]bool{},
	}
	r.singleWrite = &store.SingleWrite{Store: r, Tries: o.Tries, Wait: longestMoment}
	return r
}

type remote struct {
	o           Options
	api         *store.API
	files       *store.API // has no token, because the addresses of states are signed
	singleWrite *store.SingleWrite

	mu    sync.Mutex
	locks map[string]string // the IDs of the locks that this process holds, by the workspace's name on the service
	// selected has the names of the workspaces for which it was checked that Tags, Bindings and Project select them.
	selected map[string]bool
}

// errorMessage returns the service's message in a refusal.
func errorMessage(text []byte) string {
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

// name returns the name of a workspace on the service. It returns store.ErrOnly if the store has one workspace, and
// another name was given.
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

// Capabilities returns the optional abilities of the store. A nil member means that the store lacks the ability.
func (r *remote) Capabilities() store.Capabilities {
	return store.Capabilities{Breaker: r, Place: r, Policy: r, Named: r, Service: r}
}

// Place returns a text that identifies the place of a state, for comparison with places of other stores.
func (r *remote) Place(workspace string) string {
	name, _ := r.name(workspace)
	return "remote:" + r.o.Host + "/" + r.o.Organization + "/" + name
}

// Only returns the name of the only workspace of the store, or "" if that is the default workspace or if there are
// several.
func (r *remote) Only() string {
	if !r.o.Named {
		return ""
	}
	return r.o.Name
}

// Prepare creates the only workspace of the store if it does not exist.
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

// at returns an address of the API. parts are the steps of the path; at escapes them.
func (r *remote) at(parts ...string) *url.URL {
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return r.o.Base.JoinPath(parts...)
}

// path returns the ORGANIZATION/WORKSPACE of a workspace, which Terraform and OpenTofu use as the ID of its lock.
func (r *remote) path(name string) string { return r.o.Organization + "/" + name }

// workspace is a workspace in the answers of the service.
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

// find returns the workspace with a name on the service, or nil if it does not exist. It returns an error if the
// workspace exists, but the tags or the project of the options do not select it.
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

// selects returns an error if the workspace exists but the tags and the project of the options do not select it,
// because it may belong to another configuration.
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
		return fmt.Errorf("the workspace %s exists, but the tags or the project of the cloud block do not select it. It may belong to another configuration. Give it the tags of the block, or select another workspace", r.path(name))
	}
	return nil
}

// workspaces returns the workspaces on the service that Prefix, Tags, Bindings and Project select.
func (r *remote) workspaces(ctx context.Context) (all []workspace, err error) {
	q := url.Values{}
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
	all, err = pages[workspace](ctx, r, q, "organizations", r.o.Organization, "workspaces")
	if store.Refused(err, http.StatusNotFound) {
		err = fmt.Errorf("the organization %q does not exist on %s, or the token has no access to it", r.o.Organization, r.o.Host)
	}
	return all, err
}

// pages returns the objects of all pages of a list. parts are the steps of the path, and q is the query.
func pages[T any](ctx context.Context, r *remote, q url.Values, parts ...string) (all []T, err error) {
	to := r.at(parts...)
	q.Set("page[size]", "100")
	for page := 1; page > 0; {
		q.Set("page[number]", fmt.Sprint(page))
		to.RawQuery = q.Encode()
		var doc struct {
			Data []T
			Meta struct {
				Pagination struct {
					Next int `json:"next-page"`
				}
			}
		}
		if err := r.api.JSON(ctx, http.MethodGet, to, nil, nil, &doc); err != nil {
			return nil, err
		}
		all = append(all, doc.Data...)
		page = doc.Meta.Pagination.Next
	}
	return all, nil
}

// make creates a workspace on the service, with the execution mode "local", and with the tags and the project in the
// settings. If another process has created the workspace first, make returns that workspace.
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
	project, err := r.projectOfNew(ctx)
	if err != nil {
		return nil, err
	}
	if project != "" {
		relations["project"] = object{"data": object{"type": "projects", "id": project}}
	}
	data := object{"type": "workspaces", "attributes": object{"name": name, "execution-mode": "local"}, "relationships": relations}
	var doc struct{ Data workspace }
	err = r.api.JSON(ctx, http.MethodPost, r.at("organizations", r.o.Organization, "workspaces"), nil, object{"data": data}, &doc)
	if store.Refused(err, http.StatusUnprocessableEntity) { // another process created it first
		if w, looking := r.find(ctx, name); looking == nil && w != nil {
			return w, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the workspace %s of %s cannot be created: %w", name, r.o.Organization, err)
	}
	r.mu.Lock()
	r.selected[name] = true
	r.mu.Unlock()
	return &doc.Data, nil
}

// project is a project in the API.
type project struct {
	ID         string
	Attributes struct{ Name string }
}

// project returns the ID of the project whose name is in the options, or "" if it does not exist.
func (r *remote) project(ctx context.Context) (id string, err error) {
	to := r.at("organizations", r.o.Organization, "projects")
	to.RawQuery = url.Values{"filter[names]": {r.o.Project}}.Encode()
	var doc struct{ Data []project }
	if err := r.api.JSON(ctx, http.MethodGet, to, nil, nil, &doc); err != nil {
		return "", fmt.Errorf("the project %q cannot be found: %w", r.o.Project, err)
	}
	for _, p := range doc.Data {
		if p.Attributes.Name == r.o.Project {
			return p.ID, nil
		}
	}
	return "", nil
}

// projectOfNew returns the ID of the project of a new workspace, or "" if no project is configured. If the workspace has
// a name and the project does not exist, it creates the project, as Terraform does.
func (r *remote) projectOfNew(ctx context.Context) (id string, err error) {
	if r.o.Name == "" || r.o.Project == "" {
		return r.o.Project, nil
	}
	if id, err = r.project(ctx); err != nil || id != "" {
		return id, err
	}
	var doc struct{ Data project }
	in := map[string]any{"data": map[string]any{"type": "projects", "attributes": map[string]string{"name": r.o.Project}}}
	err = r.api.JSON(ctx, http.MethodPost, r.at("organizations", r.o.Organization, "projects"), nil, in, &doc)
	if store.Refused(err, http.StatusUnprocessableEntity) { // another process created it first
		if id, looking := r.project(ctx); looking == nil && id != "" {
			return id, nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("the project %q of %s does not exist, and cannot be created: %w", r.o.Project, r.o.Organization, err)
	}
	return doc.Data.ID, nil
}

// stateVersion is a state version in the API.
type stateVersion struct {
	ID         string
	Attributes struct {
		URL     string    `json:"hosted-state-download-url"`
		Created time.Time `json:"created-at"`
		Status  string
	}
}

// current returns the current state version of a workspace. The ID of the result is "" if the workspace has no state.
func (r *remote) current(ctx context.Context, w *workspace) (stateVersion, error) {
	var doc struct{ Data stateVersion }
	err := r.api.JSON(ctx, http.MethodGet, r.at("workspaces", w.ID, "current-state-version"), nil, nil, &doc)
	if store.Refused(err, http.StatusNotFound) {
		return stateVersion{}, nil
	}
	return doc.Data, err
}

// remove deletes a workspace. It requests a safe delete first, which most tokens permit. The service refuses a safe
// delete if the workspace manages objects. Then remove deletes the workspace anyway, because the caller has already
// decided to delete it.
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

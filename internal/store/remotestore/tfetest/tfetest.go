// Package tfetest is a fake of HCP Terraform and Terraform Enterprise for tests. It has the part of their API that
// concerns states and locks.
package tfetest

import (
	"cmp"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Token is the token that the service accepts. It is a canary: no file, stream or log may contain it after a test.
const Token = "canary-tfe-4711"

// Organization is the only organization.
const Organization = "net"

// Service is the fake service, an http.Handler. Its zero value has no workspaces.
type Service struct {
	// Mode is the execution mode of workspaces that a client creates without one. "" means "remote".
	Mode string
	// Version is the version of Terraform of new workspaces. "" means a default.
	Version string
	// Deletes permits the deletion of state versions, as in Terraform Enterprise.
	Deletes bool

	mu         sync.Mutex
	n          int
	workspaces []*workspace
	versions   map[string]*version
	requests   []string
	added      []string // names of projects
}

type workspace struct {
	id, name, mode, project, terraform string
	tags                               []string
	locked                             bool
	reason                             string
	current                            *version
}

type version struct {
	id, lineage, md5 string
	n                int64 // increases with each version
	status           string
	serial           int64
	of               *workspace
	state            []byte
}

type object = map[string]any

// relations has the relationships in a client's request to create a workspace.
type relations struct {
	Project struct{ Data struct{ ID string } }
	Tags    struct {
		Data []struct{ Attributes struct{ Name string } }
	}
	Bindings struct {
		Data []struct{ Attributes struct{ Key, Value string } }
	} `json:"tag-bindings"`
}

// Add creates a workspace with tags. mode is its execution mode, such as "local".
func (s *Service) Add(name, mode string, tags ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(name, mode, tags)
}

func (s *Service) add(name, mode string, tags []string) *workspace {
	s.n++
	w := &workspace{id: fmt.Sprintf("ws-%d", s.n), name: name, mode: mode, tags: tags, terraform: s.Version, project: "prj-1"}
	if w.terraform == "" {
		w.terraform = "1.11.4"
	}
	if w.mode == "" {
		w.mode = s.Mode
	}
	if w.mode == "" {
		w.mode = "remote"
	}
	s.workspaces = append(s.workspaces, w)
	return w
}

// State returns the current state of a workspace, or nil if the workspace or its state does not exist.
func (s *Service) State(name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.named(name); w != nil && w.current != nil {
		return w.current.state
	}
	return nil
}

// SetVersion sets the version of Terraform that a workspace, which must exist, is configured for.
func (s *Service) SetVersion(name, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.named(name).terraform = version
}

// Requests returns the methods and addresses of all requests so far.
func (s *Service) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *Service) named(name string) *workspace {
	i := slices.IndexFunc(s.workspaces, func(w *workspace) bool { return w.name == name })
	if i < 0 {
		return nil
	}
	return s.workspaces[i]
}

func (s *Service) withID(id string) *workspace {
	i := slices.IndexFunc(s.workspaces, func(w *workspace) bool { return w.id == id })
	if i < 0 {
		return nil
	}
	return s.workspaces[i]
}

func respond(w http.ResponseWriter, status int, doc any) {
	w.Header().Set("Content-Type", "application/vnd.api+json")
	w.WriteHeader(status)
	if doc != nil {
		_ = json.NewEncoder(w).Encode(doc)
	}
}

func refuse(w http.ResponseWriter, status int, text string) {
	respond(w, status, object{"errors": []object{{"status": fmt.Sprint(status), "title": strings.ToLower(http.StatusText(status)), "detail": text}}})
}

func (w *workspace) doc() object {
	relations := object{
		"organization": object{"data": object{"id": Organization, "type": "organizations"}},
		"project":      object{"data": object{"id": w.project, "type": "projects"}},
	}
	if w.current != nil {
		relations["current-state-version"] = object{"data": object{"id": w.current.id, "type": "state-versions"}}
	}
	if w.locked {
		relations["locked-by"] = object{"data": object{"id": "user-1", "type": "users"}}
	}
	return object{"id": w.id, "type": "workspaces", "attributes": object{
		"name": w.name, "execution-mode": w.mode, "operations": w.mode != "local", "terraform-version": w.terraform,
		"locked": w.locked, "locked-reason": w.reason, "tag-names": w.tags, "auto-apply": false, "structured-run-output-enabled": true,
		"permissions": object{"can-update": true, "can-destroy": true, "can-lock": true, "can-unlock": true, "can-force-unlock": true, "can-queue-run": true, "can-queue-apply": true, "can-read-settings": true, "can-read-variable": true},
	}, "relationships": relations}
}

func (v *version) doc(r *http.Request) object {
	at := "http://" + r.Host + "/files/" + v.id
	a := object{
		"serial": v.serial, "hosted-state-download-url": at, "created-at": time.Unix(v.n, 0).UTC(), "status": cmp.Or(v.status, "finalized"), "size": len(v.state),
		"resources-processed": true, "terraform-version": "1.11.4",
	}
	if v.state == nil {
		a["status"], a["hosted-state-upload-url"], a["hosted-json-state-upload-url"] = "pending", at, at+"/json"
	}
	return object{"id": v.id, "type": "state-versions", "attributes": a}
}

// outputs returns the outputs of a state in the form of the API.
func (v *version) outputs() object {
	var state struct {
		Outputs map[string]struct {
			Value, Type any
			Sensitive   bool
		}
	}
	_ = json.Unmarshal(v.state, &state)
	list := []object{}
	for name, o := range state.Outputs {
		list = append(list, object{"id": "wsout-" + name, "type": "state-version-outputs", "attributes": object{"name": name, "value": o.Value, "type": "string", "detailed-type": o.Type, "sensitive": o.Sensitive}})
	}
	return object{"data": list, "meta": page(1, 1)}
}

// ServeHTTP answers a request to the API of the service, and records it. It refuses requests without Token, except for
// /files/ and /api/v2/ping.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	if id, ok := strings.CutPrefix(r.URL.Path, "/files/"); ok {
		s.file(w, r, id, body)
		return
	}
	w.Header().Set("TFP-API-Version", "2.6")
	w.Header().Set("TFP-AppName", "Terraform Enterprise")
	w.Header().Set("X-TFE-Version", "v202407-1")
	if r.URL.Path == "/api/v2/ping" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+Token {
		refuse(w, http.StatusUnauthorized, "")
		return
	}
	var in struct {
		Reason string
		Data   struct {
			Attributes    json.RawMessage
			Relationships relations
		}
	}
	_ = json.Unmarshal(body, &in)
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v2/"), "/")
	switch {
	case parts[0] == "organizations" && parts[1] == Organization:
		s.organization(w, r, parts[2:], in.Data.Attributes, in.Data.Relationships)
	case parts[0] == "workspaces" && s.withID(parts[1]) != nil:
		s.workspace(w, r, s.withID(parts[1]), strings.Join(parts[2:], "/"), in.Data.Attributes, in.Reason)
	case r.URL.Path == "/api/v2/state-versions":
		s.history(w, r)
	case parts[0] == "state-versions" && s.versions[parts[1]] != nil && len(parts) == 4 && r.Method == http.MethodPost:
		s.discard(w, r, s.versions[parts[1]], parts[3])
	case parts[0] == "state-versions" && s.versions[parts[1]] != nil && len(parts) == 3 && parts[2] == "outputs":
		respond(w, http.StatusOK, s.versions[parts[1]].outputs())
	case parts[0] == "state-versions" && s.versions[parts[1]] != nil:
		respond(w, http.StatusOK, object{"data": s.versions[parts[1]].doc(r)})
	default:
		refuse(w, http.StatusNotFound, "")
	}
}

func (s *Service) organization(w http.ResponseWriter, r *http.Request, parts []string, attributes json.RawMessage, of relations) {
	switch what := strings.Join(parts, "/"); {
	case what == "":
		respond(w, http.StatusOK, object{"data": object{"id": Organization, "type": "organizations", "attributes": object{"name": Organization}}})
	case what == "entitlement-set":
		respond(w, http.StatusOK, object{"data": object{"id": "org-1", "type": "entitlement-sets", "attributes": object{"operations": true, "state-storage": true, "private-module-registry": true}}})
	case what == "projects":
		s.projects(w, r, attributes)
	case what == "workspaces" && r.Method == http.MethodPost:
		var in struct {
			Name string
			Mode string `json:"execution-mode"`
		}
		_ = json.Unmarshal(attributes, &in)
		if s.named(in.Name) != nil {
			refuse(w, http.StatusUnprocessableEntity, "Name has already been taken")
			return
		}
		n := s.add(in.Name, in.Mode, nil)
		n.project = cmp.Or(of.Project.Data.ID, n.project)
		for _, tag := range of.Tags.Data {
			n.tags = append(n.tags, tag.Attributes.Name)
		}
		for _, b := range of.Bindings.Data {
			n.tags = append(n.tags, b.Attributes.Key+"="+b.Attributes.Value)
		}
		respond(w, http.StatusCreated, object{"data": n.doc()})
	case what == "workspaces":
		s.list(w, r)
	case len(parts) == 2 && parts[0] == "workspaces" && s.named(parts[1]) != nil:
		n := s.named(parts[1])
		if r.Method == http.MethodDelete {
			if n.locked {
				refuse(w, http.StatusConflict, "The workspace is locked")
				return
			}
			s.remove(n)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		respond(w, http.StatusOK, object{"data": n.doc()})
	default:
		refuse(w, http.StatusNotFound, "")
	}
}

// projects answers with the projects, or creates one: prj-1, prj-2 and so on.
func (s *Service) projects(w http.ResponseWriter, r *http.Request, attributes json.RawMessage) {
	all := []object{}
	var in struct{ Name string }
	_ = json.Unmarshal(attributes, &in)
	names := append([]string{"Default Project", "edge"}, s.added...)
	if r.Method == http.MethodPost && slices.Contains(names, in.Name) {
		refuse(w, http.StatusUnprocessableEntity, "Name has already been taken")
		return
	}
	if r.Method == http.MethodPost {
		s.added = append(s.added, in.Name)
		names = append(names, in.Name)
	}
	for i, name := range names {
		all = append(all, object{"id": fmt.Sprintf("prj-%d", i+1), "type": "projects", "attributes": object{"name": name}})
	}
	if r.Method == http.MethodPost {
		respond(w, http.StatusCreated, object{"data": all[len(all)-1]})
		return
	}
	respond(w, http.StatusOK, object{"data": all, "meta": page(1, 1)})
}

// Project returns the ID of the project of a workspace, or "".
func (s *Service) Project(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.named(name); w != nil {
		return w.project
	}
	return ""
}

func page(n, of int) object {
	next := any(n + 1)
	if n >= of {
		next = nil
	}
	return object{"pagination": object{"current-page": n, "next-page": next, "total-pages": of, "total-count": of}}
}

// history answers with the state versions of a workspace, the latest first, two per page.
func (s *Service) history(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("filter[organization][name]") != Organization {
		refuse(w, http.StatusNotFound, "")
		return
	}
	var found []object
	for _, v := range slices.SortedFunc(maps.Values(s.versions), func(a, b *version) int { return cmp.Compare(b.n, a.n) }) {
		if v.of.name == q.Get("filter[workspace][name]") {
			found = append(found, v.doc(r))
		}
	}
	respondPage(w, q, found)
}

// discard deletes the content of a state version in two steps.
func (s *Service) discard(w http.ResponseWriter, r *http.Request, v *version, action string) {
	switch {
	case !s.Deletes:
		refuse(w, http.StatusNotFound, "")
		return
	case action == "soft_delete_backing_data" && v.status == "" && v != v.of.current:
		v.status = "backing_data_soft_deleted"
	case action == "permanently_delete_backing_data" && v.status != "":
		delete(s.versions, v.id)
	default:
		refuse(w, http.StatusBadRequest, "")
		return
	}
	respond(w, http.StatusOK, object{"data": v.doc(r)})
}

// list answers with the workspaces that the query selects, two per page.
func (s *Service) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var found []object
	for _, n := range s.workspaces {
		match := strings.Contains(n.name, q.Get("search[name]")) && (q.Get("filter[project][id]") == "" || q.Get("filter[project][id]") == n.project)
		for _, tag := range strings.Split(q.Get("search[tags]"), ",") {
			match = match && (tag == "" || slices.Contains(n.tags, tag))
		}
		for i := 0; q.Has(fmt.Sprintf("filter[tagged][%d][key]", i)); i++ {
			match = match && slices.Contains(n.tags, q.Get(fmt.Sprintf("filter[tagged][%d][key]", i))+"="+q.Get(fmt.Sprintf("filter[tagged][%d][value]", i)))
		}
		if match {
			found = append(found, n.doc())
		}
	}
	respondPage(w, q, found)
}

// respondPage answers with the page of found objects that the query selects.
func respondPage(w http.ResponseWriter, q url.Values, found []object) {
	at := 1
	_, _ = fmt.Sscan(q.Get("page[number]"), &at)
	pages := max(1, (len(found)+1)/2)
	found = append([]object{}, found[min(len(found), 2*at-2):min(len(found), 2*at)]...)
	respond(w, http.StatusOK, object{"data": found, "meta": page(at, pages)})
}

func (s *Service) remove(n *workspace) {
	s.workspaces = slices.DeleteFunc(s.workspaces, func(w *workspace) bool { return w == n })
}

func (s *Service) workspace(w http.ResponseWriter, r *http.Request, n *workspace, what string, attributes json.RawMessage, reason string) {
	switch what {
	case "":
		respond(w, http.StatusOK, object{"data": n.doc()})
	case "actions/lock":
		if n.locked {
			refuse(w, http.StatusConflict, "Unable to lock workspace. The workspace is already locked.")
			return
		}
		if len(reason) > 255 {
			refuse(w, http.StatusUnprocessableEntity, "Reason is too long")
			return
		}
		n.locked, n.reason = true, reason
		respond(w, http.StatusOK, object{"data": n.doc()})
	case "actions/unlock", "actions/force-unlock":
		if !n.locked {
			refuse(w, http.StatusConflict, "Unable to unlock workspace. The workspace is not locked.")
			return
		}
		n.locked, n.reason = false, ""
		respond(w, http.StatusOK, object{"data": n.doc()})
	case "actions/safe-delete":
		s.remove(n)
		w.WriteHeader(http.StatusNoContent)
	case "current-state-version":
		if n.current == nil {
			refuse(w, http.StatusNotFound, "")
			return
		}
		respond(w, http.StatusOK, object{"data": n.current.doc(r)})
	case "current-state-version-outputs":
		if n.current == nil {
			refuse(w, http.StatusNotFound, "")
			return
		}
		respond(w, http.StatusOK, n.current.outputs())
	case "state-versions":
		s.create(w, r, n, attributes)
	case "vars", "all-vars", "tag-bindings", "effective-tag-bindings":
		respond(w, http.StatusOK, object{"data": []object{}, "meta": page(1, 1)})
	default:
		refuse(w, http.StatusNotFound, "")
	}
}

// create answers a request to create a state version: with the state in the request, or with an address for the upload
// of the state. It refuses if the workspace is not locked, or if the serial or lineage of the state does not follow the
// current state.
func (s *Service) create(w http.ResponseWriter, r *http.Request, n *workspace, attributes json.RawMessage) {
	var in struct {
		Serial       *int64
		MD5, Lineage string
		Force        bool
		State        []byte
	}
	if err := json.Unmarshal(attributes, &in); err != nil || in.Serial == nil || in.MD5 == "" {
		refuse(w, http.StatusUnprocessableEntity, fmt.Sprintf("serial and md5 are required (%v)", err))
		return
	}
	switch have := n.current; {
	case !n.locked:
		refuse(w, http.StatusConflict, "The workspace must be locked to create a state version")
	case have != nil && !in.Force && have.lineage != in.Lineage:
		refuse(w, http.StatusConflict, "The lineage does not match")
	case have != nil && !in.Force && *in.Serial <= have.serial && in.MD5 != have.md5:
		refuse(w, http.StatusConflict, "The serial is not higher than the serial of the current state version")
	default:
		s.n++
		v := &version{id: fmt.Sprintf("sv-%d", s.n), n: int64(s.n), lineage: in.Lineage, md5: in.MD5, serial: *in.Serial, of: n}
		if s.versions == nil {
			s.versions = map[string]*version{}
		}
		s.versions[v.id] = v
		if in.State != nil && !s.receive(w, v, in.State) {
			return
		}
		respond(w, http.StatusCreated, object{"data": v.doc(r)})
	}
}

// receive makes a state the current state of its workspace. If the MD5 of the state differs from the announced one, it
// answers with a refusal and returns false.
func (s *Service) receive(w http.ResponseWriter, v *version, state []byte) bool {
	if sum := md5.Sum(state); hex.EncodeToString(sum[:]) != v.md5 && base64.StdEncoding.EncodeToString(sum[:]) != v.md5 {
		refuse(w, http.StatusUnprocessableEntity, "The MD5 does not match")
		return false
	}
	v.state, v.of.current = state, v
	return true
}

// file serves and receives states at the addresses for download and upload, which need no token.
func (s *Service) file(w http.ResponseWriter, r *http.Request, id string, body []byte) {
	id, outputs := strings.CutSuffix(id, "/json")
	v := s.versions[id]
	switch {
	case v == nil:
		http.NotFound(w, r)
	case r.Method == http.MethodPut && outputs:
	case r.Method == http.MethodPut:
		if v.state != nil || s.receive(w, v, body) {
			w.WriteHeader(http.StatusOK)
		}
	default:
		_, _ = w.Write(v.state)
	}
}

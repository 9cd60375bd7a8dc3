package kubestore

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/lethe-iac/lethe/internal/store"
)

// object is a Secret or a Lease, with the fields that the store uses.
type object struct {
	APIVersion string            `json:"apiVersion,omitempty"`
	Kind       string            `json:"kind,omitempty"`
	Metadata   metadata          `json:"metadata"`
	Type       string            `json:"type,omitempty"`
	Data       map[string][]byte `json:"data,omitempty"` // only for a Secret
	Spec       *leaseSpec        `json:"spec,omitempty"` // only for a Lease
}

type metadata struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace,omitempty"`
	UID             string            `json:"uid,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
	// Fields of others, written back unchanged.
	OwnerReferences json.RawMessage `json:"ownerReferences,omitempty"`
	Finalizers      json.RawMessage `json:"finalizers,omitempty"`
}

type leaseSpec struct {
	HolderIdentity string `json:"holderIdentity,omitempty"`
}

// secrets returns the path of the collection of Secrets.
func (r *remote) secrets() string {
	return "/api/v1/namespaces/" + url.PathEscape(r.o.Namespace) + "/secrets"
}

func (r *remote) leases() string {
	return "/apis/coordination.k8s.io/v1/namespaces/" + url.PathEscape(r.o.Namespace) + "/leases"
}

// ask sends a request, and decodes the answer to *into. If into is nil, ask ignores the content of the answer. If the
// request could not be sent because there are no credentials, ask returns the reason, which is no
// *store.UnansweredError.
func (r *remote) ask(ctx context.Context, method, path string, q url.Values, body, into any) error {
	to, err := url.Parse(strings.TrimSuffix(r.o.Server.String(), "/") + path)
	if err != nil {
		return err
	}
	to.RawQuery = q.Encode()
	err = r.api.JSON(ctx, method, to, nil, body, into)
	var own *credentialsError
	if errors.As(err, &own) {
		return own.error
	}
	return err
}

// save creates an object, or replaces the object with the same resourceVersion if o has one. It then sets the new
// resourceVersion in o. It returns a refusal with status 409 if the object exists already or has changed.
func (r *remote) save(ctx context.Context, collection string, o *object) error {
	method, path := http.MethodPost, collection
	if o.Metadata.ResourceVersion != "" {
		method, path = http.MethodPut, collection+"/"+url.PathEscape(o.Metadata.Name)
	}
	var now object
	err := r.ask(ctx, method, path, nil, o, &now)
	if err == nil {
		o.Metadata.UID, o.Metadata.ResourceVersion = now.Metadata.UID, now.Metadata.ResourceVersion
	}
	return err
}

// load reads an object. It returns nil if the object does not exist.
func (r *remote) load(ctx context.Context, collection, name string) (*object, error) {
	var o object
	err := r.ask(ctx, http.MethodGet, collection+"/"+url.PathEscape(name), nil, nil, &o)
	if store.Refused(err, http.StatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &o, nil
}

// remove deletes an object if it still has that resourceVersion, or in any case if version is "". It returns nil if the
// object does not exist, and a refusal with status 409 if it has another version.
func (r *remote) remove(ctx context.Context, collection, name, version string) error {
	options := map[string]any{"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
	if version != "" {
		options["preconditions"] = map[string]string{"resourceVersion": version}
	}
	err := r.ask(ctx, http.MethodDelete, collection+"/"+url.PathEscape(name), nil, options, nil)
	if store.Refused(err, http.StatusNotFound) {
		return nil
	}
	return err
}

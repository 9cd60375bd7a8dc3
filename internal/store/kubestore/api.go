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

// object is a Secret or a Lease of Kubernetes, with the fields that the store uses.
type object struct {
	APIVersion string            `json:"apiVersion,omitempty"`
	Kind       string            `json:"kind,omitempty"`
	Metadata   metadata          `json:"metadata"`
	Type       string            `json:"type,omitempty"`
	Data       map[string][]byte `json:"data,omitempty"` // the content of a Secret; nil for a Lease
	Spec       *leaseSpec        `json:"spec,omitempty"` // the description of a Lease; nil for a Secret
}

type metadata struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace,omitempty"`
	UID             string            `json:"uid,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
	// fields that other programs set; the store writes them back unchanged
	OwnerReferences json.RawMessage `json:"ownerReferences,omitempty"`
	Finalizers      json.RawMessage `json:"finalizers,omitempty"`
}

type leaseSpec struct {
	HolderIdentity string `json:"holderIdentity,omitempty"`
}

// secrets returns the path of the Secrets of the namespace in the API.
func (r *remote) secrets() string {
	return "/api/v1/namespaces/" + url.PathEscape(r.o.Namespace) + "/secrets"
}

func (r *remote) leases() string {
	return "/apis/coordination.k8s.io/v1/namespaces/" + url.PathEscape(r.o.Namespace) + "/leases"
}

// ask sends a request, and decodes the JSON answer to *into. If into is nil, ask ignores the content of the answer. If
// the request could not be sent because there are no credentials, the error is the reason and not a
// *store.UnansweredError, so that the request is not repeated.
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

// save creates the object o, or replaces it if o has a resourceVersion. It then sets the new resourceVersion in o. If
// the object exists already or has another resourceVersion, the error is a *store.RefusedError with the status 409. If
// the object to be replaced no longer exists, the status is 404.
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

// remove deletes an object if it still has the given resourceVersion, or in any case if version is "". It returns nil
// if the object does not exist. If the object has another resourceVersion, the error is a *store.RefusedError with the
// status 409.
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

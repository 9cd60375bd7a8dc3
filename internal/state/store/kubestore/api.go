package kubestore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/lethe-iac/lethe/internal/state/store"
)

// object is a Secret or a Lease, as far as it is of interest here.
type object struct {
	APIVersion string            `json:"apiVersion,omitempty"`
	Kind       string            `json:"kind,omitempty"`
	Metadata   metadata          `json:"metadata"`
	Type       string            `json:"type,omitempty"`
	Data       map[string][]byte `json:"data,omitempty"` // of a Secret
	Spec       *leaseSpec        `json:"spec,omitempty"` // of a Lease
}

type metadata struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace,omitempty"`
	UID             string            `json:"uid,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
	// What others keep there stays.
	OwnerReferences json.RawMessage `json:"ownerReferences,omitempty"`
	Finalizers      json.RawMessage `json:"finalizers,omitempty"`
}

type leaseSpec struct {
	HolderIdentity string `json:"holderIdentity,omitempty"`
}

// refusedError is an answer that is a refusal.
type refusedError struct {
	error
	status int
}

// refused reports whether an error is a refusal with that status.
func refused(err error, status int) bool {
	var r *refusedError
	return errors.As(err, &r) && r.status == status
}

// secrets and leases are the paths of the two collections.
func (r *remote) secrets() string {
	return "/api/v1/namespaces/" + url.PathEscape(r.o.Namespace) + "/secrets"
}

func (r *remote) leases() string {
	return "/apis/coordination.k8s.io/v1/namespaces/" + url.PathEscape(r.o.Namespace) + "/leases"
}

// ask makes a request, and reads the answer into what is given for that, nil for none.
func (r *remote) ask(ctx context.Context, method, path string, q url.Values, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	to := strings.TrimSuffix(r.o.Server.String(), "/") + path
	if len(q) > 0 {
		to += "?" + q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.o.Agent != "" {
		req.Header.Set("User-Agent", r.o.Agent)
	}
	resp, err := r.o.Client.Do(req)
	var own *credentialsError
	if errors.As(err, &own) {
		return own.error
	}
	if err != nil {
		return &store.UnansweredError{Err: err}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return &store.UnansweredError{Err: err}
	}
	if resp.StatusCode/100 != 2 {
		return refusal(method, req.URL, resp.StatusCode, answer)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("the answer to %s %s is not what a Kubernetes API says: %w", method, req.URL.Redacted(), err)
	}
	return nil
}

func refusal(method string, to *url.URL, status int, text []byte) error {
	var said struct{ Message string }
	_ = json.Unmarshal(text, &said)
	err := error(&refusedError{fmt.Errorf("%s %s: %d %s: %s", method, to.Redacted(), status, http.StatusText(status), said.Message), status})
	if status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout {
		return &store.UnansweredError{Err: err}
	}
	return err
}

// save writes an object: a new one, or over that of the same resourceVersion. Its resourceVersion is the new one then.
// An error that is a refusal with 409 says that there is another.
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

// load reads an object; nil where there is none.
func (r *remote) load(ctx context.Context, collection, name string) (*object, error) {
	var o object
	err := r.ask(ctx, http.MethodGet, collection+"/"+url.PathEscape(name), nil, nil, &o)
	if refused(err, http.StatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &o, nil
}

// remove removes an object if it is of that resourceVersion still, or any: "". One that is not there is no mistake.
func (r *remote) remove(ctx context.Context, collection, name, version string) error {
	options := map[string]any{"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
	if version != "" {
		options["preconditions"] = map[string]string{"resourceVersion": version}
	}
	err := r.ask(ctx, http.MethodDelete, collection+"/"+url.PathEscape(name), nil, options, nil)
	if refused(err, http.StatusNotFound) {
		return nil
	}
	return err
}

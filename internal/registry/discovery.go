package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/download"
)

// protected returns the absolute address of a service. It must be an https address without a user name, unless the user
// chose it in the CLI configuration: only the user may choose the credentials that are sent in place of a token.
func (s *services) protected(host, service, text string) (*url.URL, error) {
	u, err := s.base.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && s.chosen) {
		return nil, fmt.Errorf("the host %s offers %s at an address without https, which Lethe does not use", host, service)
	}
	if u.User != nil && !s.chosen {
		return nil, fmt.Errorf("the host %s offers %s at an address with a user name, which Lethe does not use", host, service)
	}
	return u, nil
}

// Usable reports whether a user may choose an address for a service of a host.
func Usable(host, text string) bool {
	_, err := (&services{base: wellKnown(host), chosen: true}).protected(host, "", text)
	return err == nil
}

// wellKnown returns the address of the discovery document of a host.
func wellKnown(host string) *url.URL {
	return &url.URL{Scheme: "https", Host: host, Path: "/.well-known/terraform.json"}
}

// NoServiceError means that a host does not offer the requested service.
type NoServiceError struct{ Host, Service string }

func (e *NoServiceError) Error() string {
	what := map[string]string{"providers.v1": "a provider registry", "modules.v1": "a module registry", "login.v1": "a login service"}[e.Service]
	if what == "" {
		what = "the service " + e.Service
	}
	return fmt.Sprintf("the host %s does not offer %s", e.Host, what)
}

// Service returns the base address of a service such as "providers.v1", with a slash at its end. Requests with the
// returned context use the credentials for the host. The error is a *NoServiceError if the host does not offer the
// service.
func (r *Registry) Service(ctx context.Context, host, service string) (context.Context, *url.URL, error) {
	if _, public := (addr.Provider{Host: host}).Counterpart(); public && r.Default != "" && r.Hosts[host] == nil {
		host = r.Default
	}
	s, err := r.discover(ctx, host)
	if err != nil {
		return ctx, nil, err
	}
	text, ok := s.by[service]
	if !ok {
		return ctx, nil, &NoServiceError{host, service}
	}
	u, err := s.protected(host, service, text)
	if err != nil {
		return ctx, nil, err
	}
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	return download.OnBehalf(ctx, host, u.Host), u, nil
}

// discover returns the services of a host. It requests them once for each host, and returns the same result, or the
// same error, each time.
func (r *Registry) discover(ctx context.Context, host string) (*services, error) {
	r.mu.Lock()
	ask, ok := r.found[host]
	if !ok {
		ask = sync.OnceValues(func() (*services, error) { return r.ask(ctx, host) })
		if r.found == nil {
			r.found = map[string]func() (*services, error){}
		}
		r.found[host] = ask
	}
	r.mu.Unlock()
	return ask()
}

func (r *Registry) ask(ctx context.Context, host string) (*services, error) {
	ascii, err := addr.Host(host)
	if err != nil {
		return nil, err
	}
	base := wellKnown(ascii)
	if by, ok := r.Hosts[ascii]; ok {
		return &services{base: base, by: by, chosen: true}, nil
	}
	var raw map[string]json.RawMessage
	a, err := r.document(download.OnBehalf(ctx, ascii, base.Host), base, &raw)
	switch {
	case download.IsStatus(err, http.StatusNotFound):
		return &services{base: base}, nil
	case err != nil:
		return nil, fmt.Errorf("the services of the host %s could not be discovered: %w", host, err)
	}
	s := &services{base: a.URL, by: map[string]string{}, objects: raw}
	for name, v := range raw {
		var text string
		if json.Unmarshal(v, &text) == nil && text != "" { // skip null, which means that the service is not offered, and objects such as login.v1
			s.by[name] = text
		}
	}
	return s, nil
}

// Login describes the service login.v1 of a host: the ID of the OAuth client, and the addresses and parameters of its
// requests.
type Login struct {
	Client       string
	Grants       []string // "authz_code", "password"
	Authz, Token *url.URL
	Ports        [2]int // first and last port to which the browser may be redirected
	Scopes       []string
}

// Login returns the login service of a host. It returns a NoServiceError if the host has none.
func (r *Registry) Login(ctx context.Context, host string) (*Login, error) {
	s, err := r.discover(ctx, host)
	if err != nil {
		return nil, err
	}
	text, ok := s.objects["login.v1"]
	if !ok {
		return nil, &NoServiceError{host, "login.v1"}
	}
	doc := struct {
		Client, Authz, Token string
		Grants               []string `json:"grant_types"`
		Ports                []int
		Scopes               []string
	}{Grants: []string{"authz_code"}, Ports: []int{1024, 65535}}
	if err := json.Unmarshal(text, &doc); err != nil || doc.Client == "" || len(doc.Ports) != 2 || doc.Ports[0] > doc.Ports[1] {
		return nil, fmt.Errorf("the description of the login service of the host %s is not valid", host)
	}
	l := &Login{Client: doc.Client, Grants: doc.Grants, Ports: [2]int{doc.Ports[0], doc.Ports[1]}, Scopes: doc.Scopes}
	if l.Authz, err = s.protected(host, "login.v1", doc.Authz); err != nil {
		return nil, err
	}
	l.Token, err = s.protected(host, "login.v1", doc.Token)
	return l, err
}

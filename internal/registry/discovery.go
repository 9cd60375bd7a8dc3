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

// protected is an address of a service, which must be one that others cannot read along, unless the user chose it.
func (s *services) protected(host, service, text string) (*url.URL, error) {
	u, err := s.base.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && s.chosen) {
		return nil, fmt.Errorf("the host %s offers %s at an address that cannot be used: only https addresses are asked", host, service)
	}
	return u, nil
}

// Usable reports whether a service can be asked at an address that a user chooses for a host.
func Usable(host, text string) bool {
	_, err := (&services{base: wellKnown(host), chosen: true}).protected(host, "", text)
	return err == nil
}

// wellKnown is where a host says what it offers.
func wellKnown(host string) *url.URL {
	return &url.URL{Scheme: "https", Host: host, Path: "/.well-known/terraform.json"}
}

// NoServiceError says that a host does not offer what it was asked for.
type NoServiceError struct{ Host, Service string }

func (e *NoServiceError) Error() string {
	what := map[string]string{"providers.v1": "a provider registry", "modules.v1": "a module registry", "login.v1": "a login service"}[e.Service]
	if what == "" {
		what = "the service " + e.Service
	}
	return fmt.Sprintf("the host %s does not offer %s", e.Host, what)
}

// Service finds the base address of a service such as "providers.v1", ending in a slash, and the context in which it
// is asked with the credentials for the host.
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

// discover asks a host once for its services.
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
		if json.Unmarshal(v, &text) == nil { // login.v1 is an object
			s.by[name] = text
		}
	}
	return s, nil
}

// Login is how users log in to a host (service login.v1): which OAuth client they are, and where.
type Login struct {
	Client       string
	Grants       []string // "authz_code", "password"
	Authz, Token *url.URL
	Ports        [2]int // the first and the last of those to which a browser may be sent back
	Scopes       []string
}

// Login asks a host how users log in. One that has no such service gives a NoServiceError.
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
		return nil, fmt.Errorf("what the host %s says of its login service cannot be understood", host)
	}
	l := &Login{Client: doc.Client, Grants: doc.Grants, Ports: [2]int{doc.Ports[0], doc.Ports[1]}, Scopes: doc.Scopes}
	if l.Authz, err = s.protected(host, "login.v1", doc.Authz); err != nil {
		return nil, err
	}
	l.Token, err = s.protected(host, "login.v1", doc.Token)
	return l, err
}

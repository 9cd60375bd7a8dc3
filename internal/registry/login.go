package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
)

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
		return nil, fmt.Errorf("the host %s says of its login service what cannot be understood", host)
	}
	l := &Login{Client: doc.Client, Grants: doc.Grants, Ports: [2]int{doc.Ports[0], doc.Ports[1]}, Scopes: doc.Scopes}
	if l.Authz, err = s.protected(host, "login.v1", doc.Authz); err != nil {
		return nil, err
	}
	l.Token, err = s.protected(host, "login.v1", doc.Token)
	return l, err
}

// Package registry finds the versions of providers and modules in registries and network mirrors, and the addresses of
// their packages.
//
// It implements service discovery (/.well-known/terraform.json, and the host blocks of the CLI configuration), the
// protocols providers.v1 and modules.v1, and the protocol of network mirrors. It does not download packages. If a
// registry names signing keys, the checksums of its packages come from a list whose signature this package has
// verified.
package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/jsontext"
)

// maxAnswer is the maximum size of a document, in bytes.
const maxAnswer = 32 << 20

// Registry is a client for all registries of a command. Create it as a literal; it is safe for concurrent use.
type Registry struct {
	Client *download.Client
	Hosts  map[string]map[string]string // by host, then by service: addresses from the CLI configuration, which replace the discovery of services
	// Default is the host that receives the requests for the public registries of Terraform and OpenTofu. The addresses
	// of providers and modules still name the public registry. Requests for a public registry with an entry in Hosts go
	// to the services of that entry. If Default is "", requests go to the public registries.
	Default string

	Signed    bool // providers must be signed, even if the registry names no keys
	Unexpired bool // the signing key must not have expired

	mu    sync.Mutex
	found map[string]func() (*services, error) // a function for each host, which returns the services that discovery found
}

// services holds the services of a host. Their addresses are relative to base.
type services struct {
	base    *url.URL
	by      map[string]string
	objects map[string]json.RawMessage // services that an object describes
	chosen  bool                       // the user has chosen the services in the CLI configuration
}

// Version is a version of a provider in a registry.
type Version struct {
	Version   versions.Version
	Protocols []string // such as "5.0"; nil: unknown
	Platforms []string // such as "linux_amd64"; nil: unknown
}

// Package is a provider's package for one platform.
type Package struct {
	URL *url.URL // address of a zip file
	Sum string   // the SHA-256 of the file in hexadecimal; "": unknown
	// Contents holds "h1:" and "zh:" hashes. One of them must be the hash of the content or of the file; nil means that no
	// hash is known. If Sum is known, callers need not compare Contents.
	Contents []string
	Hashes   []string // hashes of this version for the lock file: "zh:" and "h1:", for this and other platforms
	Key      string   // ID of the key that signed the checksums; "": not signed
	Trusted  bool     // the checksums are not signed, but the user trusts Hashes
	Keys     bool     // the registry has named keys; without keys, no signature can be verified
	// Save writes the package, at most limit bytes. It is nil if URL is set.
	Save func(ctx context.Context, w io.Writer, limit int64) error
	Size int64 // number of bytes that Save writes; 0: unknown
}

// refused adds advice to an error about missing, expired or insufficient credentials. It returns other errors
// unchanged.
func refused(err error, host string) error {
	var s *download.StatusError
	switch {
	case !errors.As(err, &s) || s.Code != http.StatusUnauthorized && s.Code != http.StatusForbidden:
		return err
	case !s.Shown:
		return fmt.Errorf("%w, and no credentials for %s are configured. To get a token, run: lethe login %s", err, host, host)
	case s.Code == http.StatusForbidden:
		return fmt.Errorf("%w: the credentials for %s do not permit this. Ask the administrator of the host for access", err, host)
	}
	return fmt.Errorf("%w: it rejected the credentials for %s, which may have expired. They are from the environment, the CLI configuration, an earlier login or a .netrc file. To get a new token, run: lethe login %s", err, host, host)
}

// document requests a JSON document and decodes it.
func (r *Registry) document(ctx context.Context, u *url.URL, into any) (*download.Answer, error) {
	a, err := r.Client.Get(ctx, u, maxAnswer)
	if err != nil {
		return nil, refused(err, download.Audience(ctx, u.Host))
	}
	if err := json.Unmarshal(a.Body, into); err != nil {
		return nil, fmt.Errorf("the answer of %s cannot be read: %w", download.Show(u), jsontext.Plain(err))
	}
	return a, nil
}

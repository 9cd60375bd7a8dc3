// Package registry asks registries and network mirrors what they have: versions of providers and modules, and
// where their packages are.
//
// It speaks service discovery (/.well-known/terraform.json, and the host blocks of the CLI configuration), the
// protocols providers.v1 and modules.v1, and that of network mirrors. It downloads no package. What it
// says of one is what the registry signed: the checksums are those of the list whose signature was
// verified, where the registry names keys.
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

// maxAnswer is the size of the largest document that is read, in bytes.
const maxAnswer = 32 << 20

// Registry asks all registries of a command. Create it as a literal; it is safe for concurrent use.
type Registry struct {
	Client *download.Client
	Hosts  map[string]map[string]string // services of hosts by name, instead of what discovery finds
	// Default is asked in the place of the public registries of Terraform and OpenTofu, of which names without a host
	// are; "": they are asked themselves. What it has keeps its address. One that stands in Hosts is asked there.
	Default string

	Signed    bool // a provider must be signed, also where the registry names no keys
	Unexpired bool // by a key that has not expired since

	mu    sync.Mutex
	found map[string]func() (*services, error) // by host
}

// services are those of a host, with the address that relative ones are seen from.
type services struct {
	base    *url.URL
	by      map[string]string
	objects map[string]json.RawMessage // what is more than an address
	chosen  bool                       // by the user, in the CLI configuration
}

// Version is a version that a registry has, and for whom.
type Version struct {
	Version   versions.Version
	Protocols []string // of providers: as "5.0"; nil: not said
	Platforms []string // of providers: as "linux_amd64"; nil: not said
}

// Package is a provider's package for one platform.
type Package struct {
	URL *url.URL // of a zip file
	Sum string   // its SHA-256 in hexadecimal; "": not said
	// Contents are "h1:" hashes, one of which is that of what is in it; nil: not said. What has a Sum need not be held
	// against them.
	Contents []string
	Hashes   []string // what a lock file may hold of this version: "zh:" and "h1:", of this and other platforms
	Key      string   // the ID of the key that signed the checksums; "": they are not signed
	Trusted  bool     // nothing is signed, and Hashes are believed all the same
	Keys     bool     // the registry named keys; without any, no signature can be verified
	// Save writes the package, up to a limit in bytes, where that is not done by its URL.
	Save func(ctx context.Context, w io.Writer, limit int64) error
	Size int64 // of what Save writes, in bytes; 0: not said
}

// refused adds to an answer that refuses who asks what may be done about it.
func refused(err error, host string) error {
	var s *download.StatusError
	switch {
	case !errors.As(err, &s) || s.Code != http.StatusUnauthorized && s.Code != http.StatusForbidden:
		return err
	case !s.Shown:
		return fmt.Errorf("%w, and no credentials for %s were sent, since there are none. A token for the host comes with: lethe login %s", err, host, host)
	case s.Code == http.StatusForbidden:
		return fmt.Errorf("%w: the credentials that were sent for %s do not allow this. Ask who runs it for what they lack", err, host)
	}
	return fmt.Errorf("%w: it does not accept the credentials that were sent for %s, which may have expired. They are from the environment, the CLI configuration, an earlier login or a .netrc file; a new token comes with: lethe login %s", err, host, host)
}

// document gets a JSON document.
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

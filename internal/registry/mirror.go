package registry

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/download"
)

// Mirror is a network mirror of providers.
type Mirror struct {
	Registry *Registry // the registry whose client sends the requests
	URL      *url.URL  // ends with a slash
	Trusted  bool      // the user trusts the mirror's hashes for other platforms
}

// Providers returns the versions of a provider in the mirror. The error is ErrNotFound if the mirror does not have the
// provider.
func (m Mirror) Providers(ctx context.Context, p addr.Provider) ([]Version, error) {
	var doc struct{ Versions map[string]struct{} }
	if _, err := m.Registry.document(m.service(ctx), m.URL.JoinPath(p.Host, p.Namespace, p.Type, "index.json"), &doc); err != nil {
		return nil, missing(err)
	}
	var out []Version
	for text := range doc.Versions {
		if v, err := versions.ParseVersion(text); err == nil {
			out = append(out, Version{Version: v})
		}
	}
	return out, nil
}

// Provider returns the package of a version for a platform. Its hashes are the hashes that the mirror lists for this
// platform, or for all platforms if the mirror is trusted. They are not signed.
func (m Mirror) Provider(ctx context.Context, p addr.Provider, v versions.Version, platform string) (*Package, error) {
	var doc struct {
		Archives map[string]struct {
			URL    string
			Hashes []string
		}
	}
	u := m.URL.JoinPath(p.Host, p.Namespace, p.Type, v.String()+".json")
	a, err := m.Registry.document(m.service(ctx), u, &doc)
	if err != nil {
		return nil, missing(err)
	}
	at, ok := doc.Archives[platform]
	if !ok {
		return nil, fmt.Errorf("the mirror has no package of %s %s for %s", p.ForDisplay(), v, platform)
	}
	out := &Package{Hashes: at.Hashes, Trusted: m.Trusted}
	if m.Trusted {
		out.Hashes = nil
		for _, other := range doc.Archives {
			for _, h := range other.Hashes {
				if strings.HasPrefix(h, "h1:") || strings.HasPrefix(h, "zh:") {
					out.Hashes = append(out.Hashes, h)
				}
			}
		}
	}
	archives := 0
	for _, h := range at.Hashes {
		if sum, ok := strings.CutPrefix(h, "zh:"); ok {
			out.Sum = strings.ToLower(sum)
			out.Contents = append(out.Contents, "zh:"+out.Sum)
			archives++
		} else if strings.HasPrefix(h, "h1:") {
			out.Contents = append(out.Contents, h)
		}
	}
	if archives > 1 {
		out.Sum = "" // mirrors may list the archives of all platforms, and one matching hash is enough
	}
	if len(at.Hashes) > 0 && len(out.Contents) == 0 {
		return nil, fmt.Errorf("the mirror has no checksum of a supported kind (zh: or h1:) for the package, only %q", at.Hashes)
	}
	out.URL, err = packageURL(a.URL, "url", at.URL)
	return out, err
}

// service returns a context in which requests to the mirror use the user's credentials for its host, also those of a
// credentials helper.
func (m Mirror) service(ctx context.Context) context.Context {
	return download.OnBehalf(ctx, m.URL.Host, m.URL.Host)
}

// MirrorURL parses the address of a network mirror in the CLI configuration. It adds a slash at the end. An address
// without https or without a host is an error, which does not show the address.
func MirrorURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the address of a network mirror must begin with https:// and a host") // do not show the address, because it may contain a password
	}
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	return u, nil
}

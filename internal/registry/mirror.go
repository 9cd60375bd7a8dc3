package registry

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/lethe-iac/lethe/internal/addr"
)

// Mirror is a network mirror of providers.
type Mirror struct {
	Registry *Registry // whose client asks
	URL      *url.URL  // ends in a slash
	Trusted  bool      // what it says of the packages for other platforms is believed
}

// Providers lists the versions of a provider that the mirror has.
func (m Mirror) Providers(ctx context.Context, p addr.Provider) ([]Version, error) {
	var doc struct{ Versions map[string]struct{} }
	if _, err := m.Registry.document(ctx, m.URL.JoinPath(p.Host, p.Namespace, p.Type, "index.json"), &doc); err != nil {
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

// Provider finds the package of one version for a platform. Its hashes are those that the mirror tells of
// this platform, or of all where it is trusted; nothing is signed.
func (m Mirror) Provider(ctx context.Context, p addr.Provider, v versions.Version, platform string) (*Package, error) {
	var doc struct {
		Archives map[string]struct {
			URL    string
			Hashes []string
		}
	}
	u := m.URL.JoinPath(p.Host, p.Namespace, p.Type, v.String()+".json")
	a, err := m.Registry.document(ctx, u, &doc)
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
	for _, h := range at.Hashes {
		if sum, ok := strings.CutPrefix(h, "zh:"); ok {
			out.Sum = strings.ToLower(sum)
		} else if strings.HasPrefix(h, "h1:") {
			out.Contents = append(out.Contents, h)
		}
	}
	if len(at.Hashes) > 0 && out.Sum == "" && len(out.Contents) == 0 {
		return nil, fmt.Errorf("the mirror has only checksums of unknown kinds for the package, and none of those that can be verified, which begin with zh: or h1: (%q)", at.Hashes)
	}
	out.URL, err = packageURL(a.URL, "url", at.URL)
	return out, err
}

// MirrorURL reads the address of a network mirror as the CLI configuration has it.
func MirrorURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the address of a network mirror begins with https:// and a host") // it may have a password
	}
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	return u, nil
}

package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/hashicorp/go-version"
	"github.com/lethe-iac/lethe/internal/download"
)

// Module is the address of a module in a registry.
type Module struct{ Host, Namespace, Name, System string }

// String returns "host/namespace/name/system".
func (m Module) String() string { return m.Host + "/" + m.Namespace + "/" + m.Name + "/" + m.System }

// Modules returns the versions of a module. Unlike the versions of providers, they may have any number of parts, or the
// form of tags ("v1.2.0"). The error is ErrNotFound if the registry does not have the module.
func (r *Registry) Modules(ctx context.Context, m Module) ([]*version.Version, error) {
	ctx, base, err := r.Service(ctx, m.Host, "modules.v1")
	if err != nil {
		return nil, err
	}
	var doc struct {
		Modules []struct {
			Versions []struct{ Version string }
		}
	}
	if _, err := r.document(ctx, base.JoinPath(m.Namespace, m.Name, m.System, "versions"), &doc); err != nil {
		return nil, missing(err)
	}
	if len(doc.Modules) == 0 {
		return nil, ErrNotFound
	}
	var out []*version.Version
	for _, v := range doc.Modules[0].Versions {
		if parsed, err := version.NewVersion(v.Version); err == nil {
			out = append(out, parsed)
		}
	}
	return out, nil
}

// Module returns the source address of the package of a version. The address is absolute. protected is false if the
// registry answered without TLS, as a service may that the user's configuration names.
func (r *Registry) Module(ctx context.Context, m Module, v *version.Version) (source string, protected bool, err error) {
	ctx, base, err := r.Service(ctx, m.Host, "modules.v1")
	if err != nil {
		return "", false, err
	}
	u := base.JoinPath(m.Namespace, m.Name, m.System, v.String(), "download")
	a, err := r.Client.Get(ctx, u, maxAnswer)
	if err != nil {
		return "", false, missing(refused(err, download.Audience(ctx, u.Host)))
	}
	text := a.Header.Get("X-Terraform-Get")
	if text == "" {
		var doc struct{ Location string }
		_ = json.Unmarshal(a.Body, &doc) // without the header, the address is in the body
		text = doc.Location
	}
	if text == "" {
		return "", false, fmt.Errorf("%s does not name the source of the module", download.Show(u))
	}
	source, err = resolve(a.URL, text)
	return source, a.URL.Scheme == "https", err
}

// resolve returns the absolute form of an address that begins with "/", "./" or "../". It returns other addresses
// unchanged.
func resolve(from *url.URL, text string) (string, error) {
	if text[0] != '/' && text[0] != '.' {
		return text, nil
	}
	u, err := from.Parse(text)
	if err != nil {
		return "", errors.New("the registry names an address for the module that is not valid")
	}
	return u.String(), nil
}

package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/oci"
	"github.com/lethe-iac/lethe/internal/registry"
)

// found is a provider version that a source has.
type found struct {
	version   versions.Version
	platforms []string // platforms with packages; nil if the source does not list them
	unfit     string   // the reason why Lethe cannot use the version on any platform; "" if it can
	// get returns the package for a platform, such as "linux_amd64".
	get func(ctx context.Context, platform string) (parcel, error)
}

// parcel is a package that a source delivers: an unpacked directory, an archive, or a package to download.
type parcel struct {
	dir, zip string
	archive  string            // an archive on this machine with the same content as dir; "": unknown
	remote   *registry.Package // the package to download; nil: the package is on this machine
	h1       string            // the "h1:" hash of dir, if dir is in the store, so that place links its files one by one; otherwise ""
	name     string            // the name of a download for users
	retries  *int              // number of retries of the download; nil: the general setting
}

// unfitOn returns the reason why a version cannot be used on a platform. It returns "" if it can be used.
func (f found) unfitOn(platform string) string {
	if f.platforms != nil && !slices.Contains(f.platforms, platform) {
		return "is not made for " + platform
	}
	return f.unfit
}

// source is a place that providers are installed from.
type source interface {
	// list returns the versions of a provider in the source, and warnings for the user. It returns no versions and no
	// error if the source does not have the provider.
	list(ctx context.Context, a addr.Provider) (all []found, warnings []string, err error)
	// String returns the name of the place for messages.
	String() string
}

// method is a source with the provider patterns that the user configured for it.
type method struct {
	source
	include, exclude []string
}

// takes reports whether the user's patterns permit the source for a provider.
func (m method) takes(p addr.Provider) bool {
	return (len(m.include) == 0 || matches(m.include, p)) && !matches(m.exclude, p)
}

// mirror is a directory with packages of providers.
type mirror string

func (m mirror) String() string { return "the directory " + string(m) }

// matches reports whether a provider matches one of the patterns "host/namespace/type". "*" matches any part. A pattern
// without a host has the default host, and a pattern without a namespace has the default namespace, too. The registry
// hosts of Terraform and OpenTofu count as one.
func matches(patterns []string, p addr.Provider) bool {
	for _, pattern := range patterns {
		parts := strings.Split(pattern, "/")
		want := []string{p.Host, p.Namespace, p.Type}
		switch len(parts) {
		case 2:
			parts = append([]string{addr.DefaultHost}, parts...)
		case 1:
			parts = []string{addr.DefaultHost, addr.DefaultNamespace, parts[0]}
		}
		ok := slices.Contains(hosts(want[0]), strings.ToLower(parts[0])) || parts[0] == "*"
		for i := range want[1:] {
			ok = ok && (parts[i+1] == "*" || strings.EqualFold(parts[i+1], want[i+1]))
		}
		if ok {
			return true
		}
	}
	return false
}

// list returns the versions of a provider in the mirror. The registry hosts of Terraform and OpenTofu count as one. If
// the mirror has a package both as a directory and as an archive, list returns the directory, as Terraform does.
func (m mirror) list(_ context.Context, p addr.Provider) (all []found, warnings []string, err error) {
	if _, err := os.Stat(string(m)); err != nil {
		return nil, nil, disk.Reason(err)
	}
	for _, host := range hosts(p.Host) {
		by := map[string]map[string]parcel{} // by version and platform
		base := string(m)
		for _, part := range []string{host, p.Namespace, p.Type} {
			base = filepath.Join(base, folder(base, part))
		}
		unpacked := within(base, "*/*_*")
		for _, dir := range unpacked {
			if _, ok := executable(dir, p); ok {
				enter(by, filepath.Base(filepath.Dir(dir)), filepath.Base(dir), parcel{dir: dir})
			}
		}
		for _, zip := range within(base, "*_*_*_*.zip") {
			if !strings.HasPrefix(strings.ToLower(filepath.Base(zip)), "terraform-provider-"+strings.ToLower(p.Type)+"_") {
				continue
			}
			parts := strings.Split(strings.TrimSuffix(filepath.Base(zip), ".zip"), "_")
			n := len(parts)
			enter(by, parts[n-3], parts[n-2]+"_"+parts[n-1], parcel{zip: zip})
		}
		for text, at := range by {
			if v, err := versions.ParseVersion(text); err == nil {
				all = append(all, found{version: v, platforms: slices.Collect(maps.Keys(at)), get: func(_ context.Context, platform string) (parcel, error) {
					return at[platform], nil
				}})
			}
		}
	}
	return all, nil, nil
}

// within returns the files in a directory that match a pattern. The name of the directory may contain any characters.
func within(dir, pattern string) []string {
	all, _ := fs.Glob(os.DirFS(dir), pattern)
	for i, name := range all {
		all[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return all
}

// folder returns the name of an entry in a directory. If no entry has the exact name, it returns an entry that differs
// only in case, because users may write the parts of an address with capitals.
func folder(dir, name string) string {
	entries, _ := os.ReadDir(dir)
	found := name
	for _, e := range entries {
		switch {
		case e.Name() == name:
			return name
		case strings.EqualFold(e.Name(), name):
			found = e.Name()
		}
	}
	return found
}

// enter records a package in a map of packages by version and platform. If the map has a package for the version and
// the platform already, that package stays.
func enter(by map[string]map[string]parcel, version, platform string, p parcel) {
	if by[version] == nil {
		by[version] = map[string]parcel{}
	}
	if _, exists := by[version][platform]; !exists {
		by[version][platform] = p
	}
}

// hosts returns the equivalent host names of a registry.
func hosts(h string) []string {
	if other, ok := (addr.Provider{Host: h}).Counterpart(); ok {
		return []string{h, other.Host}
	}
	return []string{h}
}

// direct is the registry that the address of a provider names.
type direct struct {
	*registry.Registry
	retries *int // number of retries of downloads; nil: the general setting
}

func (direct) String() string { return "the provider's registry" }

func (d direct) list(ctx context.Context, a addr.Provider) (all []found, warnings []string, err error) {
	list, warnings, err := d.Providers(ctx, a)
	if err = absent(err); err != nil {
		return nil, nil, err
	}
	for _, v := range list {
		all = append(all, found{version: v.Version, platforms: v.Platforms, unfit: unspoken(v.Protocols), get: remote(d.retries, func(ctx context.Context, platform string) (*registry.Package, error) {
			return d.Provider(ctx, a, v.Version, platform)
		})})
	}
	return all, warnings, nil
}

// remote returns the function get of a found version (see found). It asks a server for the package with ask, and
// returns it as a parcel with the setting retries.
func remote(retries *int, ask func(ctx context.Context, platform string) (*registry.Package, error)) func(context.Context, string) (parcel, error) {
	return func(ctx context.Context, platform string) (parcel, error) {
		pkg, err := ask(ctx, platform)
		return parcel{remote: pkg, retries: retries}, err
	}
}

// unspoken returns a message if a version supports no protocol that Lethe supports. Otherwise, and if the registry names no
// protocol, it returns "". Some registries name a protocol without its minor version.
func unspoken(protocols []string) string {
	if len(protocols) == 0 || slices.ContainsFunc(protocols, func(p string) bool {
		major, _, _ := strings.Cut(p, ".")
		return major == "5" || major == "6"
	}) {
		return ""
	}
	return fmt.Sprintf("uses version %s of the plugin protocol, but Lethe supports 5 and 6", strings.Join(protocols, " and "))
}

// absent returns err. It returns nil if err means that the source does not have the provider.
func absent(err error) error {
	if errors.Is(err, registry.ErrNotFound) {
		return nil
	}
	return err
}

// network is a network mirror.
type network struct {
	registry.Mirror
	retries *int // number of retries of downloads; nil: the general setting
}

func (n network) String() string { return "the network mirror " + download.Show(n.URL) }

func (n network) list(ctx context.Context, a addr.Provider) (all []found, warnings []string, err error) {
	all, err = underEither(a, func(a addr.Provider) (all []found, err error) {
		list, err := n.Providers(ctx, a)
		for _, v := range list {
			all = append(all, found{version: v.Version, get: remote(n.retries, func(ctx context.Context, platform string) (*registry.Package, error) {
				return n.Provider(ctx, a, v.Version, platform)
			})})
		}
		return all, absent(err)
	})
	return all, nil, err
}

// underEither returns the versions of a provider that the function list finds under its address. If it finds none,
// underEither returns the versions under the equivalent address in the other public registry, because a mirror may have
// been made for that registry.
func underEither(a addr.Provider, list func(addr.Provider) ([]found, error)) (all []found, err error) {
	for _, host := range hosts(a.Host) {
		a.Host = host
		if all, err = list(a); len(all) > 0 || err != nil {
			break
		}
	}
	return all, err
}

// images is a source in OCI registries, with one repository for each provider.
type images struct {
	*oci.Client
	repository func(addr.Provider) string
}

func (images) String() string { return "the OCI mirror" }

func (o images) list(ctx context.Context, a addr.Provider) (all []found, warnings []string, err error) {
	all, err = underEither(a, func(a addr.Provider) (all []found, err error) {
		name := o.repository(a)
		vs, err := o.Versions(ctx, name)
		if err != nil && !errors.Is(err, oci.ErrNotFound) {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, v := range vs {
			all = append(all, found{version: v, get: remote(nil, func(ctx context.Context, platform string) (*registry.Package, error) {
				blob, err := o.Provider(ctx, name, v, platform)
				if err != nil {
					return nil, err
				}
				return &registry.Package{Sum: blob.Sum, Save: blob.Save, Size: blob.Size}, nil
			})})
		}
		return all, nil
	})
	return all, nil, err
}

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
	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/oci"
	"github.com/lethe-iac/lethe/internal/registry"
	"github.com/lethe-iac/lethe/internal/state/disk"
)

// found is a provider version that a source has.
type found struct {
	version   versions.Version
	platforms []string // those it has packages for; nil: the source does not say
	unfit     string   // why Lethe cannot use it on any platform; "": it can
	// get gives the package for a platform, such as "linux_amd64".
	get func(ctx context.Context, platform string) (parcel, error)
}

// parcel is a package as a source has it: an unpacked directory, a packed archive, or one that is to be downloaded.
type parcel struct {
	dir, zip string
	archive  string            // the archive on this machine that has the same contents as dir; "": none is known
	remote   *registry.Package // to be downloaded; nil: it is on the disk
	h1       string            // the hash of dir, which is in the store and taken over file by file; "": it is not
	name     string            // what users know a package by that is to be downloaded
	retries  *int              // of its download; nil: as many as of others
}

// unfitOn says why a version is of no use on a platform; "": it can be used.
func (f found) unfitOn(platform string) string {
	if f.platforms != nil && !slices.Contains(f.platforms, platform) {
		return "is not made for " + platform
	}
	return f.unfit
}

// source is a place that providers are installed from.
type source interface {
	// list gives the versions of a provider that the source has, none if it has none of that name, and what it
	// has to say to users.
	list(ctx context.Context, a addr.Provider) (all []found, warnings []string, err error)
	// String says where that is.
	String() string
}

// method is a source as the user configured it.
type method struct {
	source
	include, exclude []string
}

// takes reports whether the source is to be asked for a provider.
func (m method) takes(p addr.Provider) bool {
	return (len(m.include) == 0 || matches(m.include, p)) && !matches(m.exclude, p)
}

// mirror is a directory with providers.
type mirror string

func (m mirror) String() string { return "the directory " + string(m) }

// matches reports whether a provider fits one of the patterns "host/namespace/type", "*" standing
// for any part. The registry hosts of Terraform and OpenTofu count as one.
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

// list gives the versions of a provider that the mirror has. The registry hosts of Terraform and OpenTofu count as one.
func (m mirror) list(_ context.Context, p addr.Provider) (all []found, warnings []string, err error) {
	if _, err := os.Stat(string(m)); err != nil {
		return nil, nil, disk.Reason(err)
	}
	for _, host := range hosts(p.Host) {
		by := map[string]map[string]parcel{} // by version and platform
		base := filepath.Join(string(m), host, folder(filepath.Join(string(m), host), p.Namespace), p.Type)
		packed := within(base, "terraform-provider-"+p.Type+"_*_*_*.zip")
		for _, zip := range packed {
			parts := strings.Split(strings.TrimSuffix(filepath.Base(zip), ".zip"), "_")
			n := len(parts)
			enter(by, parts[n-3], parts[n-2]+"_"+parts[n-1], parcel{zip: zip})
		}
		unpacked := within(base, "*/*_*")
		for _, dir := range unpacked {
			if _, ok := executable(dir, p); ok {
				enter(by, filepath.Base(filepath.Dir(dir)), filepath.Base(dir), parcel{dir: dir})
			}
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

// within lists the files in a directory that match a pattern. The directory may have any name.
func within(dir, pattern string) []string {
	all, _ := fs.Glob(os.DirFS(dir), pattern)
	for i, name := range all {
		all[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return all
}

// folder is the name that one has in a directory, where a user may have written it with capitals, as in the source of a
// provider.
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

// enter notes a package, unless there is one already.
func enter(by map[string]map[string]parcel, version, platform string, p parcel) {
	if by[version] == nil {
		by[version] = map[string]parcel{}
	}
	if _, there := by[version][platform]; !there {
		by[version][platform] = p
	}
}

// hosts are the names of a registry.
func hosts(h string) []string {
	if other, ok := (addr.Provider{Host: h}).Counterpart(); ok {
		return []string{h, other.Host}
	}
	return []string{h}
}

// direct is the registry that the address of a provider names.
type direct struct {
	*registry.Registry
	retries *int // of downloads; nil: not said
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

// remote makes a package of what a server says of it.
func remote(retries *int, ask func(ctx context.Context, platform string) (*registry.Package, error)) func(context.Context, string) (parcel, error) {
	return func(ctx context.Context, platform string) (parcel, error) {
		pkg, err := ask(ctx, platform)
		return parcel{remote: pkg, retries: retries}, err
	}
}

// unspoken says that a version speaks no protocol that Lethe speaks.
func unspoken(protocols []string) string {
	if protocols == nil || slices.ContainsFunc(protocols, func(p string) bool { return strings.HasPrefix(p, "5.") || strings.HasPrefix(p, "6.") }) {
		return ""
	}
	return fmt.Sprintf("speaks version %s of the plugin protocol, and Lethe speaks 5 and 6", strings.Join(protocols, " and "))
}

// absent is no error where it says that there is none of that name.
func absent(err error) error {
	if errors.Is(err, registry.ErrNotFound) {
		return nil
	}
	return err
}

// network is a network mirror.
type network struct {
	registry.Mirror
	retries *int // as of direct
}

func (n network) String() string { return "the network mirror " + download.Show(n.URL) }

func (n network) list(ctx context.Context, a addr.Provider) (all []found, warnings []string, err error) {
	list, err := n.Providers(ctx, a)
	if err = absent(err); err != nil {
		return nil, nil, err
	}
	for _, v := range list {
		all = append(all, found{version: v.Version, get: remote(n.retries, func(ctx context.Context, platform string) (*registry.Package, error) {
			return n.Provider(ctx, a, v.Version, platform)
		})})
	}
	return all, nil, nil
}

// images is an OCI registry, or several, with a repository for each provider.
type images struct {
	*oci.Client
	repository func(addr.Provider) string
}

func (images) String() string { return "the OCI mirror" }

func (o images) list(ctx context.Context, a addr.Provider) (all []found, warnings []string, err error) {
	name := o.repository(a)
	vs, err := o.Versions(ctx, name)
	if err != nil && !errors.Is(err, oci.ErrNotFound) {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
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
	return all, nil, nil
}

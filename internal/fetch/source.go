package fetch

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cliconfig"
	"github.com/lethe-iac/lethe/internal/registry"
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
	remote   *registry.Package // to be downloaded; nil: it is on the disk
	h1       string            // the hash of dir, which is in the store and taken over file by file; "": it is not
	name     string            // what users know a package by that is to be downloaded
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
		ok := slices.Contains(hosts(want[0]), parts[0]) || parts[0] == "*"
		for i := range want[1:] {
			ok = ok && (parts[i+1] == "*" || parts[i+1] == want[i+1])
		}
		if ok {
			return true
		}
	}
	return false
}

// list gives the versions of a provider that the mirror has. The registry hosts of Terraform and OpenTofu count as one.
func (m mirror) list(_ context.Context, p addr.Provider) (all []found, warnings []string, err error) {
	for _, host := range hosts(p.Host) {
		by := map[string]map[string]parcel{} // by version and platform
		base := filepath.Join(string(m), host, p.Namespace, p.Type)
		packed, _ := filepath.Glob(filepath.Join(base, "terraform-provider-"+p.Type+"_*_*_*.zip"))
		for _, zip := range packed {
			parts := strings.Split(strings.TrimSuffix(filepath.Base(zip), ".zip"), "_")
			n := len(parts)
			enter(by, parts[n-3], parts[n-2]+"_"+parts[n-1], parcel{zip: zip})
		}
		unpacked, _ := filepath.Glob(filepath.Join(base, "*", "*_*"))
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

// methods are the sources to ask: the configured ones, or those implied where nothing is configured, which are
// directories that are there, and the registry of a provider that none of them has.
func (p *Providers) methods() ([]method, error) {
	all, err := p.configured()
	if p.Registry != nil && p.Registry.Client.Offline {
		all = slices.DeleteFunc(all, func(m method) bool {
			_, onDisk := m.source.(mirror)
			return !onDisk
		})
	}
	return all, err
}

// configured are the sources that the user's settings, or their absence, name.
func (p *Providers) configured() ([]method, error) {
	var out []method
	switch {
	case len(p.only) > 0:
		for _, s := range p.only {
			out = append(out, method{source: s})
		}
	case p.Settings.Installs:
		for _, in := range p.Settings.Sources {
			s, err := p.source(in)
			if err != nil {
				return nil, err
			}
			out = append(out, method{s, in.Include, in.Exclude})
		}
	default:
		direct := method{source: direct{p.Registry}}
		for _, dir := range implied(p.WorkDir, p.Getenv) {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				out = append(out, method{source: mirror(dir)})
				direct.exclude = append(direct.exclude, mirror(dir).providers()...)
			}
		}
		out = append(out, direct)
	}
	return out, nil
}

// OnlyDir lets the providers come from a directory, another one besides those named so far, and from no place that the
// CLI configuration names.
func (p *Providers) OnlyDir(dir string) { p.only = append(p.only, mirror(dir)) }

// OnlyMirror lets the providers come from a network mirror alone.
func (p *Providers) OnlyMirror(text string) error {
	s, err := p.source(cliconfig.Installation{Method: "network_mirror", Path: text})
	p.only = []source{s}
	return err
}

// OnlyImages lets the providers come from OCI registries alone, each from the repository that a template says, as that
// of an oci_mirror block.
func (p *Providers) OnlyImages(template string) error {
	of, err := cliconfig.RepositoryTemplate(template)
	if err != nil {
		return err
	}
	p.only = []source{images{p.OCI, of}}
	return nil
}

// OnlyRegistries lets each provider come from the registry that its address names.
func (p *Providers) OnlyRegistries() { p.only = []source{direct{p.Registry}} }

// source makes a source of what the CLI configuration says.
func (p *Providers) source(in cliconfig.Installation) (source, error) {
	switch in.Method {
	case "filesystem_mirror":
		return mirror(in.Path), nil
	case "network_mirror":
		u, err := registry.MirrorURL(in.Path)
		return network{registry.Mirror{Registry: p.Registry, URL: u}}, err
	case "oci_mirror":
		return images{p.OCI, in.Repository}, nil
	}
	return direct{p.Registry}, nil
}

// providers lists what a mirror has, as "host/namespace/type".
func (m mirror) providers() []string {
	dirs, _ := filepath.Glob(filepath.Join(string(m), "*", "*", "*"))
	var out []string
	for _, dir := range dirs {
		if rel, err := filepath.Rel(string(m), dir); err == nil {
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out
}

// implied are the directories that Terraform and OpenTofu look into without a setting.
func implied(workDir string, env func(string) string) []string {
	home := env("HOME")
	dirs := []string{filepath.Join(workDir, "terraform.d", "plugins"), filepath.Join(home, ".terraform.d", "plugins")}
	data := env("XDG_DATA_HOME")
	if data == "" {
		data = filepath.Join(home, ".local", "share")
	}
	all := append([]string{data}, filepath.SplitList(orElse(env("XDG_DATA_DIRS"), "/usr/local/share:/usr/share"))...)
	for _, d := range all {
		dirs = append(dirs, filepath.Join(d, "terraform", "plugins"), filepath.Join(d, "opentofu", "plugins"))
	}
	return dirs
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

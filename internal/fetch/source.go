package fetch

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cliconfig"
	"github.com/lethe-iac/lethe/internal/registry"
)

// found is a provider version in a source: an unpacked directory, a packed archive, or one that is to be downloaded.
type found struct {
	version versions.Version
	dir     string // unpacked
	zip     string // packed
	// remote asks where it is to be downloaded from; nil: it is on the disk.
	remote func(ctx context.Context) (*registry.Package, error)
	h1     string // the hash of dir, which is in the store and taken over file by file; "": it is not
	unfit  string // why it is of no use here; "": it can be used
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
// for any part. The registry hosts of the peers count as one.
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

// list gives the versions of a provider that the mirror has for this platform. The registry hosts
// of the peers count as one.
func (m mirror) list(_ context.Context, p addr.Provider) (all []found, warnings []string, err error) {
	for _, host := range hosts(p.Host) {
		base := filepath.Join(string(m), host, p.Namespace, p.Type)
		entries, err := os.ReadDir(base)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if f, ok := m.entry(base, e, p); ok {
				all = append(all, f)
			}
		}
	}
	return all, nil, nil
}

// hosts are the names of a registry.
func hosts(h string) []string {
	if other, ok := (addr.Provider{Host: h}).Counterpart(); ok {
		return []string{h, other.Host}
	}
	return []string{h}
}

// entry reads one name in a mirror: "1.2.3/linux_amd64/", or
// "terraform-provider-x_1.2.3_linux_amd64.zip".
func (m mirror) entry(base string, e os.DirEntry, p addr.Provider) (found, bool) {
	name := e.Name()
	if rest, ok := strings.CutPrefix(name, "terraform-provider-"+p.Type+"_"); ok {
		if v, ok := strings.CutSuffix(rest, "_"+Platform()+".zip"); ok {
			version, err := versions.ParseVersion(v)
			return found{version: version, zip: filepath.Join(base, name)}, err == nil
		}
	}
	version, err := versions.ParseVersion(name)
	dir := filepath.Join(base, name, Platform())
	if err != nil {
		return found{}, false
	}
	_, ok := executable(dir, p)
	return found{version: version, dir: dir}, ok
}

// methods are the sources to ask: the configured ones, or those implied where nothing is configured, which are
// directories that are there, and the registry of a provider that none of them has.
func (p *Providers) methods() ([]method, error) {
	var out []method
	switch {
	case len(p.Only) > 0:
		for _, dir := range p.Only {
			out = append(out, method{source: mirror(dir)})
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

// source makes a source of what the CLI configuration says.
func (p *Providers) source(in cliconfig.Installation) (source, error) {
	switch in.Method {
	case "filesystem_mirror":
		return mirror(in.Path), nil
	case "network_mirror":
		u, err := registry.MirrorURL(in.Path)
		return network{registry.Mirror{Registry: p.Registry, URL: u}}, err
	case "direct":
		return direct{p.Registry}, nil
	}
	return unsupported(in.Method), nil
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

// implied are the directories that the peers look into without being told.
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

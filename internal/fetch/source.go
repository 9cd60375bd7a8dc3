package fetch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cliconfig"
)

// found is a provider version in a mirror: an unpacked directory or a packed archive.
type found struct {
	version versions.Version
	dir     string // unpacked
	zip     string // packed
}

// mirror is one directory with providers, and which of them it may be asked for.
type mirror struct {
	dir     string
	include []string
	exclude []string
}

// takes reports whether the mirror is to be asked for a provider.
func (m mirror) takes(p addr.Provider) bool {
	return (len(m.include) == 0 || matches(m.include, p)) && !matches(m.exclude, p)
}

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
func (m mirror) list(p addr.Provider) []found {
	var out []found
	for _, host := range hosts(p.Host) {
		base := filepath.Join(m.dir, host, p.Namespace, p.Type)
		entries, err := os.ReadDir(base)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if f, ok := m.entry(base, e, p); ok {
				out = append(out, f)
			}
		}
	}
	return out
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

// mirrors are the directories to look into: the configured ones, or those implied where nothing is
// configured.
func mirrors(s *cliconfig.Settings, workDir string, env func(string) string) []mirror {
	var out []mirror
	if s.Installs {
		for _, in := range s.Sources {
			if in.Method == "filesystem_mirror" {
				out = append(out, mirror{in.Path, in.Include, in.Exclude})
			}
		}
		return out
	}
	for _, dir := range implied(workDir, env) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			out = append(out, mirror{dir: dir})
		}
	}
	return out
}

// unasked names the configured methods that would be asked for a provider, and cannot be.
func (p *Providers) unasked(a addr.Provider) string {
	var out []string
	for _, in := range p.Settings.Sources {
		if m := (mirror{include: in.Include, exclude: in.Exclude}); in.Method != "filesystem_mirror" && m.takes(a) && len(p.Only) == 0 {
			out = append(out, in.Method)
		}
	}
	return strings.Join(out, ", ")
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

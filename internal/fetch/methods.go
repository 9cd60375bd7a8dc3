package fetch

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/oci"

	"github.com/lethe-iac/lethe/internal/cliconfig"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/registry"
)

// Sources determines where packages of providers come from: development overrides, mirrors and registries. Its fields
// must not change while a method of Providers runs.
type Sources struct {
	Settings *cliconfig.Settings
	WorkDir  string // directory of the root module
	Getenv   func(string) string
	Registry *registry.Registry
	OCI      *oci.Client
	Retries  int // retries of a download, unless its source has a setting

	only []source // if not empty, replaces the sources of Settings
}

// methods returns the sources to use: the configured sources, or the implied sources if none are configured. If the
// client is offline, it returns only mirror directories.
func (s *Sources) methods() ([]method, error) {
	all, err := s.configured()
	if s.Registry != nil && s.Registry.Client.Offline {
		all = slices.DeleteFunc(all, func(m method) bool {
			_, onDisk := m.source.(mirror)
			return !onDisk
		})
	}
	return all, err
}

// configured returns the configured sources. If none are configured, it returns the implied sources: existing mirror
// directories, and the registry for the providers that none of these directories has.
func (s *Sources) configured() ([]method, error) {
	var out []method
	switch {
	case len(s.only) > 0:
		for _, src := range s.only {
			out = append(out, method{source: src})
		}
	case s.Settings.Installs:
		for _, in := range s.Settings.Sources {
			src, err := s.source(in)
			if err != nil {
				return nil, err
			}
			out = append(out, method{src, in.Include, in.Exclude})
		}
	default:
		direct := method{source: direct{Registry: s.Registry}}
		for _, dir := range implied(s.WorkDir, s.Getenv) {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				out = append(out, method{source: mirror(dir)})
				direct.exclude = append(direct.exclude, mirror(dir).providers()...)
			}
		}
		out = append(out, direct)
	}
	return out, nil
}

// OnlyDir adds a directory to the sources that replace the sources of the CLI configuration.
func (s *Sources) OnlyDir(dir string) { s.only = append(s.only, mirror(dir)) }

// OnlyMirror makes a network mirror the only source of providers. It returns an error if the address is not valid, for
// example because it does not begin with https.
func (s *Sources) OnlyMirror(text string) error {
	src, err := s.source(cliconfig.Installation{Method: "network_mirror", Path: text})
	s.only = []source{src}
	return err
}

// OnlyImages makes OCI registries the only source of providers. The template determines the repository of each
// provider, as in an oci_mirror block. An invalid template is an error.
func (s *Sources) OnlyImages(template string) error {
	of, err := cliconfig.RepositoryTemplate(template)
	if err != nil {
		return err
	}
	s.only = []source{images{s.OCI, of}}
	return nil
}

// OnlyRegistries makes the registry in the address of each provider its only source.
func (s *Sources) OnlyRegistries() { s.only = []source{direct{Registry: s.Registry}} }

// Override returns the directory of a development override for the provider, and false if the user has set none. An
// override for the same provider in the other public registry (of Terraform or of OpenTofu) applies if the exact
// address has none.
func (s *Sources) Override(a addr.Provider) (string, bool) {
	if s.Settings == nil {
		return "", false
	}
	if dir, ok := s.Settings.Overrides[a]; ok {
		return paths.In(s.WorkDir, dir), true
	}
	for o, dir := range s.Settings.Overrides {
		if o.Canon() == a.Canon() {
			return paths.In(s.WorkDir, dir), true
		}
	}
	return "", false
}

// Overridden returns the providers that have development overrides, sorted.
func (s *Sources) Overridden() []addr.Provider {
	var out []addr.Provider
	for a := range s.Settings.Overrides {
		out = append(out, a)
	}
	slices.SortFunc(out, addr.Provider.Compare)
	return out
}

// source returns the source that an installation method of the CLI configuration describes.
func (s *Sources) source(in cliconfig.Installation) (source, error) {
	switch in.Method {
	case "filesystem_mirror":
		return mirror(paths.In(s.WorkDir, in.Path)), nil
	case "network_mirror":
		u, err := registry.MirrorURL(in.Path)
		return network{registry.Mirror{Registry: s.Registry, URL: u, Trusted: in.Trusted}, in.Retries}, err
	case "oci_mirror":
		return images{s.OCI, in.Repository}, nil
	}
	return direct{s.Registry, in.Retries}, nil
}

// providers returns the providers in a mirror directory that have packages, as "host/namespace/type". A directory
// without packages may remain after a user has deleted them.
func (m mirror) providers() []string {
	dirs, _ := fs.Glob(os.DirFS(string(m)), "*/*/*")
	return slices.DeleteFunc(dirs, func(dir string) bool {
		parts := strings.Split(dir, "/")
		all, _, _ := m.list(context.Background(), addr.Provider{Host: parts[0], Namespace: parts[1], Type: parts[2]})
		return len(all) == 0
	})
}

// implied returns the directories that Terraform and OpenTofu search for providers without a setting. They may not
// exist. env returns the value of an environment variable.
func implied(workDir string, env func(string) string) []string {
	dirs := []string{filepath.Join(workDir, "terraform.d", "plugins")}
	if runtime.GOOS == "windows" {
		if data := env("APPDATA"); data != "" {
			dirs = append(dirs, filepath.Join(data, "terraform.d", "plugins"), filepath.Join(data, "HashiCorp", "Terraform", "plugins"), filepath.Join(data, "OpenTofu", "plugins"))
		}
		return dirs
	}
	home, data := env("HOME"), env("XDG_DATA_HOME")
	if home != "" {
		dirs = append(dirs, filepath.Join(home, ".terraform.d", "plugins"))
		data = orElse(data, filepath.Join(home, ".local", "share"))
	}
	var all []string
	if data != "" {
		all = append(all, data)
	}
	all = append(all, filepath.SplitList(orElse(env("XDG_DATA_DIRS"), "/usr/local/share:/usr/share"))...)
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

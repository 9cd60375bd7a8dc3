package fetch

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/lethe-iac/lethe/internal/cliconfig"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/registry"
)

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
		direct := method{source: direct{Registry: p.Registry}}
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
func (p *Providers) OnlyRegistries() { p.only = []source{direct{Registry: p.Registry}} }

// source makes a source of what the CLI configuration says.
func (p *Providers) source(in cliconfig.Installation) (source, error) {
	switch in.Method {
	case "filesystem_mirror":
		return mirror(paths.In(p.WorkDir, in.Path)), nil
	case "network_mirror":
		u, err := registry.MirrorURL(in.Path)
		return network{registry.Mirror{Registry: p.Registry, URL: u, Trusted: in.Trusted}, in.Retries}, err
	case "oci_mirror":
		return images{p.OCI, in.Repository}, nil
	}
	return direct{p.Registry, in.Retries}, nil
}

// providers lists what a mirror has, as "host/namespace/type".
func (m mirror) providers() []string {
	dirs, _ := fs.Glob(os.DirFS(string(m)), "*/*/*")
	return dirs
}

// implied are the directories that Terraform and OpenTofu look into without a setting.
func implied(workDir string, env func(string) string) []string {
	home, data := env("HOME"), env("XDG_DATA_HOME")
	dirs := []string{filepath.Join(workDir, "terraform.d", "plugins")}
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

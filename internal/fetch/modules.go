package fetch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/apparentlymart/go-versions/versions/constraints"
	"github.com/hashicorp/go-version"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/paths"
)

// LocalDir returns the directory of a local module source relative to the directory of its caller. It resolves symbolic
// links, because the sources in the module are relative to the real directory. It returns an error if no such directory
// exists.
func LocalDir(source, parent string) (string, error) {
	dir := paths.Text(parent, filepath.FromSlash(source))
	info, err := os.Stat(dir)
	if err == nil {
		dir, err = paths.Real(dir)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no directory %s", source)
	case err != nil:
		return "", fmt.Errorf("the directory %s could not be read: %w", source, err)
	case !info.IsDir():
		return "", fmt.Errorf("%s is not a directory", source)
	}
	return dir, nil
}

// CopyModule copies the files of a module and of all directories below it. It omits names that begin with a dot. It
// follows symbolic links, and omits broken ones.
func CopyModule(from, to string) error {
	if real, err := filepath.EvalSymlinks(from); err == nil {
		from = real // the real directory, because WalkDir does not follow a link
	}
	return copyModule(from, to, nil)
}

// copyModule copies the files of a module, as CopyModule does. The parameter above holds the directories of the calls
// of copyModule around this call, which copy the directory with a link to this directory. copyModule uses them to
// detect circles of links.
func copyModule(from, to string, above []fs.FileInfo) error {
	here, err := os.Stat(from)
	if err != nil {
		return err
	}
	for _, up := range above {
		if os.SameFile(up, here) {
			return fmt.Errorf("the link %s leads to a directory that it is in", from)
		}
	}
	above = append(slices.Clip(above), here)
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case rel == ".":
			if !d.IsDir() {
				return fmt.Errorf("%s is not a directory", from)
			}
			return nil
		case path == to, strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		info, err := os.Stat(path)
		switch {
		case err != nil && d.Type()&fs.ModeSymlink != 0: // a broken or circular link
			return nil
		case err == nil && info.IsDir(): // a link to a directory
			if path, err = filepath.EvalSymlinks(path); err != nil {
				return err
			}
			return errors.Join(os.MkdirAll(filepath.Join(to, rel), 0o755), copyModule(path, filepath.Join(to, rel), above))
		case err != nil || !info.Mode().IsRegular():
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, info.Mode().Perm())
	})
}

// manifest is .terraform/modules/modules.json, which other tools read.
type manifest struct {
	Modules []manifestEntry
}

type manifestEntry struct {
	Key     string
	Source  string
	Version string `json:",omitempty"`
	Dir     string

	// Hash is the hash of the package, "h1:…". Terraform and OpenTofu omit it when they write the file.
	Hash string `json:",omitempty"`
}

// manifestPath returns the path of the list of installed modules below the data directory.
func manifestPath(dataDir string) string { return filepath.Join(dataDir, "modules", "modules.json") }

// moduleDir returns the directory for the package of the module with the given key. Windows does not permit names of
// devices, such as con, as the names of directories.
func moduleDir(dataDir, key string) string {
	if !filepath.IsLocal(key) {
		key = "_" + key
	}
	return filepath.Join(dataDir, "modules", key)
}

func (m manifest) write(path string) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, text) {
		return nil // the content is unchanged, and the directory may be read-only
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return replace(path, text)
}

// Modules holds the installed modules of a working directory, by the names of their calls in the tree.
type Modules map[string]manifestEntry

// ReadModules reads the list of installed modules. A missing or broken list counts as empty.
func ReadModules(dataDir string) Modules {
	out := Modules{}
	for _, e := range readManifest(manifestPath(dataDir)) {
		out[e.Key] = e
	}
	return out
}

// Find finds a module that is not local among the modules that Lethe, Terraform or OpenTofu has installed. It returns
// its directory, its recorded source, and its version. If no module with that name was installed, dir is "" and the
// error is nil. The error describes the difference between the installed module and the call.
func (m Modules) Find(workDir, key, source, version string) (dir, from, is string, err error) {
	e := m[key]
	switch {
	case e.Dir == "":
		return "", "", "", nil
	case sameSource(e.Source) != sameSource(source):
		return "", "", "", fmt.Errorf("its source has changed from %q to %q", display(e.Source), display(source))
	case version != "":
		if err := versionFits(e.Version, version); err != nil {
			return "", "", "", err
		}
	}
	dir = filepath.FromSlash(e.Dir)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(workDir, dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", "", "", fmt.Errorf("its directory %s no longer exists", e.Dir)
	}
	return dir, e.Source, e.Version, nil
}

func versionFits(is, text string) error {
	allowed, err := wantedVersions(text)
	if err != nil {
		return err
	}
	v, err := version.NewVersion(is)
	if err != nil || !allowed.has(v) {
		return fmt.Errorf("the version %q was installed, but the constraint is now %q", is, text)
	}
	return nil
}

// allowedVersions are the versions that the version argument of a module allows.
type allowedVersions struct {
	all   version.Constraints
	named versions.Set // the pre-releases that the argument names, and all releases
}

// wantedVersions returns the versions that the version argument of a module allows. "" allows all releases.
func wantedVersions(text string) (*allowedVersions, error) {
	if text == "" {
		return &allowedVersions{named: versions.Released}, nil
	}
	all, err := version.NewConstraint(text)
	if err != nil {
		return nil, fmt.Errorf("the version constraint %q cannot be read: %w", text, err)
	}
	spec, err := constraints.ParseRubyStyleMulti(moduleVersions(text))
	if err != nil {
		return &allowedVersions{all, versions.Released}, nil
	}
	return &allowedVersions{all, released(versions.MeetingConstraints(spec))}, nil
}

// has reports whether v is allowed. A pre-release is allowed only if the argument names it, with its metadata ("+x"). The
// metadata of a release does not count.
func (a *allowedVersions) has(v *version.Version) bool {
	if v.Prerelease() == "" {
		return a.all.Check(v)
	}
	exact, err := versions.ParseVersion(v.String())
	return err == nil && a.all.Check(v) && a.named.Has(exact)
}

// moduleVersions returns the version argument of a module with the syntax and meaning of constraints of providers. Two
// differences exist: versions of modules may have the form of tags ("v1.2.0"), and "~> 1" of a module also allows
// 2.0.0.
func moduleVersions(text string) string {
	return anyMajor().ReplaceAllString(versionTag().ReplaceAllString(text, "$1$2"), ">= $1$2")
}

var (
	versionTag = pattern(`(^|[^0-9A-Za-z.+-])v([0-9])`)
	anyMajor   = pattern(`~>\s*([0-9]+)\s*(,|$)`)
)

// sameSource returns equal texts for equivalent forms of a source. The public registries of Terraform and OpenTofu
// count as one.
func sameSource(s string) string {
	if m, err := parseSource(s, addr.DefaultHost); err == nil {
		s = m.recorded()
	}
	return sameHost(s)
}

// sameHost removes the host from a registry address if the host is one of the public registries.
func sameHost(s string) string {
	return strings.TrimPrefix(strings.TrimPrefix(s, addr.TerraformHost+"/"), addr.DefaultHost+"/")
}

// readManifest returns the recorded modules. It ignores errors, because the file will be replaced.
func readManifest(path string) []manifestEntry {
	var m manifest
	if text, err := config.ReadOne(path, limits.Limits{}); err == nil {
		_ = json.Unmarshal(text, &m)
	}
	return m.Modules
}

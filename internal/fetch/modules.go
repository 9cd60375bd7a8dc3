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
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/paths"
)

// LocalDir is the directory that a local module source names, seen from its caller's: where it really is, if the way
// there has symbolic links. What it calls itself is relative to that.
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

// CopyModule copies the files of a module, and all below, but for names that begin with a dot. Symbolic links are followed.
func CopyModule(from, to string) error {
	if real, err := filepath.EvalSymlinks(from); err == nil {
		from = real // WalkDir does not follow it
	}
	return copyModule(from, to, nil)
}

// copyModule is CopyModule below directories that were followed to.
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
		case err == nil && info.IsDir(): // behind a link
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

	// Hash is that of the package, "h1:…". Terraform and OpenTofu leave it out when they write the file.
	Hash string `json:",omitempty"`
}

// manifestPath is the list of installed modules below the data directory.
func manifestPath(dataDir string) string { return filepath.Join(dataDir, "modules", "modules.json") }

func (m manifest) write(path string) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, text) {
		return nil // the directory may be one that is only read
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return replace(path, text)
}

// Modules are those that were installed in a working directory, by the names of their calls in the tree.
type Modules map[string]manifestEntry

// ReadModules reads which modules were installed.
func ReadModules(dataDir string) Modules {
	out := Modules{}
	for _, e := range readManifest(manifestPath(dataDir)) {
		out[e.Key] = e
	}
	return out
}

// Find finds a module that comes from elsewhere among those that a peer's init has installed, and gives its
// directory, its source as recorded, and its version. The error says what is wrong where there is one of
// that name, and is nil where there is none.
func (m Modules) Find(workDir, key, source, version string) (dir, from, is string, err error) {
	e := m[key]
	switch {
	case e.Dir == "":
		return "", "", "", nil
	case sameSource(e.Source) != sameSource(source):
		return "", "", "", fmt.Errorf("the source was %q when it was installed, and is %q now", display(e.Source), display(source))
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
		return "", "", "", fmt.Errorf("the directory %s, where it was installed, is gone", e.Dir)
	}
	return dir, e.Source, e.Version, nil
}

func versionFits(is, text string) error {
	spec, err := moduleConstraint(text)
	if err != nil {
		return fmt.Errorf("the version constraint %q cannot be read: %w", text, err)
	}
	v, err := versions.ParseVersion(is)
	if err != nil || !versions.MeetingConstraints(spec).Has(v) {
		return fmt.Errorf("the version %q was installed, and %q is wanted now", is, text)
	}
	return nil
}

// moduleConstraint reads the version argument of a module, in which versions may be written as tags are called ("v1.2.0").
func moduleConstraint(text string) (constraints.IntersectionSpec, error) {
	return constraints.ParseRubyStyleMulti(versionTag().ReplaceAllString(text, "$1$2"))
}

var versionTag = pattern(`(^|[^0-9A-Za-z.+-])v([0-9])`)

// sameSource gives equal texts for the forms that a source may be written in, and is recorded in. The public registries
// of Terraform and OpenTofu count as one.
func sameSource(s string) string {
	if m, err := parseSource(s, addr.DefaultHost); err == nil {
		s = m.recorded()
	}
	return sameHost(s)
}

// sameHost drops the host of a registry address if it is one of the public registries.
func sameHost(s string) string {
	return strings.TrimPrefix(strings.TrimPrefix(s, addr.TerraformHost+"/"), addr.DefaultHost+"/")
}

// readManifest gives what was recorded, as far as it can be read: it is written anew.
func readManifest(path string) []manifestEntry {
	var m manifest
	if text, err := config.ReadOne(path, limits.Limits{}); err == nil {
		_ = json.Unmarshal(text, &m)
	}
	return m.Modules
}

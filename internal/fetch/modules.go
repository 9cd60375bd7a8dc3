package fetch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lethe-iac/lethe/internal/config"
)

// IsLocal reports whether a module source is a path on this machine.
func IsLocal(source string) bool {
	return strings.HasPrefix(source, "./") || strings.HasPrefix(source, "../") || source == "." || source == ".."
}

// LocalDir is the directory that a local module source names, seen from its caller's.
func LocalDir(source, parent string) (string, error) {
	dir := filepath.Join(parent, filepath.FromSlash(source))
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no directory %s", dir)
	case err != nil:
		return "", fmt.Errorf("the directory %s could not be read: %w", dir, err)
	case !info.IsDir():
		return "", fmt.Errorf("%s is not a directory", dir)
	}
	return dir, nil
}

// CopyModule copies the files of a module, and all below, but for names that begin with a dot.
func CopyModule(from, to string) error {
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
		if err != nil || !info.Mode().IsRegular() {
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
}

// WriteManifest records which module was found where, below the data directory, and tells fresh of
// those that were not there, or elsewhere, when that was last recorded.
func WriteManifest(dataDir, workDir string, root *config.Node, fresh func(*config.Node)) error {
	m := manifest{}
	path := filepath.Join(dataDir, "modules", "modules.json")
	known := map[manifestEntry]bool{}
	for _, e := range readManifest(path) {
		known[e] = true
	}
	root.Walk(func(n *config.Node) {
		dir, err := filepath.Rel(workDir, n.Module.Dir)
		if err != nil {
			dir = n.Module.Dir
		}
		e := manifestEntry{Key: strings.Join(n.Path.Path(), "."), Source: n.Source, Version: n.Version, Dir: filepath.ToSlash(dir)}
		m.Modules = append(m.Modules, e)
		if n.Parent != nil && !known[e] {
			fresh(n)
		}
	})
	if len(m.Modules) == 1 {
		return nil
	}
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
	return os.WriteFile(path, text, 0o644)
}

// readManifest gives what was recorded, as far as it can be read: it is written anew.
func readManifest(path string) []manifestEntry {
	var m manifest
	if text, err := os.ReadFile(path); err == nil {
		_ = json.Unmarshal(text, &m)
	}
	return m.Modules
}

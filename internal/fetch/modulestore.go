package fetch

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/lethe-iac/lethe/internal/config"
)

// Store has packages of modules that were locked, each in a directory that is called by its hash.
type Store struct {
	Cache  string // is filled with what is installed, for all working directories of a user; "" for none
	Vendor string // was filled by Vendor; "" for none
}

// indexName is the file in a vendored directory that says what is there.
const indexName = "index.json"

// find gives the directory of a package; "" where there is none.
func (s *Store) find(hash string) string {
	for _, dir := range []string{s.Vendor, s.Cache} {
		if dir == "" || hash == "" {
			continue
		}
		at := filepath.Join(dir, fileName(hash))
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			return at
		}
	}
	return ""
}

// keep fills the cache. A package that cannot be kept is downloaded again.
func (s *Store) keep(hash, dir string) {
	if s.Cache == "" {
		return
	}
	to := filepath.Join(s.Cache, fileName(hash))
	if _, err := os.Stat(to); err != nil && os.MkdirAll(s.Cache, 0o700) == nil {
		_ = fill(to, func(tmp string) error { return os.CopyFS(tmp, os.DirFS(dir)) })
	}
}

// fill makes a directory anew: all that copy puts into one beside it, or nothing.
func fill(dir string, copy func(tmp string) error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".fill-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	at := filepath.Join(tmp, "package")
	if err := os.Mkdir(at, 0o755); err != nil {
		return err
	}
	if err := copy(at); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(dir), os.Rename(at, dir))
}

// index lists the packages that were vendored.
func (s *Store) index() (out []config.ModuleLock) {
	if s.Vendor == "" {
		return nil
	}
	if text, err := os.ReadFile(filepath.Join(s.Vendor, indexName)); err == nil {
		_ = json.Unmarshal(text, &out) // a broken one is none: what is locked is found without it
	}
	return out
}

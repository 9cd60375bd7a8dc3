package fetch

import (
	"encoding/json"
	"errors"
	"fmt"
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
		_ = put(dir, to)
	}
}

// put copies a directory to where there is none yet, all of it or nothing.
func put(dir, to string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(to), ".put-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	at := filepath.Join(tmp, "package")
	return errors.Join(os.CopyFS(at, os.DirFS(dir)), os.Chmod(at, 0o755), os.Rename(at, to))
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

// fromStore installs a package that this machine has.
func (m *Installer) fromStore(c *moduleCall, dir string) error {
	from := m.Store.find(c.lock.Hash)
	_, err := m.anew(dir, func(tmp string) (delivery, error) {
		if err := os.CopyFS(tmp, os.DirFS(from)); err != nil {
			return delivery{}, err
		}
		list, err := summary(tmp)
		if err == nil && hashOf(list) != c.lock.Hash {
			err = fmt.Errorf("what is in %s is not what it was: remove it", from)
		}
		m.remember(c.lock.Hash, list)
		return delivery{}, err
	})
	return err
}

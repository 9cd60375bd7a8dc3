package fetch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

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

// fromStore installs a package that this machine has.
func (m *Installer) fromStore(c *moduleCall, dir string) error {
	from := m.Store.find(c.lock.Hash)
	return fill(dir, func(tmp string) error {
		if err := os.CopyFS(tmp, os.DirFS(from)); err != nil {
			return err
		}
		list, err := summary(tmp)
		if err == nil && hashOf(list) != c.lock.Hash {
			err = fmt.Errorf("what is in %s is not what it was: remove it", from)
		}
		m.remember(c.lock.Hash, c.lock.Revision, list)
		return err
	})
}

// Vendor copies the packages of the modules that Install made sure of into the directory, where Store finds them, with
// a list of them. What is there already stays.
func (m *Installer) Vendor(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	store := &Store{Vendor: dir}
	all := store.index()
	for _, lock := range m.Locks() {
		if !slices.Contains(all, lock) {
			all = append(all, lock)
		}
		to := filepath.Join(dir, fileName(lock.Hash))
		if _, err := os.Stat(to); err == nil {
			continue
		}
		m.note("- Copying %s...", strings.TrimSpace(lock.Source+" "+lock.Version))
		_, list := m.recall(lock.Hash)
		if err := fill(to, func(tmp string) error { return copyListed(list, m.bases[lock.Hash], tmp) }); err != nil {
			return fmt.Errorf("%s: %w", lock.Source, err)
		}
	}
	slices.SortFunc(all, func(a, b config.ModuleLock) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Constraints, b.Constraints))
	})
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return replace(filepath.Join(dir, indexName), append(text, '\n'))
}

// copyListed copies the files that a summary lists.
func copyListed(list, from, to string) error {
	for line := range strings.Lines(list) {
		_, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		name, linked := strings.CutSuffix(name, " ->")
		source, dest := filepath.Join(from, filepath.FromSlash(name)), filepath.Join(to, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(dest), 0o755)
		switch {
		case err != nil:
		case linked:
			var text string
			if text, err = os.Readlink(source); err == nil {
				err = os.Symlink(text, dest)
			}
		default:
			err = copyFile(source, dest)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

package fetch

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/state/disk"
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
	sweepFills(filepath.Dir(dir))
	tmp, lock, err := makeFill(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer lock.Close()
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

// fills is the pattern of the directories in which fill works. Each has a file called lock, which the process locks that
// works there: a directory whose file is not locked was left by one that was killed.
const fills = ".fill-*"

// makeFill makes such a directory.
func makeFill(parent string) (dir string, lock *os.File, err error) {
	for range 10 {
		if dir, err = os.MkdirTemp(parent, fills); err != nil {
			return "", nil, err
		}
		name := filepath.Join(dir, "lock")
		if lock, err = os.Create(name); err != nil {
			return "", nil, errors.Join(err, os.RemoveAll(dir))
		}
		if err = disk.Lock(lock); err == nil {
			if _, err = os.Stat(name); err == nil { // and nobody has swept it in between
				return dir, lock, nil
			}
		}
		lock.Close()
	}
	return "", nil, err
}

// sweepFills removes what killed processes left in a directory.
func sweepFills(parent string) {
	if runtime.GOOS == "windows" { // whether a file is locked cannot be asked
		return
	}
	for _, dir := range within(parent, fills) {
		if lock, err := disk.OS.OpenFile(filepath.Join(dir, "lock"), os.O_RDONLY, 0); err == nil {
			if !disk.Held(lock) {
				_ = os.RemoveAll(dir)
			}
			lock.Close()
		}
	}
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

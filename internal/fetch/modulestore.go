package fetch

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/lethe-iac/lethe/internal/config/lockfile"

	"github.com/lethe-iac/lethe/internal/disk"
)

// Store holds packages of locked modules. The name of the directory of each package is the hash of the package.
type Store struct {
	Cache  string // a directory that is filled with installed packages, for all working directories of a user; "": no cache
	Vendor string // a directory that the method Vendor has filled; "": no such directory
}

// indexName is the file in a vendored directory that lists its packages.
const indexName = "index.json"

// find returns the directory of a package. It returns "" if the store does not have the package.
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

// keep adds a package to the cache. It ignores errors: later commands then download the package again.
func (s *Store) keep(hash, dir string) {
	if s.Cache == "" {
		return
	}
	to := filepath.Join(s.Cache, fileName(hash))
	if _, err := os.Stat(to); err != nil && os.MkdirAll(s.Cache, 0o700) == nil {
		_ = fill(to, func(tmp string) error { return os.CopyFS(tmp, os.DirFS(dir)) })
	}
}

// fill replaces a directory by a directory that copy has filled. If copy fails, dir does not change.
func fill(dir string, copy func(tmp string) error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	sweepFills(filepath.Dir(dir))
	tmp, lock, err := makeFill(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer disk.OS.RemoveAll(tmp)
	defer lock.Close() // close before the removal, because Windows does not remove an open file
	at := filepath.Join(tmp, "package")
	if err := os.Mkdir(at, 0o755); err != nil {
		return err
	}
	if err := copy(at); err != nil {
		return err
	}
	return errors.Join(disk.OS.RemoveAll(dir), disk.OS.Rename(at, dir))
}

// fills is the pattern of the temporary directories of fill. The process that uses such a directory locks the file
// called lock in it. If the file is not locked, the process was killed.
const fills = ".fill-*"

// makeFill creates a temporary directory for fill with a file called lock in it, and locks this file.
func makeFill(parent string) (dir string, lock *os.File, err error) {
	for range 10 {
		if dir, err = os.MkdirTemp(parent, fills); err != nil {
			return "", nil, err
		}
		name := filepath.Join(dir, "lock")
		if lock, err = os.Create(name); err != nil {
			return "", nil, errors.Join(err, disk.OS.RemoveAll(dir))
		}
		if err = disk.Lock(lock); err == nil {
			if _, err = os.Stat(name); err == nil { // check that no other process removed the directory before it was locked
				return dir, lock, nil
			}
		}
		lock.Close()
	}
	return "", nil, err
}

// sweepFills removes the temporary directories that killed processes left in parent.
func sweepFills(parent string) {
	for _, dir := range within(parent, fills) {
		if lock, err := disk.OS.OpenFile(filepath.Join(dir, "lock"), os.O_RDONLY, 0); err == nil {
			held := disk.Held(lock)
			if !held {
				_ = disk.OS.RemoveAll(dir)
			}
			lock.Close()
			if !held {
				_ = disk.OS.Remove(dir) // remove the rest: on Windows, the directory still contained the open lock
			}
		}
	}
}

// index returns the vendored packages.
func (s *Store) index() (out []lockfile.Module) {
	if s.Vendor == "" {
		return nil
	}
	if text, err := os.ReadFile(filepath.Join(s.Vendor, indexName)); err == nil {
		_ = json.Unmarshal(text, &out) // ignore a broken file: locked packages are found without it
	}
	return out
}

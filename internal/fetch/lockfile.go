package fetch

import (
	"bytes"
	"errors"
	"github.com/lethe-iac/lethe/internal/limits"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Lockfile is the dependency lock file of a working directory.
type Lockfile struct {
	path  string
	read  []byte // as found; nil: there was none
	locks map[addr.Provider]config.Lock
}

// ReadLockfile reads the lock file in dir; a missing one is empty. Messages about what is in it find
// its text in the sources.
func ReadLockfile(dir string, limits limits.Limits, sources *diag.Sources, bag *diag.Bag) (*Lockfile, bool) {
	l := &Lockfile{path: filepath.Join(dir, LockName), locks: map[addr.Provider]config.Lock{}}
	src, err := config.ReadOne(l.path, limits)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l, true
	case err != nil:
		bag.Add(diag.Errorf("Failed to read dependency lock file", "%s.", err))
		return l, false
	}
	l.read = src
	sources.Set(LockName, src)
	locks, ok := config.ParseLocks(src, LockName, limits, bag)
	for _, one := range locks {
		l.locks[one.Provider] = one
	}
	return l, ok
}

// Get gives a provider's lock. An entry of the other registry host stands for the same provider,
// by its version alone.
func (l *Lockfile) Get(p addr.Provider) (config.Lock, bool) {
	if lock, ok := l.locks[p]; ok {
		return lock, true
	}
	for other, lock := range l.locks {
		if other.Canon() == p.Canon() {
			return lock, true
		}
	}
	return config.Lock{}, false
}

// Set replaces a provider's lock.
func (l *Lockfile) Set(lock config.Lock) {
	for other := range l.locks {
		if other.Canon() == lock.Provider.Canon() {
			delete(l.locks, other)
		}
	}
	l.locks[lock.Provider] = lock
}

// Keep drops the locks of providers that nothing needs.
func (l *Lockfile) Keep(needed func(addr.Provider) bool) {
	for p := range l.locks {
		if !needed(p) {
			delete(l.locks, p)
		}
	}
}

// Bytes is the file as it would be written.
func (l *Lockfile) Bytes() []byte {
	var locks []config.Lock
	for _, one := range l.locks {
		locks = append(locks, one)
	}
	return config.FormatLocks(locks)
}

// Changed reports whether writing would change the file.
func (l *Lockfile) Changed() bool {
	if l.read == nil {
		return len(l.locks) > 0
	}
	return !bytes.Equal(withoutHeader(l.read), withoutHeader(l.Bytes()))
}

// IsNew reports whether there was no file.
func (l *Lockfile) IsNew() bool { return l.read == nil }

// withoutHeader drops the leading comments, which name the program that wrote the file.
func withoutHeader(src []byte) []byte {
	for bytes.HasPrefix(src, []byte("#")) {
		_, src, _ = bytes.Cut(src, []byte("\n"))
	}
	return bytes.TrimSpace(src)
}

// Write saves the file, atomically, if anything changed.
func (l *Lockfile) Write() error {
	if !l.Changed() {
		return nil
	}
	tmp, err := os.CreateTemp(filepath.Dir(l.path), LockName+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(l.Bytes())
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), l.path)
}

// Providers lists what is locked, sorted.
func (l *Lockfile) Providers() []config.Lock {
	var out []config.Lock
	for _, one := range l.locks {
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b config.Lock) int { return a.Provider.Compare(b.Provider) })
	return out
}

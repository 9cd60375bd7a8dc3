package fetch

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
)

// Lockfile is the dependency lock file of a working directory.
type Lockfile struct {
	path    string
	isNew   bool   // there was no file
	was     []byte // the file as Bytes would have written what was found
	ofWas   int    // how much of that is about providers
	locks   map[addr.Provider]config.Lock
	found   map[addr.Provider]string // the versions that the file selects
	modules map[moduleName]config.ModuleLock
}

// moduleName is what tells the entries of modules apart. The public registries of Terraform and OpenTofu count as one.
type moduleName struct{ source, constraints string }

func nameOf(l config.ModuleLock) moduleName { return moduleName{sameHost(l.Source), l.Constraints} }

// ReadLockfile reads the lock file in dir; a missing one is empty. Messages about what is in it find
// its text in the sources.
func ReadLockfile(dir string, limits limits.Limits, sources *diag.Sources, bag *diag.Bag) (*Lockfile, bool) {
	l := &Lockfile{path: filepath.Join(dir, LockName), locks: map[addr.Provider]config.Lock{}, modules: map[moduleName]config.ModuleLock{}}
	defer func() { l.was, l.ofWas, l.found = l.Bytes(), len(l.providers()), l.selections() }()
	src, err := config.ReadOne(l.path, limits)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.isNew = true
		return l, true
	case err != nil:
		bag.Add(diag.Errorf("Failed to read dependency lock file", "%s.", err))
		return l, false
	}
	sources.Set(LockName, src)
	locks, ok := config.ParseLocks(src, LockName, limits, bag)
	for _, one := range locks {
		l.locks[one.Provider] = one
	}
	modules, good := config.ParseModuleLocks(src, LockName, limits, bag)
	for _, one := range modules {
		l.modules[nameOf(one)] = one
	}
	return l, ok && good
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

// Module gives the lock of a module package.
func (l *Lockfile) Module(source, constraints string) (config.ModuleLock, bool) {
	lock, ok := l.modules[moduleName{sameHost(source), constraints}]
	return lock, ok
}

// Modules lists the module packages that are locked, in no order.
func (l *Lockfile) Modules() []config.ModuleLock { return slices.Collect(maps.Values(l.modules)) }

// SetModules replaces the locks of all module packages.
func (l *Lockfile) SetModules(all []config.ModuleLock) {
	clear(l.modules)
	for _, one := range all {
		l.modules[nameOf(one)] = one
	}
}

// Bytes is the file as it would be written.
func (l *Lockfile) Bytes() []byte {
	return append(l.providers(), config.FormatModuleLocks(l.Modules())...)
}

// providers is the part of the file that Terraform and OpenTofu read.
func (l *Lockfile) providers() []byte { return config.FormatLocks(l.Providers()) }

// Changed reports whether what is locked is not what the file says. How it says that is of no account.
func (l *Lockfile) Changed() bool { return !bytes.Equal(l.was, l.Bytes()) }

// ProvidersChanged reports whether that is so for providers.
func (l *Lockfile) ProvidersChanged() bool { return !bytes.Equal(l.was[:l.ofWas], l.providers()) }

// SelectionsChanged reports whether other providers, or other versions of them, are locked than the file says. More
// checksums of the same versions do not count.
func (l *Lockfile) SelectionsChanged() bool { return !maps.Equal(l.found, l.selections()) }

// selections returns the locked version of each provider.
func (l *Lockfile) selections() map[addr.Provider]string {
	out := map[addr.Provider]string{}
	for p, lock := range l.locks {
		out[p] = lock.Version
	}
	return out
}

// IsNew reports whether there was no file.
func (l *Lockfile) IsNew() bool { return l.isNew }

// Write saves the file, atomically, if anything changed.
func (l *Lockfile) Write() error {
	if !l.Changed() {
		return nil
	}
	tmp, err := createBeside(l.path)
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(l.Bytes())
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
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

package fetch

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/lethe-iac/lethe/internal/config/lockfile"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
)

// Lockfile is the dependency lock file of a working directory.
type Lockfile struct {
	path    string
	isNew   bool   // the file did not exist
	was     []byte // the content that was read, in the form of the method Bytes
	ofWas   int    // length of the first part of the field was, which has the providers
	locks   map[addr.Provider]lockfile.Provider
	found   map[addr.Provider]string // the versions that the file on the disk selects
	modules map[moduleName]lockfile.Module
}

// moduleName identifies the entry of a module. The public registries of Terraform and OpenTofu are equal in it.
type moduleName struct{ source, constraints string }

func nameOf(l lockfile.Module) moduleName { return moduleName{sameHost(l.Source), l.Constraints} }

// ReadLockfile reads the lock file in dir. A missing file is empty. It adds the text to sources, so that messages can
// quote it. The boolean is false if an error was reported.
func ReadLockfile(dir string, limits limits.Limits, sources *diag.Sources, bag *diag.Bag) (*Lockfile, bool) {
	l := &Lockfile{path: filepath.Join(dir, LockName), locks: map[addr.Provider]lockfile.Provider{}, modules: map[moduleName]lockfile.Module{}}
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
	locks, ok := lockfile.ParseProviders(src, LockName, limits, bag)
	for _, one := range locks {
		l.locks[one.Provider] = one
	}
	modules, good := lockfile.ParseModules(src, LockName, limits, bag)
	for _, one := range modules {
		l.modules[nameOf(one)] = one
	}
	return l, ok && good
}

// Get returns the lock (the entry in the lock file) of a provider, and false if the file has none. An entry for the
// same provider in the other public registry (of Terraform or of OpenTofu) counts, too.
func (l *Lockfile) Get(p addr.Provider) (lockfile.Provider, bool) {
	if lock, ok := l.locks[p]; ok {
		return lock, true
	}
	for other, lock := range l.locks {
		if other.Canon() == p.Canon() {
			return lock, true
		}
	}
	return lockfile.Provider{}, false
}

// Set replaces the lock of a provider.
func (l *Lockfile) Set(lock lockfile.Provider) {
	for other := range l.locks {
		if other.Canon() == lock.Provider.Canon() {
			delete(l.locks, other)
		}
	}
	l.locks[lock.Provider] = lock
}

// Keep removes the locks of providers for which needed returns false.
func (l *Lockfile) Keep(needed func(addr.Provider) bool) {
	for p := range l.locks {
		if !needed(p) {
			delete(l.locks, p)
		}
	}
}

// Module returns the lock of a module package, and false if the file has none.
func (l *Lockfile) Module(source, constraints string) (lockfile.Module, bool) {
	lock, ok := l.modules[moduleName{sameHost(source), constraints}]
	return lock, ok
}

// Modules returns the locks of module packages, in no order.
func (l *Lockfile) Modules() []lockfile.Module { return slices.Collect(maps.Values(l.modules)) }

// SetModules replaces the locks of all module packages.
func (l *Lockfile) SetModules(all []lockfile.Module) {
	clear(l.modules)
	for _, one := range all {
		l.modules[nameOf(one)] = one
	}
}

// Bytes returns the content of the file that Write would write.
func (l *Lockfile) Bytes() []byte {
	return append(l.providers(), lockfile.FormatModules(l.Modules())...)
}

// providers returns the part of the file that Terraform and OpenTofu read.
func (l *Lockfile) providers() []byte { return lockfile.FormatProviders(l.Providers()) }

// Changed reports whether the locks differ from the file. Differences in formatting do not count.
func (l *Lockfile) Changed() bool { return !bytes.Equal(l.was, l.Bytes()) }

// ProvidersChanged reports whether the locks of providers differ from the file.
func (l *Lockfile) ProvidersChanged() bool { return !bytes.Equal(l.was[:l.ofWas], l.providers()) }

// SelectionsChanged reports whether the locked providers or their versions differ from the file. Additional checksums
// of the same versions do not count.
func (l *Lockfile) SelectionsChanged() bool { return !maps.Equal(l.found, l.selections()) }

// selections returns the locked version of each provider.
func (l *Lockfile) selections() map[addr.Provider]string {
	out := map[addr.Provider]string{}
	for p, lock := range l.locks {
		out[p] = lock.Version
	}
	return out
}

// IsNew reports whether the file did not exist.
func (l *Lockfile) IsNew() bool { return l.isNew }

// Write saves the file atomically if anything changed.
func (l *Lockfile) Write() error {
	if !l.Changed() {
		return nil
	}
	return replace(l.path, l.Bytes())
}

// Providers returns the locks of providers, sorted.
func (l *Lockfile) Providers() []lockfile.Provider {
	var out []lockfile.Provider
	for _, one := range l.locks {
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b lockfile.Provider) int { return a.Provider.Compare(b.Provider) })
	return out
}

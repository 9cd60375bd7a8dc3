package fetch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/lethe-iac/lethe/internal/config"
)

// Link installs providers that are not, of those that the lock file selects with checksums, from what this machine has:
// the user's store, the plugin cache, and the directories that are mirrors. It asks no server, and changes no lock
// file. It gives those that it installed; what it could not install is init's to do.
func (p *Providers) Link(needs []Need, l *Lockfile) []config.Lock {
	var done []config.Lock
	for _, n := range needs {
		lock, ok := l.Get(n.Provider)
		if _, over := p.override(n.Provider); over || !ok || len(lock.Hashes) == 0 || p.Fits(n, l) != nil {
			continue
		}
		if _, _, err := p.Find(n.Provider, l); err == nil {
			continue
		}
		if p.first(p.cached(lock), lock) || p.first(p.mirrored(lock), lock) {
			done = append(done, lock)
		}
	}
	return done
}

// first installs the first of some packages of this machine that is the locked one, and reports whether any is.
func (p *Providers) first(all []parcel, lock config.Lock) bool {
	return slices.ContainsFunc(all, func(pkg parcel) bool { return p.fromMachine(pkg, lock) == nil })
}

// cached lists the packages of the store and of the plugin cache that may be the locked one.
func (p *Providers) cached(lock config.Lock) []parcel {
	var out []parcel
	if s := p.store(); s.dir != "" {
		for _, sum := range sums(lock) {
			if h1 := s.find(sum); h1 != "" {
				out = append(out, parcel{dir: s.of(sum), h1: h1})
			}
		}
	}
	if p.CacheDir != "" {
		out = append(out, parcel{dir: packageDir(p.CacheDir, lock.Provider, lock.Version)})
	}
	return out
}

// mirrored lists the packages that directories, which are mirrors, have of the locked version.
func (p *Providers) mirrored(lock config.Lock) []parcel {
	var out []parcel
	v, err := versions.ParseVersion(lock.Version)
	methods, err1 := p.methods()
	if err != nil || err1 != nil {
		return out
	}
	for _, m := range methods {
		dir, is := m.source.(mirror)
		if !is || !m.takes(lock.Provider) {
			continue
		}
		all, _, _ := dir.list(context.Background(), lock.Provider)
		for _, f := range all {
			if f.version.Same(v) && f.unfitOn(Platform()) == "" {
				pkg, _ := f.get(context.Background(), Platform()) // of a directory: without error
				out = append(out, pkg)
			}
		}
	}
	return out
}

// fromMachine puts a package into place if it is the locked one. What is in the store is there by the checksum that the
// lock file has.
func (p *Providers) fromMachine(pkg parcel, lock config.Lock) error {
	if pkg.h1 == "" {
		hash, path := hashDir, pkg.dir
		if pkg.zip != "" {
			hash, path = hashArchive, pkg.zip
		}
		h1, err := hash(path)
		if err = errors.Join(err, held(lock.Provider, lock, h1)); err != nil {
			return err
		}
	} else if _, ok := executable(pkg.dir, lock.Provider); !ok {
		return fs.ErrNotExist // of another platform
	}
	if err := os.MkdirAll(p.DataDir, 0o755); err != nil {
		return err
	}
	return locked(p.DataDir, "lethe-packages.lock", func() error {
		_, err := p.place(pkg, p.DataDir, packageDir(p.base(), lock.Provider, lock.Version))
		return err
	})
}

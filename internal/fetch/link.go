package fetch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/lethe-iac/lethe/internal/config/lockfile"

	"github.com/apparentlymart/go-versions/versions"
)

// Link installs missing providers that the lock file selects with checksums, from packages on this machine: from the
// user's store, the plugin cache and mirror directories. It contacts no server, and does not change the lock file. It
// returns the providers that it installed. Init must install the others.
func (p *Providers) Link(needs []Need, l *Lockfile) []lockfile.Provider {
	var done []lockfile.Provider
	for _, n := range needs {
		lock, ok := l.Get(n.Provider)
		if _, overridden := p.Sources.Override(n.Provider); overridden || !ok || len(lock.Hashes) == 0 || p.Fits(n, l) != nil {
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

// first installs the first package in all that matches the lock. It returns false if no package matches.
func (p *Providers) first(all []parcel, lock lockfile.Provider) bool {
	return slices.ContainsFunc(all, func(pkg parcel) bool { return p.fromMachine(pkg, lock) == nil })
}

// cached returns the packages of the user's store and of the plugin cache that may match the lock.
func (p *Providers) cached(lock lockfile.Provider) []parcel {
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

// mirrored returns the packages of the locked version in mirror directories.
func (p *Providers) mirrored(lock lockfile.Provider) []parcel {
	var out []parcel
	v, err := versions.ParseVersion(lock.Version)
	methods, err1 := p.Sources.methods()
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
				pkg, _ := f.get(context.Background(), Platform()) // mirror directories return no error here
				out = append(out, pkg)
			}
		}
	}
	return out
}

// fromMachine installs a package from a directory or an archive on this machine, if its hash is in the lock file. It
// does not hash a package of the store, because the name of its directory is a checksum in the lock file.
func (p *Providers) fromMachine(pkg parcel, lock lockfile.Provider) error {
	if pkg.h1 == "" {
		hash, path := hashDir, pkg.dir
		if pkg.zip != "" {
			hash, path = hashArchive, pkg.zip
		}
		h1, err := hash(path)
		if err = errors.Join(err, checkLocked(lock.Provider, lock, h1)); err != nil {
			return err
		}
	} else if _, ok := executable(pkg.dir, lock.Provider); !ok {
		return fs.ErrNotExist // the package is for another platform
	}
	if err := os.MkdirAll(p.DataDir, 0o755); err != nil {
		return err
	}
	return locked(p.DataDir, "lethe-packages.lock", func() error {
		_, err := p.place(pkg, p.DataDir, packageDir(p.base(), lock.Provider, lock.Version))
		return err
	})
}

package fetch

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/lethe-iac/lethe/internal/config/lockfile"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// ErrNotSelected means that the lock file selects no version of a provider.
var ErrNotSelected = errors.New("no version is selected")

// Find returns the program of an installed provider in the version that the lock file selects, and the version. For a
// development override, the version is "". If the lock file selects no version, the error wraps ErrNotSelected.
func (p *Providers) Find(a addr.Provider, l *Lockfile) (path, version string, err error) {
	if dir, ok := p.Sources.Override(a); ok {
		if path, ok := executable(dir, a); ok {
			return path, "", nil
		}
		return "", "", fmt.Errorf("there is no terraform-provider-%s in the directory %s that dev_overrides names for it", a.Type, dir)
	}
	lock, ok := l.Get(a)
	if !ok {
		return "", "", fmt.Errorf("there is no package for %s in the dependency lock file: %w", a, ErrNotSelected)
	}
	for _, host := range hosts(a.Host) {
		at := a
		at.Host = host
		if path, ok := executable(packageDir(p.base(), at, lock.Version), a); ok {
			return path, lock.Version, nil
		}
	}
	cache := filepath.Join(filepath.Base(p.DataDir), filepath.Base(p.base())) // the path of the cache, because tools search for this text in the message
	return "", "", fmt.Errorf("there is no package for %s %s cached in %s", a, lock.Version, cache)
}

// present reports whether the locked package is installed, with a hash in the lock file. If so, present sends a note
// for the user.
func (p *Providers) present(a addr.Provider, lock lockfile.Provider) bool {
	if !p.intact(packageDir(p.base(), a, lock.Version), a, lock) {
		return false
	}
	name := a.ForDisplay() + " v" + lock.Version
	p.Progress.note("- Using previously-installed "+name, name+": Using previously-installed provider version")
	return true
}

// intact reports whether a directory contains the locked package, unchanged.
func (p *Providers) intact(dir string, a addr.Provider, lock lockfile.Provider) bool {
	if _, ok := executable(dir, a); !ok {
		return false
	}
	_, err := p.verify(dir, lock)
	return err == nil
}

// verify compares an installed package with the hashes in the lock file, and returns its own hash. The hash is "" if
// the lock file has no hashes. If the lock file has only the checksum of the archive, the package is accepted if a
// record shows that it was unpacked from that archive.
func (p *Providers) verify(dir string, lock lockfile.Provider) (string, error) {
	if len(lock.Hashes) == 0 {
		return "", nil
	}
	got := p.store().linked(dir, lock)
	if got == "" {
		var err error
		if got, err = p.hash(dir); err != nil {
			return "", err
		}
	}
	if !slices.Contains(lock.Hashes, got) && !p.fromArchive(dir, got, lock) {
		return "", fmt.Errorf("the package in %s does not match any of the checksums recorded in the dependency lock file", dir)
	}
	return got, nil
}

// fromArchive reports whether a package was unpacked from an archive whose checksum is in the lock file.
func (p *Providers) fromArchive(dir, hash string, lock lockfile.Provider) bool {
	if s := p.store(); s.dir != "" && slices.ContainsFunc(sums(lock), func(sum string) bool { return s.known(s.of(sum)).Hash == hash }) {
		return true
	}
	was := p.record().read()[dir]
	return was.Hash == hash && slices.Contains(lock.Hashes, was.Archive)
}

// Fits returns an error if the lock file selects a version that the configuration does not allow.
func (p *Providers) Fits(n Need, l *Lockfile) error {
	lock, locked := l.Get(n.Provider)
	if _, overridden := p.Sources.Override(n.Provider); overridden || !locked {
		return nil
	}
	allowed, text, ok := allowed(n, &diag.Bag{}) // ignore the diagnostics, because init reports an invalid constraint
	v, err := versions.ParseVersion(lock.Version)
	if err != nil || ok && !allowed.Has(v) {
		return fmt.Errorf("locked version selection %s doesn't match the updated version constraints %q", lock.Version, text)
	}
	return nil
}

// Verify compares the package of an installed provider with the lock file. It returns an error if the package is
// missing or does not match, and nil for development overrides, for built-in providers, and if the lock file has no
// hashes.
func (p *Providers) Verify(a addr.Provider, l *Lockfile) error {
	if _, overridden := p.Sources.Override(a); overridden || a.IsBuiltin() {
		return nil
	}
	path, _, err := p.Find(a, l)
	if err != nil {
		return err
	}
	lock, _ := l.Get(a)
	was := stamp(path)
	hash, err := p.verify(filepath.Dir(path), lock)
	p.verified.Store(a.Canon(), verdict{hash, was})
	return err
}

// verdict is the result of Verify for a package.
type verdict struct {
	hash    string   // the "h1:" hash; "" if the package was not accepted, or the lock file has no hashes
	program identity // identity of the program before the package was read
}

// Program returns the path of the program of an installed provider, like Find, for callers that run the program. If
// Verify was called before, the program must be the file that Verify accepted. If the file has changed since then, for
// example during a command that runs for hours, Program verifies the package again. Without a call of Verify, Program
// verifies nothing.
func (p *Providers) Program(a addr.Provider, l *Lockfile) (string, error) {
	path, _, err := p.Find(a, l)
	if v, ok := p.verified.Load(a.Canon()); err == nil && ok && v.(verdict).program != stamp(path) {
		err = p.Verify(a, l)
	}
	return path, err
}

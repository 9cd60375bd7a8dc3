package fetch

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// ErrNotSelected says that the lock file has no selection for a provider.
var ErrNotSelected = errors.New("no version is selected")

// Find gives the program of an installed provider, as the lock file says.
func (p *Providers) Find(a addr.Provider, l *Lockfile) (path, version string, err error) {
	if dir, ok := p.override(a); ok {
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
	cache := filepath.Join(filepath.Base(p.DataDir), filepath.Base(p.base())) // as clients look for it
	return "", "", fmt.Errorf("there is no package for %s %s cached in %s", a, lock.Version, cache)
}

// present reports whether the locked package is installed already, and says so.
func (p *Providers) present(a addr.Provider, lock config.Lock) bool {
	if !p.intact(packageDir(p.base(), a, lock.Version), a, lock) {
		return false
	}
	name := a.ForDisplay() + " v" + lock.Version
	p.say("- Using previously-installed "+name, name+": Using previously-installed provider version")
	return true
}

// intact reports whether a directory holds the locked package, unchanged.
func (p *Providers) intact(dir string, a addr.Provider, lock config.Lock) bool {
	if _, ok := executable(dir, a); !ok {
		return false
	}
	_, err := p.verify(dir, lock)
	return err == nil
}

// verify compares an installed package with the hashes in the lock file, and returns its own hash. The hash is "" if
// the lock file has no hashes. A package of which the lock file has only the checksum of the archive is accepted if it
// is known which archive it was unpacked from.
func (p *Providers) verify(dir string, lock config.Lock) (string, error) {
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

// fromArchive reports whether a package is what was unpacked from an archive whose checksum is in the lock file.
func (p *Providers) fromArchive(dir, hash string, lock config.Lock) bool {
	if s := p.store(); s.dir != "" && slices.ContainsFunc(sums(lock), func(sum string) bool { return s.known(s.of(sum)).Hash == hash }) {
		return true
	}
	was := p.recorded()[dir]
	return was.Hash == hash && slices.Contains(lock.Hashes, was.Archive)
}

// Fits checks that the version in the lock file, if there is one, is one that the configuration allows.
func (p *Providers) Fits(n Need, l *Lockfile) error {
	lock, locked := l.Get(n.Provider)
	if _, over := p.override(n.Provider); over || !locked {
		return nil
	}
	allowed, text, ok := p.allowed(n, &diag.Bag{}) // a broken constraint is init's to report
	v, err := versions.ParseVersion(lock.Version)
	if err != nil || ok && !allowed.Has(v) {
		return fmt.Errorf("locked version selection %s doesn't match the updated version constraints %q", lock.Version, text)
	}
	return nil
}

// Verify checks an installed provider's package against the lock file.
func (p *Providers) Verify(a addr.Provider, l *Lockfile) error {
	if _, over := p.override(a); over || a.IsBuiltin() {
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

// verdict is a package that Verify found right.
type verdict struct {
	hash    string   // "" where the lock file has none of its kind
	program identity // its file before it was read
}

// Program is Find for who runs the program: it is the one that Verify found right. A command may run for hours; where
// the file is another one by now, the package is verified anew.
func (p *Providers) Program(a addr.Provider, l *Lockfile) (string, error) {
	path, _, err := p.Find(a, l)
	if v, ok := p.verified.Load(a.Canon()); err == nil && ok && v.(verdict).program != stamp(path) {
		err = p.Verify(a, l)
	}
	return path, err
}

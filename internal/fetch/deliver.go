package fetch

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/archive"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/registry"
)

// delivered is a package that was put into place.
type delivered struct {
	hashes []string // for the lock file
	signed bool     // those of all platforms, as the registry signed them
	how    string   // how far it is known to be the developer's, as users are told
}

// fetch puts a package into place, through the caches if there are any.
func (p *Providers) fetch(ctx context.Context, w *wanted) bool {
	a := w.lock.Provider
	dir := packageDir(p.base(), a, w.lock.Version)
	if len(w.lock.Hashes) > 0 && p.present(a, w.lock) {
		return true // an upgrade that changes nothing
	}
	p.note("- Installing %s v%s...", a.ForDisplay(), w.lock.Version)
	err := os.MkdirAll(p.DataDir, 0o755)
	var pkg *registry.Package
	if err == nil && w.best.remote != nil {
		pkg, err = w.best.remote(ctx)
	}
	if err == nil {
		w.done, err = p.deliver(ctx, w.best, pkg, a, w.lock, dir)
	}
	if err != nil {
		w.bag.Add(diag.Errorf("Failed to install provider", "Error while installing %s v%s: %s.", a.ForDisplay(), w.lock.Version, err))
		return false
	}
	p.note("- Installed %s v%s (%s)", a.ForDisplay(), w.lock.Version, w.done.how)
	return true
}

// deliver puts the package where it belongs. Its hashes must be among those locked, if any are.
func (p *Providers) deliver(ctx context.Context, f found, pkg *registry.Package, a addr.Provider, lock config.Lock, dir string) (delivered, error) {
	d := delivered{how: "unauthenticated"}
	if pkg != nil {
		d.hashes = told(pkg)
		if d.signed = pkg.Key != ""; d.signed {
			d.how = "signed, key ID " + pkg.Key
		}
	}
	var h1 string
	err := p.obtain(ctx, f, pkg, a, lock, func(f found) error {
		h1 = f.h1
		if f.zip != "" && pkg == nil { // of what was downloaded it is known
			zh, err := hashZip(f.zip)
			if err != nil {
				return err
			}
			d.hashes = append(d.hashes, zh)
		}
		return locked(p.DataDir, "lethe-packages.lock", func() error { return place(f, dir) })
	})
	if err != nil {
		return d, err
	}
	if h1 == "" {
		if h1, err = hashDir(dir); err != nil {
			return d, err
		}
	}
	own := append([]string{h1}, d.hashes...)
	if pkg != nil {
		own = []string{h1, "zh:" + pkg.Sum} // those of other platforms prove nothing
	}
	if len(lock.Hashes) > 0 && !slices.ContainsFunc(own, func(h string) bool { return slices.Contains(lock.Hashes, h) }) {
		return d, errors.Join(fmt.Errorf("the package for %s %s does not match any of the checksums recorded in the dependency lock file. It is another one than was installed first, or all of these are of packages for other platforms. If you trust this package, remove the hashes of the provider from %s and run \"lethe init\" again", a, lock.Version, LockName), os.RemoveAll(dir))
	}
	d.hashes = append(d.hashes, h1)
	return d, nil
}

// told are the hashes of a package that a lock file may hold: of all platforms only where they are signed.
func told(pkg *registry.Package) []string {
	if pkg.Key != "" {
		return pkg.Hashes
	}
	if pkg.Sum == "" {
		return nil
	}
	return []string{"zh:" + pkg.Sum}
}

// obtain gets a package onto the disk and hands it on, from the plugin cache where there is one, which it fills.
func (p *Providers) obtain(ctx context.Context, f found, pkg *registry.Package, a addr.Provider, lock config.Lock, use func(found) error) error {
	if p.CacheDir == "" {
		return p.onDisk(ctx, f, pkg, use)
	}
	cached := packageDir(p.CacheDir, a, lock.Version)
	// What is in the cache is taken as it is only where something says that it is what is wanted: a lock file, or
	// a mirror of this machine.
	there := func() bool { return intact(cached, a, lock) && (pkg == nil || hasH1(lock)) }
	if !there() {
		err := locked(p.CacheDir, ".lock", func() error {
			if there() { // by another that was first
				return nil
			}
			return p.onDisk(ctx, f, pkg, func(f found) error {
				if same(f, cached) {
					return nil // others may be using it
				}
				return place(f, cached)
			})
		})
		if err != nil {
			return err
		}
	}
	return use(found{version: f.version, dir: cached})
}

// same reports whether a directory holds what is in an archive.
func same(f found, dir string) bool {
	if f.zip == "" {
		return false
	}
	want, err := hashArchive(f.zip)
	if err != nil {
		return false
	}
	got, err := hashDir(dir)
	return err == nil && got == want
}

func hasH1(lock config.Lock) bool {
	return slices.ContainsFunc(lock.Hashes, func(h string) bool { return strings.HasPrefix(h, "h1:") })
}

// onDisk hands on a package that is on the disk, or downloads it: into the store, where there is one and the
// package is known by its checksum, and to a temporary file otherwise.
func (p *Providers) onDisk(ctx context.Context, f found, pkg *registry.Package, use func(found) error) error {
	switch {
	case pkg == nil:
		return use(f)
	case p.StoreDir != "" && pkg.Sum != "":
		dir, h1, err := p.stored(ctx, pkg)
		if err != nil {
			return err
		}
		return use(found{version: f.version, dir: dir, h1: h1})
	}
	return p.download(ctx, pkg, p.DataDir, func(zip string) error { return use(found{version: f.version, zip: zip}) })
}

// stored makes sure that a package is in the store, unpacked and as it was downloaded, and gives its directory and its "h1:" hash.
func (p *Providers) stored(ctx context.Context, pkg *registry.Package) (dir, h1 string, err error) {
	dir = filepath.Join(p.StoreDir, pkg.Sum)
	if h1 = unchanged(dir); h1 != "" {
		return dir, h1, nil
	}
	if err := os.MkdirAll(p.StoreDir, 0o700); err != nil {
		return "", "", err
	}
	err = locked(p.StoreDir, pkg.Sum+".lock", func() error {
		if h1 = unchanged(dir); h1 != "" { // by another that was first
			return nil
		}
		return p.download(ctx, pkg, p.StoreDir, func(zip string) error {
			if err := unpack(zip, dir); err != nil {
				return err
			}
			var err error
			if h1, err = hashDir(dir); err != nil {
				return err
			}
			return os.WriteFile(dir+".h1", []byte(h1), 0o600)
		})
	})
	return dir, h1, err
}

// unchanged gives the "h1:" hash of a directory of the store if it has what was unpacked into it, and "" otherwise.
func unchanged(dir string) string {
	was, err := os.ReadFile(dir + ".h1")
	if err != nil {
		return ""
	}
	if is, err := hashDir(dir); err != nil || is != string(was) {
		return ""
	}
	return string(was)
}

// download gets a package into a temporary file, which is gone afterwards.
func (p *Providers) download(ctx context.Context, pkg *registry.Package, dir string, use func(zip string) error) error {
	f, err := os.CreateTemp(dir, ".download-*.zip")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	got, err := p.Registry.Client.Save(ctx, pkg.URL, f, maxPackage, nil)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if sum := hex.EncodeToString(got.Sum[:]); pkg.Sum != "" && sum != pkg.Sum {
		return fmt.Errorf("the archive has the SHA-256 checksum %s, and %s is what was promised", sum, pkg.Sum)
	}
	return use(f.Name())
}

// unpack extracts an archive of plain files.
func unpack(zip, dir string) error {
	return archive.Unpack(zip, dir, archive.Options{Bytes: maxPackage, Files: maxFiles})
}

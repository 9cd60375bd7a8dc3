package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/event"
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
	var pkg parcel
	if err == nil {
		pkg, err = w.best.get(ctx, Platform())
		pkg.name = a.ForDisplay() + " " + w.lock.Version
	}
	if err == nil {
		w.done, err = p.deliver(ctx, pkg, a, w.lock, dir)
	}
	if err != nil {
		w.bag.Add(diag.Errorf("Failed to install provider", "Error while installing %s v%s: %s.", a.ForDisplay(), w.lock.Version, err))
		return false
	}
	p.note("- Installed %s v%s (%s)", a.ForDisplay(), w.lock.Version, w.done.how)
	return true
}

// deliver puts the package where it belongs. Its hashes must be among those locked, if any are.
func (p *Providers) deliver(ctx context.Context, pkg parcel, a addr.Provider, lock config.Lock, dir string) (delivered, error) {
	d := promised(pkg.remote)
	var h1 string
	err := p.obtain(ctx, pkg, a, lock, func(at parcel) error {
		if at.zip != "" && pkg.remote == nil { // of what was downloaded it is known
			zh, err := hashZip(at.zip)
			if err != nil {
				return err
			}
			d.hashes = append(d.hashes, zh)
		}
		return locked(p.DataDir, "lethe-packages.lock", func() (err error) {
			h1, err = p.place(at, p.base(), dir)
			return err
		})
	})
	if err != nil {
		return d, err
	}
	if h1 == "" {
		if h1, err = p.hash(dir); err != nil {
			return d, errors.Join(err, os.RemoveAll(dir))
		}
	}
	own := append([]string{h1}, d.hashes...)
	if pkg.remote != nil {
		own = []string{h1, "zh:" + pkg.remote.Sum} // those of other platforms prove nothing
	}
	if err := held(a, lock, own...); err != nil {
		return d, errors.Join(err, os.RemoveAll(dir))
	}
	d.hashes = append(d.hashes, h1)
	return d, nil
}

// held refuses a package none of whose hashes is locked, where any is.
func held(a addr.Provider, lock config.Lock, own ...string) error {
	if len(lock.Hashes) == 0 || slices.ContainsFunc(own, func(h string) bool { return slices.Contains(lock.Hashes, h) }) {
		return nil
	}
	return fmt.Errorf("the package for %s %s does not match any of the checksums recorded in the dependency lock file. It is another one than was installed first, or all of these are of packages for other platforms. If you trust this package, remove the hashes of the provider from %s and run \"lethe init\" again", a, lock.Version, LockName)
}

// promised is what a server says of a package: the hashes that a lock file may hold, of all platforms only where
// they are signed, and by whom.
func promised(pkg *registry.Package) delivered {
	switch {
	case pkg == nil || pkg.Sum == "" && pkg.Key == "":
		return delivered{how: "unauthenticated"}
	case pkg.Key == "":
		return delivered{how: "unauthenticated", hashes: []string{"zh:" + pkg.Sum}}
	}
	return delivered{how: "signed, key ID " + pkg.Key, hashes: pkg.Hashes, signed: true}
}

// obtain gets a package onto the disk and hands it on, from the plugin cache where there is one, which it fills.
func (p *Providers) obtain(ctx context.Context, pkg parcel, a addr.Provider, lock config.Lock, use func(parcel) error) error {
	if p.CacheDir == "" {
		return p.onDisk(ctx, pkg, use)
	}
	cached := packageDir(p.CacheDir, a, lock.Version)
	// What is in the cache is taken as it is only where something says that it is what is wanted: a lock file, or
	// a mirror of this machine.
	there := func() bool { return p.intact(cached, a, lock) && (pkg.remote == nil || hasH1(lock)) }
	if !there() {
		name := strings.NewReplacer("/", "-", ":", "-").Replace("." + a.String() + "-" + lock.Version + ".lock")
		err := lockedIn(ctx, p.CacheDir, name, func() error {
			if there() { // by another that was first
				return nil
			}
			return p.onDisk(ctx, pkg, func(at parcel) error {
				if p.same(at, cached) {
					return nil // others may be using it
				}
				_, err := p.place(at, p.CacheDir, cached)
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	return use(parcel{dir: cached})
}

// same reports whether a directory holds what a package has.
func (p *Providers) same(at parcel, dir string) bool {
	want := at.h1
	if at.zip != "" {
		want, _ = hashArchive(at.zip) // one that cannot be read is not the same
	}
	got, err := p.hash(dir)
	return err == nil && got == want
}

func hasH1(lock config.Lock) bool {
	return slices.ContainsFunc(lock.Hashes, func(h string) bool { return strings.HasPrefix(h, "h1:") })
}

// onDisk hands on a package that is on the disk, or downloads it: into the store, where there is one and the
// package is known by its checksum, and to a temporary file otherwise.
func (p *Providers) onDisk(ctx context.Context, pkg parcel, use func(parcel) error) error {
	switch {
	case pkg.remote == nil:
		return use(pkg)
	case p.StoreDir != "" && pkg.remote.Sum != "":
		dir, h1, err := p.stored(ctx, pkg)
		if err != nil {
			return err
		}
		return use(parcel{dir: dir, h1: h1})
	}
	return p.download(ctx, pkg, p.DataDir, func(zip string) error { return use(parcel{zip: zip}) })
}

// download gets a package into a temporary file in dir, which is gone afterwards.
func (p *Providers) download(ctx context.Context, pkg parcel, dir string, use func(zip string) error) error {
	return temporary(dir, pkg.remote.Sum, func(f *os.File) (string, error) { return p.save(ctx, pkg, download.ToFile(f)) }, use)
}

// save downloads a package, and gives its SHA-256.
func (p *Providers) save(ctx context.Context, pkg parcel, to download.Target) (string, error) {
	moved, ended := p.moves(pkg.name)
	defer ended()
	if pkg.remote.Save != nil {
		return hashed(ctx, pkg.remote.Save, counted{to, pkg.remote.Size, moved, new(int64)}, maxPackage)
	}
	got, err := p.Registry.Client.Save(ctx, pkg.remote.URL, to, maxPackage, moved)
	return hex.EncodeToString(got.Sum[:]), err
}

// counted says how much was written.
type counted struct {
	io.Writer
	all   int64
	moved func(done, all int64)
	done  *int64
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	*c.done += int64(n)
	c.moved(*c.done, c.all)
	return n, err
}

// moves tells of a download, not more often than a screen can show.
func (p *Providers) moves(name string) (moved func(done, all int64), ended func()) {
	tell := func(t event.Transfer) {
		if p.Moved != nil && name != "" {
			p.Moved(t)
		}
	}
	var last time.Time
	tell(event.Transfer{Name: name})
	return func(done, all int64) {
		if now := time.Now(); now.Sub(last) > 100*time.Millisecond {
			last = now
			tell(event.Transfer{Name: name, Done: done, All: all})
		}
	}, func() { tell(event.Transfer{Name: name, Ended: true}) }
}

// temporary lets save write a temporary file in dir and give its SHA-256 in hexadecimal, holds that against what was
// promised, if anything was, and hands on the file, which is gone afterwards.
func temporary(dir, promised string, save func(*os.File) (string, error), use func(path string) error) error {
	f, err := os.CreateTemp(dir, ".download-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	sum, err := save(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := checkSum(promised, sum); err != nil {
		return err
	}
	return use(f.Name())
}

// byURL saves what an address has, and gives its SHA-256.
func byURL(ctx context.Context, c *download.Client, u *url.URL, f *os.File, limit int64) (string, error) {
	got, err := c.Save(ctx, u, download.ToFile(f), limit, nil)
	return hex.EncodeToString(got.Sum[:]), err
}

// hashed saves what another function writes, and gives its SHA-256.
func hashed(ctx context.Context, save func(context.Context, io.Writer, int64) error, to io.Writer, limit int64) (string, error) {
	h := sha256.New()
	err := save(ctx, io.MultiWriter(to, h), limit)
	return hex.EncodeToString(h.Sum(nil)), err
}

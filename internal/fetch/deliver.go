package fetch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/archive"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/registry"
	"github.com/lethe-iac/lethe/internal/state/disk"
)

// delivered is a package that was put into place.
type delivered struct {
	hashes []string // for the lock file
	whole  bool     // those of all platforms, as the registry signed them, or a mirror that is trusted says
	how    string   // how far it is known to be the developer's, as users are told
}

// wanted is a provider that is to be installed.
type wanted struct {
	Need
	platforms []string    // that packages are wanted for
	lock      config.Lock // what is recorded, with the version and the host
	locked    bool        // a version is selected already
	only      bool        // and no other is to be installed
	allowed   versions.Set
	text      string // the constraints
	bag       diag.Bag
	best      found
	done      delivered
	ok        bool
}

// unfit says why a version is of no use; "": it can be used.
func (w *wanted) unfit(f found) string {
	for _, platform := range w.platforms {
		if why := f.unfitOn(platform); why != "" {
			return why
		}
	}
	return ""
}

func (w *wanted) fail(format string, args ...any) {
	w.bag.Add(diag.Errorf("Failed to query available provider packages", "Could not retrieve the list of available versions for provider %s: %s.", w.Provider.ForDisplay(), fmt.Sprintf(format, args...)))
}

// fetch puts a package into place, through the caches if there are any.
func (p *Providers) fetch(ctx context.Context, w *wanted) bool {
	a := w.lock.Provider
	dir := packageDir(p.base(), a, w.lock.Version)
	if len(w.lock.Hashes) > 0 && p.present(a, w.lock) {
		return true // an upgrade that changes nothing
	}
	name := a.ForDisplay() + " v" + w.lock.Version
	p.say("- Installing "+name+"...", "Installing provider version: "+name+"...")
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
		w.bag.Add(diag.Errorf("Failed to install provider", "Error while installing %s: %s.", name, err))
		return false
	}
	name += " (" + w.done.how + ")"
	p.say("- Installed "+name, "Installed provider version: "+name)
	return true
}

// deliver puts the package where it belongs. Its hashes must be among those locked, if any are.
func (p *Providers) deliver(ctx context.Context, pkg parcel, a addr.Provider, lock config.Lock, dir string) (delivered, error) {
	d := promised(pkg.remote)
	var h1, archived string
	err := p.obtain(ctx, pkg, a, lock, func(at parcel) error {
		if zip := cmp.Or(at.zip, at.archive); zip != "" && pkg.remote == nil { // the hash of a download is known already
			zh, err := hashZip(zip)
			if err != nil {
				return err
			}
			d.hashes, archived = append(d.hashes, zh), zh
		}
		return locked(p.DataDir, "lethe-packages.lock", func() (err error) {
			h1, err = p.place(at, p.DataDir, dir)
			return err
		})
	})
	if err != nil {
		return d, err
	}
	if _, ok := executable(dir, a); !ok {
		return d, errors.Join(fmt.Errorf("the package has no program whose name begins with terraform-provider-%s. Whoever made it has to mend it", a.Type), os.RemoveAll(dir))
	}
	if h1 == "" {
		if h1, err = p.hash(dir); err != nil {
			return d, errors.Join(err, os.RemoveAll(dir))
		}
	}
	own := append([]string{h1}, d.hashes...)
	if pkg.remote != nil {
		archived = "zh:" + pkg.remote.Sum
		own = []string{h1, archived} // those of other platforms prove nothing
	}
	if err := held(a, lock, own...); err != nil {
		return d, errors.Join(err, os.RemoveAll(dir))
	}
	if len(lock.Hashes) > 0 && !slices.Contains(lock.Hashes, h1) {
		p.unpackedFrom(dir, h1, archived)
	}
	d.hashes = append(d.hashes, h1)
	return d, nil
}

// stored makes sure that a package is in the store, unpacked and as it was downloaded, and gives its directory and its
// "h1:" hash.
func (p *Providers) stored(ctx context.Context, pkg parcel) (dir, h1 string, err error) {
	s, sum := p.store(), pkg.remote.Sum
	dir = s.of(sum)
	if h1 = s.find(sum); h1 != "" {
		return dir, h1, nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return "", "", err
	}
	err = lockedIn(ctx, s.dir, sum+".lock", func() error {
		if h1 = s.find(sum); h1 != "" { // by another that was first
			return nil
		}
		if h1, err = p.unpacked(ctx, pkg, dir); err == nil {
			s.keep(dir, h1)
		}
		return err
	})
	return dir, h1, err
}

// unpacked downloads a package and unpacks it into dir, while it arrives where that is possible, and gives its "h1:"
// hash. Nothing is in dir before all of it is the package that was promised.
func (p *Providers) unpacked(ctx context.Context, pkg parcel, dir string) (string, error) {
	o := archive.Options{Bytes: maxPackage, Files: maxFiles, Sums: archive.Sums{}}
	if err := archive.Sweep(dir); err != nil {
		return "", err
	}
	s, err := archive.NewStream(dir, o)
	if err != nil {
		return "", err
	}
	defer s.Close()
	sum, err := p.save(ctx, pkg, s)
	if err = cmp.Or(err, checkSum(pkg.remote.Sum, sum)); err != nil {
		return "", err
	}
	err = s.Finish()
	if errors.Is(err, archive.ErrWhole) {
		err = p.download(ctx, pkg, p.StoreDir, func(zip string) error { return archive.Unpack(zip, dir, o) })
	}
	return hashSums(o.Sums), err
}

// place puts a package into dir, which is below base, anew: a link to an unpacked one, the contents
// of a packed one. It gives its "h1:" hash where that is known by then.
func (p *Providers) place(pkg parcel, base, dir string) (h1 string, err error) {
	if err := straight(base, dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	if pkg.zip != "" {
		o := archive.Options{Bytes: maxPackage, Files: maxFiles, Sums: archive.Sums{}}
		err := archive.Unpack(pkg.zip, dir, o)
		return hashSums(o.Sums), err
	}
	if pkg.h1 != "" {
		return pkg.h1, p.store().link(pkg.dir, dir)
	}
	real, err := filepath.Abs(pkg.dir)
	if err != nil {
		return "", err
	}
	if to, err := os.Readlink(dir); err == nil && to == real {
		return "", nil // others may be using it
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if os.Symlink(real, dir) == nil {
		return "", nil
	}
	return "", os.CopyFS(dir, os.DirFS(real)) // not every system and user may make links
}

// held refuses a package none of whose hashes is locked, where any is.
func held(a addr.Provider, lock config.Lock, own ...string) error {
	if len(lock.Hashes) == 0 || slices.ContainsFunc(own, func(h string) bool { return slices.Contains(lock.Hashes, h) }) {
		return nil
	}
	return fmt.Errorf("the package for %s %s does not match any of the checksums recorded in the dependency lock file. It is another one than was installed first, or all of these are of packages for other platforms. If you trust this package, remove the hashes of the provider from %s and run \"lethe init\" again", a, lock.Version, LockName)
}

// promised is what a server says of a package: the hashes that a lock file may hold, of all platforms only where
// they are signed, or the user trusts the server, and by whom.
func promised(pkg *registry.Package) delivered {
	switch {
	case pkg == nil || pkg.Sum == "" && pkg.Key == "" && !pkg.Trusted:
		return delivered{how: "unauthenticated"}
	case pkg.Trusted:
		return delivered{how: "unauthenticated", hashes: pkg.Hashes, whole: true}
	case pkg.Key == "":
		return delivered{how: "unauthenticated", hashes: []string{"zh:" + pkg.Sum}}
	}
	return delivered{how: "signed, key ID " + pkg.Key, hashes: pkg.Hashes, whole: true}
}

// obtain gets a package onto the disk and hands it on, from the plugin cache where there is one, which it fills.
func (p *Providers) obtain(ctx context.Context, pkg parcel, a addr.Provider, lock config.Lock, use func(parcel) error) error {
	if p.CacheDir == "" {
		return p.onDisk(ctx, pkg, use)
	}
	cached := packageDir(p.CacheDir, a, lock.Version)
	// The package in the cache is taken if the lock file has a checksum of it, or if it is the package of a directory
	// that is a mirror. Otherwise nothing says that it is the one that the source has.
	fits := func() bool { return len(lock.Hashes) > 0 && p.intact(cached, a, lock) }
	if fits() {
		return use(parcel{dir: cached})
	}
	if pkg.remote == nil && p.same(pkg, cached) {
		return use(parcel{dir: cached, archive: pkg.zip})
	}
	if err := os.MkdirAll(p.CacheDir, 0o755); err != nil {
		return fmt.Errorf("the plugin cache directory %s cannot be made: %w", p.CacheDir, disk.Reason(err))
	}
	name := strings.NewReplacer("/", "-", ":", "-").Replace("." + a.String() + "-" + lock.Version + ".lock")
	got := parcel{dir: cached, archive: pkg.zip}
	err := lockedIn(ctx, p.CacheDir, name, func() error {
		if fits() { // by another process that was first
			got.archive = ""
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
	return use(got)
}

// same reports whether a directory holds what a package has.
func (p *Providers) same(at parcel, dir string) bool {
	want := at.h1
	var err error
	switch {
	case at.zip != "":
		want, err = hashArchive(at.zip)
	case want == "":
		want, err = p.hash(at.dir)
	}
	if err != nil {
		return false
	}
	got, err := p.hash(dir)
	return err == nil && got == want
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
	return temporary(dir, pkg.remote.Sum, func(f *os.File) (string, error) { return p.save(ctx, pkg, download.ToFile(f)) }, func(zip string) error {
		if pkg.remote.Sum == "" && len(pkg.remote.Contents) > 0 {
			if h1, err := hashArchive(zip); err != nil || !slices.Contains(pkg.remote.Contents, h1) {
				return cmp.Or(err, fmt.Errorf("the package has the checksum %s, and that of what the server promised is %s", h1, strings.Join(pkg.remote.Contents, " or ")))
			}
		}
		return use(zip)
	})
}

// save downloads a package, and gives its SHA-256.
func (p *Providers) save(ctx context.Context, pkg parcel, to download.Target) (string, error) {
	moved, ended := p.moves(pkg.name)
	defer ended()
	if pkg.remote.Save != nil {
		return hashed(ctx, pkg.remote.Save, counted{to, pkg.remote.Size, moved, new(int64)}, maxPackage)
	}
	client := *p.Registry.Client
	client.Retries = p.Retries
	if pkg.retries != nil {
		client.Retries = *pkg.retries
	}
	got, err := client.Save(ctx, pkg.remote.URL, to, maxPackage, moved)
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

// checkSum holds an archive against the checksum in its address, "" or "sha256:HEX".
func checkSum(want, got string) error {
	want = strings.TrimPrefix(strings.ToLower(want), "sha256:")
	switch {
	case want == "" || want == got:
		return nil
	case len(want) != len(got) || strings.Contains(want, ":"):
		return fmt.Errorf("the checksum that is given for it is not a SHA-256, the only kind that is verified")
	}
	return fmt.Errorf("the archive has the SHA-256 checksum %s, and should have %s", got, want)
}

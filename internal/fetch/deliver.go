package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/config/lockfile"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/archive"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/registry"
)

// delivered is the result of installing or copying a package.
type delivered struct {
	hashes []string // the checksums that the lock file gets
	whole  bool     // hashes has the hashes of all platforms: signed by the registry, or from a trusted mirror
	how    string   // text for users about the authentication of the package
}

// wanted is a provider to install.
type wanted struct {
	Need
	platforms []string          // platforms to get packages for
	lock      lockfile.Provider // the entry of the lock file, or of the new version
	locked    bool              // the lock file has an entry for the provider
	only      bool              // only the locked version may be installed; false with -upgrade
	allowed   versions.Set      // the versions that the configuration or the lock file allows
	text      string            // the version constraints as text; "" if there are no constraints
	bag       diag.Bag          // the messages about the provider, which are reported in the order of the providers
	best      found             // the chosen version
	done      delivered         // the result of the installation or the copy
	ok        bool              // no error was reported so far
}

// unfit returns the reason why a version cannot be used on one of w.platforms, or "" if it can be used on all.
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

// fetch installs the chosen version of a provider, and sets w.done. It uses the caches on this machine if they are
// configured. It returns false if it reported an error.
func (p *Providers) fetch(ctx context.Context, w *wanted) bool {
	a := w.lock.Provider
	dir := packageDir(p.base(), a, w.lock.Version)
	if len(w.lock.Hashes) > 0 && p.present(a, w.lock) {
		return true // the upgrade has chosen the version that is installed
	}
	name := a.ForDisplay() + " v" + w.lock.Version
	p.Progress.note("- Installing "+name+"...", "Installing provider version: "+name+"...")
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
	p.Progress.note("- Installed "+name, "Installed provider version: "+name)
	return true
}

// deliver installs the package of a source in dir and returns its hashes for the lock file. If the lock file has hashes
// of the provider, one of them must be a hash of the package. If none is, or if the package has no program of the
// provider, deliver removes dir and returns an error.
func (p *Providers) deliver(ctx context.Context, pkg parcel, a addr.Provider, lock lockfile.Provider, dir string) (delivered, error) {
	d := promised(pkg.remote)
	var h1, archived string
	err := p.obtain(ctx, pkg, a, lock, func(at parcel) error {
		if zip := cmp.Or(at.zip, at.archive); zip != "" && pkg.remote == nil { // compute the "zh:" hash of a local archive; for a download, the server has sent it
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
		return d, errors.Join(fmt.Errorf("the package has no program whose name begins with terraform-provider-%s. Its publisher must correct it", a.Type), disk.OS.RemoveAll(dir))
	}
	if h1 == "" {
		if h1, err = p.hash(dir); err != nil {
			return d, errors.Join(err, disk.OS.RemoveAll(dir))
		}
	}
	own := append([]string{h1}, d.hashes...)
	if pkg.remote != nil {
		archived = "zh:" + pkg.remote.Sum
		own = []string{h1, archived} // only the hashes of this package: hashes of other platforms do not identify it
	}
	if err := checkLocked(a, lock, own...); err != nil {
		return d, errors.Join(err, disk.OS.RemoveAll(dir))
	}
	if len(lock.Hashes) > 0 && !slices.Contains(lock.Hashes, h1) {
		p.record().setArchive(dir, h1, archived)
	}
	d.hashes = append(d.hashes, h1)
	return d, nil
}

// stored downloads and unpacks a package into the store if the store does not contain it unchanged. It returns its
// directory and its "h1:" hash.
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
		if h1 = s.find(sum); h1 != "" { // another process has stored the package meanwhile
			return nil
		}
		if h1, err = p.unpacked(ctx, pkg, dir); err == nil {
			s.keep(dir, h1)
		}
		return err
	})
	return dir, h1, err
}

// unpacked downloads a package and unpacks it into dir, during the download if possible. It returns the "h1:" hash of
// the package. dir receives no content before the checksum of the whole package is verified.
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
	sum, err := p.downloader().save(ctx, pkg, s)
	if err = cmp.Or(err, checkSum(pkg.remote.Sum, sum)); err != nil {
		return "", err
	}
	err = s.Finish()
	if errors.Is(err, archive.ErrNotStreamable) {
		err = p.downloader().temporary(ctx, pkg, p.StoreDir, func(zip string) error { return archive.Unpack(zip, dir, o) })
	}
	return hashSums(o.Sums), err
}

// place installs a package in dir, which is below base, and replaces the previous content. If the package is a
// directory, place links it; an archive is unpacked. If dir already has the content, it stays, because other processes
// may be using it. place returns the "h1:" hash if it is known without reading the package again, otherwise "".
func (p *Providers) place(pkg parcel, base, dir string) (h1 string, err error) {
	if err := straight(base, dir); err != nil {
		return "", err
	}
	if info, err := os.Lstat(dir); err == nil && info.IsDir() && p.same(pkg, dir) {
		return "", nil
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
		return "", nil // the link is right already, and other processes may be using its target
	}
	if err := disk.OS.RemoveAll(dir); err != nil {
		return "", err
	}
	if disk.Symlink(real, dir) == nil {
		return "", nil
	}
	// Some systems do not permit links to some users, so copy the files.
	return "", fill(dir, func(tmp string) error { return os.CopyFS(tmp, os.DirFS(real)) })
}

// checkLocked returns an error if the lock file has hashes of the provider, but no hash of the installed package. The
// parameter own are the hashes of this package.
func checkLocked(a addr.Provider, lock lockfile.Provider, own ...string) error {
	if len(lock.Hashes) == 0 || slices.ContainsFunc(own, func(h string) bool { return slices.Contains(lock.Hashes, h) }) {
		return nil
	}
	return fmt.Errorf("the package for %s %s does not match any of the checksums recorded in the dependency lock file. Either it has changed, or the file has checksums only for other platforms. If you trust this package, remove the hashes of the provider from %s and run \"lethe init\" again", a, lock.Version, LockName)
}

// promised returns the hashes that a server's description of a package contains, for the lock file, and a text about
// the authentication. The hashes include other platforms only if they are signed or the user trusts the server. If pkg
// is nil, promised returns no hashes.
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

// obtain gets a package onto the disk and passes it to the function use. If a plugin cache is configured, obtain takes
// the package from the cache if possible, and otherwise adds it to the cache.
func (p *Providers) obtain(ctx context.Context, pkg parcel, a addr.Provider, lock lockfile.Provider, use func(parcel) error) error {
	if p.CacheDir == "" {
		return p.onDisk(ctx, pkg, use)
	}
	cached := packageDir(p.CacheDir, a, lock.Version)
	// The package in the cache is used if the lock file has its checksum, or if it is equal to the package of a mirror
	// directory. Otherwise nothing proves that it is equal to the package of the source.
	fits := func() bool { return len(lock.Hashes) > 0 && p.intact(cached, a, lock) }
	if fits() {
		return use(parcel{dir: cached})
	}
	if pkg.remote == nil && p.same(pkg, cached) {
		return use(parcel{dir: cached, archive: pkg.zip})
	}
	if err := os.MkdirAll(p.CacheDir, 0o755); err != nil {
		return fmt.Errorf("the plugin cache directory %s cannot be created: %w", p.CacheDir, disk.Reason(err))
	}
	name := strings.NewReplacer("/", "-", ":", "-").Replace("." + a.String() + "-" + lock.Version + ".lock")
	got := parcel{dir: cached, archive: pkg.zip}
	err := lockedIn(ctx, p.CacheDir, name, func() error {
		if fits() { // another process has stored the package meanwhile
			got.archive = ""
			return nil
		}
		return p.onDisk(ctx, pkg, func(at parcel) error {
			if p.same(at, cached) {
				return nil // other processes may be using the package, so keep it
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

// same reports whether a directory has the content of a package.
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

// onDisk calls the function use with a package that is on the disk. It downloads a remote package: into the store if
// the store is configured and the checksum is known, otherwise into a temporary file.
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
	return p.downloader().temporary(ctx, pkg, p.DataDir, func(zip string) error { return use(parcel{zip: zip}) })
}

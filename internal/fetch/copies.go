package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
)

// This file handles packages for other platforms: their checksums, and directories with copies of them.

// Copies selects packages to hash or copy without installing them.
type Copies struct {
	Needs     []Need
	Platforms []string // such as "linux_amd64"
}

// Sum adds the hashes of packages to the lock file in memory: for each provider in c.Needs, the packages for the
// platforms in c.Platforms. It downloads a package if necessary, but does not install it. It returns false if it
// reported an error.
func (p *Providers) Sum(ctx context.Context, c Copies, l *Lockfile, bag *diag.Bag) bool {
	return p.eachFound(ctx, c, l, bag, func(w *wanted) error {
		before := slices.Clone(w.lock.Hashes)
		for _, platform := range w.platforms {
			p.Progress.notef("- Fetching %s %s for %s...", w.Provider.ForDisplay(), w.lock.Version, platform)
			d, err := p.sum(ctx, w, platform)
			if err != nil {
				return fmt.Errorf("for %s: %w", platform, err)
			}
			p.Progress.notef("- Retrieved %s %s for %s (%s)", w.Provider.ForDisplay(), w.lock.Version, platform, d.how)
			state := "All checksums for this platform were already tracked in the lock file"
			switch {
			case !w.locked:
				state = "This was a new provider and the checksums for this platform are now tracked in the lock file"
			case slices.ContainsFunc(d.hashes, func(h string) bool { return !slices.Contains(before, h) }):
				state = "Additional checksums for this platform are now tracked in the lock file"
			}
			w.done.hashes, w.done.whole = append(w.done.hashes, d.hashes...), d.whole
			p.Progress.notef("- Obtained %s checksums for %s; %s", w.Provider.ForDisplay(), platform, state)
		}
		return nil
	}, func(w *wanted) { p.enter(w, l) })
}

// eachFound chooses a version of each provider in c.Needs. It calls at(w) for each provider w, several calls
// concurrently, and reports the errors. Afterwards it calls then(w) for each provider w without an error, one call
// after the other, in the order of c.Needs. It returns false if it reported an error.
func (p *Providers) eachFound(ctx context.Context, c Copies, l *Lockfile, bag *diag.Bag, at func(*wanted) error, then func(*wanted)) bool {
	ok := true
	var todo []*wanted
	for _, n := range c.Needs {
		w, good := p.bind(n, l, false, bag)
		if ok = ok && good; good {
			w.platforms = c.Platforms
			todo = append(todo, w)
		}
	}
	return p.settle(ctx, todo, bag, func(w *wanted) bool {
		err := at(w)
		if err != nil {
			w.bag.Add(diag.Errorf("Could not retrieve providers", "The packages of %s v%s could not be retrieved, %s.", w.Provider.ForDisplay(), w.lock.Version, err))
		}
		return err == nil
	}, then) && ok
}

// sum returns the hashes of the package for a platform: the hashes that its server reports, and the hashes of its
// content.
func (p *Providers) sum(ctx context.Context, w *wanted, platform string) (delivered, error) {
	pkg, err := w.best.get(ctx, platform)
	if err != nil {
		return delivered{}, err
	}
	pkg.name = w.Provider.ForDisplay() + " " + w.lock.Version + " for " + platform
	d := promised(pkg.remote)
	add := func(hash func(string) (string, error), path string) error {
		h, err := hash(path)
		d.hashes = append(d.hashes, h)
		return err
	}
	switch {
	case pkg.remote != nil:
		err = p.downloader().temporary(ctx, pkg, "", func(zip string) error { return add(hashArchive, zip) })
	case pkg.zip != "":
		err = errors.Join(add(hashZip, pkg.zip), add(hashArchive, pkg.zip))
	default:
		err = add(hashDir, pkg.dir)
	}
	return d, err
}

// Copy writes the packages of the providers in c.Needs, for the platforms in c.Platforms, into the directory dir,
// together with the documents of a network mirror. A server for static files can then offer the directory as a mirror.
// Copy keeps packages that are in the directory already. It returns false if it reported an error.
func (p *Providers) Copy(ctx context.Context, c Copies, dir string, l *Lockfile, bag *diag.Bag) bool {
	return p.eachFound(ctx, c, l, bag, func(w *wanted) error { return p.mirror(ctx, w, dir) }, func(*wanted) {})
}

// Vendor writes packages into a directory as Copy does, and also adds their hashes to the lock file in memory. It
// returns false if it reported an error.
func (p *Providers) Vendor(ctx context.Context, c Copies, dir string, l *Lockfile, bag *diag.Bag) bool {
	return p.eachFound(ctx, c, l, bag, func(w *wanted) error { return p.mirror(ctx, w, dir) }, func(w *wanted) { p.enter(w, l) })
}

// mirror writes the packages of a provider into a mirror directory, and records their hashes in w.
func (p *Providers) mirror(ctx context.Context, w *wanted, dir string) (err error) {
	choice := "with no constraints"
	switch {
	case w.only:
		choice = "to match dependency lock file"
	case w.text != "":
		choice = "to meet constraints " + w.text
	}
	output := fmt.Sprintf("- Mirroring %s...\n  - Selected v%s %s", w.Provider.ForDisplay(), w.lock.Version, choice)
	defer func() { p.Progress.notef("%s", output) }() // one note for the provider, because notes of several providers would mix
	at := filepath.Join(dir, w.Provider.Host, w.Provider.Namespace, w.Provider.Type)
	var made []string // directories that were created, the innermost first
	for d := at; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, d)
	}
	defer func() {
		for _, d := range made {
			if err != nil {
				_ = os.Remove(d) // ignore the error: the directory may not be empty
			}
		}
	}()
	if err := os.MkdirAll(at, 0o755); err != nil {
		return fmt.Errorf("because their directory cannot be created: %w", err)
	}
	for _, platform := range w.platforms {
		output += fmt.Sprintf("\n  - Downloading package for %s...", platform)
		d, err := p.copy(ctx, w, platform, at)
		if err != nil {
			return fmt.Errorf("for %s: %w", platform, err)
		}
		w.done.hashes, w.done.whole = append(w.done.hashes, d.hashes...), d.whole
		output += "\n  - Package authenticated: " + d.how
	}
	all, err := index(mirror(dir), w.Provider, at)
	if err != nil {
		return fmt.Errorf("because the index of the network mirror could not be written: %w", err)
	}
	for _, platform := range w.platforms {
		w.done.hashes = append(w.done.hashes, all[w.lock.Version][platform].Hashes...)
	}
	return nil
}

// copy downloads the package for a platform into a directory, unless it is there already with the checksum of the
// server. It returns the hashes for the lock file. A package for the platform of this machine must have a locked hash,
// if the lock file has hashes.
func (p *Providers) copy(ctx context.Context, w *wanted, platform, dir string) (delivered, error) {
	pkg, err := w.best.get(ctx, platform)
	if err != nil {
		return delivered{}, err
	}
	pkg.name = w.Provider.ForDisplay() + " " + w.lock.Version + " for " + platform
	name := filepath.Join(dir, archiveName(w.Provider, w.lock.Version, platform))
	d := promised(pkg.remote)
	if zh, err := hashZip(name); err == nil && zh == "zh:"+pkg.remote.Sum {
		return d, nil
	}
	return d, p.downloader().temporary(ctx, pkg, dir, func(zip string) error {
		if platform == Platform() {
			h1, err := hashArchive(zip)
			if err = errors.Join(err, checkLocked(w.Provider, w.lock, h1, "zh:"+pkg.remote.Sum)); err != nil {
				return err
			}
		}
		return errors.Join(os.Chmod(zip, 0o644), disk.OS.Rename(zip, name))
	})
}

// archiveName returns the name of the archive of a package in a mirror directory.
func archiveName(a addr.Provider, version, platform string) string {
	return fmt.Sprintf("terraform-provider-%s_%s_%s.zip", a.Type, version, platform)
}

// mirrored is the description of a package in a network mirror.
type mirrored struct {
	Hashes []string `json:"hashes"`
	URL    string   `json:"url"`
}

// index writes the documents of a network mirror for the packages of a provider in a directory. It returns their
// content, by version and platform.
func index(m mirror, a addr.Provider, dir string) (map[string]map[string]mirrored, error) {
	all, _, err := m.list(context.Background(), a)
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]mirrored{}
	existing := map[string]struct{}{}
	write := func(name string, doc any) error {
		text, err := json.MarshalIndent(doc, "", "  ")
		if err != nil {
			return err
		}
		return replace(filepath.Join(dir, name+".json"), text)
	}
	for _, f := range all {
		archives := map[string]mirrored{}
		for _, platform := range f.platforms {
			name := archiveName(a, f.version.String(), platform)
			zh, err := hashZip(filepath.Join(dir, name))
			if errors.Is(err, fs.ErrNotExist) {
				continue // only an unpacked directory exists
			}
			h1, err1 := hashArchive(filepath.Join(dir, name))
			if err := errors.Join(err, err1); err != nil {
				return nil, err
			}
			archives[platform] = mirrored{[]string{h1, zh}, name}
		}
		if len(archives) == 0 {
			continue
		}
		existing[f.version.String()] = struct{}{}
		out[f.version.String()] = archives
		if err := write(f.version.String(), map[string]any{"archives": archives}); err != nil {
			return nil, err
		}
	}
	return out, write("index", map[string]any{"versions": existing})
}

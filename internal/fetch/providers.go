package fetch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/apparentlymart/go-versions/versions/constraints"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cliconfig"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/shortcut"
)

// Providers is where providers come from and where they are put.
type Providers struct {
	Settings *cliconfig.Settings
	WorkDir  string   // the root module's
	DataDir  string   // .terraform
	CacheDir string   // plugin cache; "" for none
	Only     []string // -plugin-dir: the only directories to look into
	Getenv   func(string) string
	Note     func(string) // progress
	Closed   shortcut.Set // what is not to be taken

	Unheld  []addr.Provider // installed with no checksum to hold them against
	Unasked []string        // providers with the configured methods that may have newer versions, and cannot be asked

	verified sync.Map // hashes of packages that Verify found right, by canonical address
}

// Need is a provider that a configuration or a state needs.
type Need struct {
	Provider addr.Provider
	Host     bool // the configuration names the registry host itself
	Versions []config.VersionConstraint
}

// base is the directory of installed providers.
func (p *Providers) base() string { return filepath.Join(p.DataDir, "providers") }

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

// override gives the directory of a development override.
func (p *Providers) override(a addr.Provider) (string, bool) {
	if p.Settings == nil {
		return "", false
	}
	for o, dir := range p.Settings.Overrides {
		if o.Canon() == a.Canon() {
			return dir, true
		}
	}
	return "", false
}

// Overridden lists the providers in use that development overrides replace, sorted.
func (p *Providers) Overridden() []addr.Provider {
	var out []addr.Provider
	for a := range p.Settings.Overrides {
		out = append(out, a)
	}
	slices.SortFunc(out, addr.Provider.Compare)
	return out
}

// Install makes sure that every needed provider is there in a version that fits, and writes the
// choice into the lock file (in memory). With upgrade, locked versions do not bind.
func (p *Providers) Install(needs []Need, l *Lockfile, upgrade bool, bag *diag.Bag) bool {
	ok := true
	for _, n := range needs {
		if _, over := p.override(n.Provider); over || n.Provider.IsBuiltin() {
			continue
		}
		ok = p.install(n, l, upgrade, bag) && ok
	}
	return ok
}

func (p *Providers) install(n Need, l *Lockfile, upgrade bool, bag *diag.Bag) bool {
	allowed, text, ok := p.allowed(n, bag)
	if !ok {
		return false
	}
	lock, locked := l.Get(n.Provider)
	if locked && !n.Host {
		n.Provider = lock.Provider // the host under which it was locked
	}
	if locked && !upgrade {
		v, err := versions.ParseVersion(lock.Version)
		if err != nil || !allowed.Has(v) {
			bag.Add(diag.Errorf("Failed to query available provider packages",
				"Could not retrieve the list of available versions for provider %s: locked provider %s %s does not match configured version constraint %s; must use lethe init -upgrade to allow selection of new versions.", n.Provider.ForDisplay(), n.Provider, lock.Version, text))
			return false
		}
		p.note("- Reusing previous version of %s from the dependency lock file", n.Provider.ForDisplay())
		if p.present(n.Provider, lock) {
			return true
		}
		allowed = versions.Only(v)
	} else if text != "" {
		p.note("- Finding %s versions matching %q...", n.Provider.ForDisplay(), text)
	} else {
		p.note("- Finding latest version of %s...", n.Provider.ForDisplay())
	}
	best, ok := p.newest(n.Provider, allowed, text, bag)
	if !ok {
		return false
	}
	if methods := p.unasked(n.Provider); methods != "" && (!locked || upgrade) {
		p.Unasked = append(p.Unasked, n.Provider.ForDisplay()+": "+methods)
	}
	if !locked || lock.Version != best.version.String() {
		lock = config.Lock{Constraints: text} // those of a version that stays are left as they are, as the peers do
	}
	lock.Provider, lock.Version = n.Provider, best.version.String()
	if upgrade && len(lock.Hashes) > 0 && p.present(n.Provider, lock) {
		return true
	}
	return p.fetch(best, lock, l, bag)
}

// present reports whether the locked package is installed already, and says so.
func (p *Providers) present(a addr.Provider, lock config.Lock) bool {
	if !intact(packageDir(p.base(), a, lock.Version), a, lock) {
		return false
	}
	p.note("- Using previously-installed %s v%s", a.ForDisplay(), lock.Version)
	return true
}

// allowed is the set of versions that all constraints allow.
func (p *Providers) allowed(n Need, bag *diag.Bag) (versions.Set, string, bool) {
	text := config.Constraint(n.Versions)
	set := versions.All
	for _, c := range n.Versions {
		spec, err := constraints.ParseRubyStyleMulti(c.Text)
		if err != nil {
			bag.Add(diag.Errorf("Invalid provider version constraint", "The constraint %q for provider %s cannot be read: %s.", c.Text, n.Provider.ForDisplay(), err).At(c.Range))
			return set, text, false
		}
		set = set.Intersection(versions.MeetingConstraints(spec))
	}
	return set.Subtract(versions.Prerelease.Subtract(set.AllRequested())), text, true
}

// intact reports whether a directory holds the locked package, unchanged.
func intact(dir string, a addr.Provider, lock config.Lock) bool {
	if _, ok := executable(dir, a); !ok {
		return false
	}
	_, err := verify(dir, lock, hashDir)
	return err == nil
}

// verify holds an installed package against the hashes in the lock file, and gives its own; "" if the
// lock file has none of its kind.
func verify(dir string, lock config.Lock, hash func(dir string) (string, error)) (string, error) {
	h1 := slices.ContainsFunc(lock.Hashes, func(h string) bool { return strings.HasPrefix(h, "h1:") })
	if !h1 {
		return "", nil
	}
	got, err := hash(dir)
	if err != nil {
		return "", err
	}
	if !slices.Contains(lock.Hashes, got) {
		return "", fmt.Errorf("the package in %s does not match any of the checksums recorded in the dependency lock file", dir)
	}
	return got, nil
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
	hash, err := verify(filepath.Dir(path), lock, p.hash)
	p.verified.Store(a.Canon(), hash)
	return err
}

// newest chooses the newest allowed version that some source has.
func (p *Providers) newest(a addr.Provider, allowed versions.Set, text string, bag *diag.Bag) (found, bool) {
	var all []found
	for _, m := range p.sources() {
		if m.takes(a) {
			all = append(all, m.list(a)...)
		}
	}
	var best found
	for _, f := range all {
		if allowed.Has(f.version) && (best.version == versions.Unspecified || best.version.LessThan(f.version)) {
			best = f
		}
	}
	if best.dir != "" || best.zip != "" {
		return best, true
	}
	if len(all) > 0 {
		bag.Add(diag.Errorf("Failed to query available provider packages", "Could not retrieve the list of available versions for provider %s: no available releases match the given constraints %s. Available are: %s.", a.ForDisplay(), text, listed(all)))
		return found{}, false
	}
	bag.Add(diag.Errorf("Failed to query available provider packages", "Could not retrieve the list of available versions for provider %s: provider %s was not found in any of the search locations.\n\n%s", a.ForDisplay(), a, p.searched(a)))
	return found{}, false
}

func listed(all []found) string {
	var vs versions.List
	for _, f := range all {
		vs = append(vs, f.version)
	}
	vs.Sort()
	var out []string
	for _, v := range vs {
		out = append(out, v.String())
	}
	return strings.Join(slices.Compact(out), ", ")
}

func (p *Providers) sources() []mirror {
	if len(p.Only) > 0 {
		var out []mirror
		for _, dir := range p.Only {
			out = append(out, mirror{dir: dir})
		}
		return out
	}
	return mirrors(p.Settings, p.WorkDir, p.Getenv)
}

// searched says where was looked.
func (p *Providers) searched(a addr.Provider) string {
	var dirs []string
	for _, m := range p.sources() {
		dirs = append(dirs, "  - "+m.dir)
	}
	if methods := p.unasked(a); methods != "" {
		dirs = append(dirs, "\nFor this provider, the CLI configuration has also "+methods+". Providers are installed from file system mirrors only.")
	}
	if len(dirs) == 0 {
		return "No provider mirror is configured. Providers are installed from file system mirrors: name one in a provider_installation block of the CLI configuration, or put packages into terraform.d/plugins; for development, use dev_overrides."
	}
	return "These directories were searched:\n" + strings.Join(dirs, "\n")
}

// fetch puts a package into place, through the plugin cache if there is one, and records its
// hashes.
func (p *Providers) fetch(f found, lock config.Lock, l *Lockfile, bag *diag.Bag) bool {
	a := lock.Provider
	p.note("- Installing %s v%s...", a.ForDisplay(), lock.Version)
	dir := packageDir(p.base(), a, lock.Version)
	var hashes []string
	err := os.MkdirAll(p.DataDir, 0o755)
	if err == nil {
		err = locked(p.DataDir, "lethe-packages.lock", func() (err error) {
			hashes, err = p.deliver(f, a, lock, dir)
			return err
		})
	}
	if err != nil {
		bag.Add(diag.Errorf("Failed to install provider", "Error while installing %s v%s: %s.", a.ForDisplay(), lock.Version, err))
		return false
	}
	p.note("- Installed %s v%s (unauthenticated)", a.ForDisplay(), lock.Version)
	if len(lock.Hashes) == 0 {
		p.Unheld = append(p.Unheld, a)
	}
	lock.Hashes = append(lock.Hashes, hashes...)
	slices.Sort(lock.Hashes)
	lock.Hashes = slices.Compact(lock.Hashes)
	l.Set(lock)
	return true
}

// deliver puts the package where it belongs and gives its hashes, which must be among those
// locked, if any are.
func (p *Providers) deliver(f found, a addr.Provider, lock config.Lock, dir string) ([]string, error) {
	var hashes []string
	if f.zip != "" {
		zh, err := hashZip(f.zip)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, zh)
	}
	if p.CacheDir != "" {
		cached := packageDir(p.CacheDir, a, lock.Version)
		if !intact(cached, a, lock) { // those that are there already are read by many at once
			err := locked(p.CacheDir, ".lock", func() error {
				if intact(cached, a, lock) { // by another that was first
					return nil
				}
				return place(f, cached)
			})
			if err != nil {
				return nil, err
			}
		}
		f = found{version: f.version, dir: cached}
	}
	if err := place(f, dir); err != nil {
		return nil, err
	}
	h1, err := hashDir(dir)
	if err != nil {
		return nil, err
	}
	hashes = append(hashes, h1)
	if len(lock.Hashes) > 0 && !slices.ContainsFunc(hashes, func(h string) bool { return slices.Contains(lock.Hashes, h) }) {
		return nil, errors.Join(fmt.Errorf("the package for %s %s does not match any of the checksums recorded in the dependency lock file. It is another one than was installed first, or all of these are of packages for other platforms. If you trust this package, remove the hashes of the provider from %s and run \"lethe init\" again", a, lock.Version, LockName), os.RemoveAll(dir))
	}
	return hashes, nil
}

func (p *Providers) note(format string, args ...any) {
	if p.Note != nil {
		p.Note(fmt.Sprintf(format, args...))
	}
}

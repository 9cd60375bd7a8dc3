package fetch

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/apparentlymart/go-versions/versions/constraints"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cliconfig"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/oci"
	"github.com/lethe-iac/lethe/internal/registry"
	"github.com/lethe-iac/lethe/internal/shortcut"
)

// Providers is where providers come from and where they are put.
type Providers struct {
	Settings *cliconfig.Settings
	WorkDir  string // the root module's
	DataDir  string // .terraform
	CacheDir string // plugin cache in the layout of Terraform and OpenTofu; "" for none
	StoreDir string // packages that were downloaded, by checksum, for all directories of a user; "" for none
	Getenv   func(string) string
	Note     func(string)         // progress
	Moved    func(event.Transfer) // progress of downloads
	Closed   shortcut.Set         // what is not to be taken

	Registry *registry.Registry
	OCI      *oci.Client

	Unheld []addr.Provider // installed with no checksum to hold them against but their own

	only     []source // what is asked instead of what Settings say
	noting   sync.Mutex
	checking sync.Mutex // guards the record of what was read
	verified sync.Map   // what Verify found right, by canonical address: verdict
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

// present reports whether the locked package is installed already, and says so.
func (p *Providers) present(a addr.Provider, lock config.Lock) bool {
	if !p.intact(packageDir(p.base(), a, lock.Version), a, lock) {
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
	return released(set), text, true
}

// released leaves out pre-releases but for those that a set names.
func released(set versions.Set) versions.Set {
	return set.Subtract(versions.Prerelease.Subtract(set.AllRequested()))
}

// intact reports whether a directory holds the locked package, unchanged.
func (p *Providers) intact(dir string, a addr.Provider, lock config.Lock) bool {
	if _, ok := executable(dir, a); !ok {
		return false
	}
	_, err := p.verify(dir, lock)
	return err == nil
}

// verify holds an installed package against the hashes in the lock file, and gives its own; "" if the
// lock file has none of its kind.
func (p *Providers) verify(dir string, lock config.Lock) (string, error) {
	if !hasH1(lock) {
		return "", nil
	}
	got := p.store().linked(dir, lock)
	if got == "" {
		var err error
		if got, err = p.hash(dir); err != nil {
			return "", err
		}
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

func (p *Providers) note(format string, args ...any) {
	if p.Note != nil {
		p.noting.Lock()
		defer p.noting.Unlock()
		p.Note(fmt.Sprintf(format, args...))
	}
}

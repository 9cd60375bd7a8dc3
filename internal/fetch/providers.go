package fetch

import (
	"fmt"
	"path/filepath"
	"sync"

	"github.com/lethe-iac/lethe/internal/config/lockfile"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/apparentlymart/go-versions/versions/constraints"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/shortcut"
)

// Providers installs providers in a working directory, and finds installed providers. Its methods may be called
// concurrently, except for Install, Sum and Vendor, which change the lock file and Unverified.
type Providers struct {
	Sources  Sources
	Progress Progress
	DataDir  string       // the data directory, usually .terraform
	CacheDir string       // plugin cache in the layout of Terraform and OpenTofu; "": no plugin cache
	StoreDir string       // downloaded packages by checksum, for all working directories of a user; "": no store
	Disabled shortcut.Set // disabled shortcuts

	Unverified []addr.Provider // providers that were installed without a checksum to compare with

	recording sync.Mutex // guards the record of packages that were read
	verified  sync.Map   // results of Verify, by canonical address: verdict
}

// Need is a provider that a configuration or a state needs.
type Need struct {
	Provider addr.Provider
	Host     bool // the configuration names the registry host explicitly
	Versions []config.VersionConstraint
}

// base returns the directory of installed providers.
func (p *Providers) base() string { return filepath.Join(p.DataDir, "providers") }

// record returns the record of the hashes of packages in the working directory.
func (p *Providers) record() *packageRecord {
	return &packageRecord{filepath.Join(p.DataDir, "lethe-packages.json"), p.Disabled.Has(shortcut.Packages), &p.recording}
}

// hash returns the "h1:" hash of a package. It reads the package only if its files have changed since the last reading.
func (p *Providers) hash(dir string) (string, error) { return p.record().hash(dir) }

func (p *Providers) downloader() *downloader { return &downloader{&p.Sources, &p.Progress} }

// allowed returns the versions that all constraints allow together, and the constraints as text. A pre-release that one
// constraint names is allowed if the other constraints include it. If a constraint cannot be parsed, allowed reports an
// error and returns false.
func allowed(n Need, bag *diag.Bag) (versions.Set, string, bool) {
	text := lockfile.Constraint(n.Versions)
	var all constraints.IntersectionSpec
	for _, c := range n.Versions {
		spec, err := constraints.ParseRubyStyleMulti(c.Text)
		if err != nil {
			bag.Add(diag.Errorf("Invalid provider version constraint", "The constraint %q for provider %s cannot be read: %s.", c.Text, n.Provider.ForDisplay(), err).At(c.Range))
			return versions.All, text, false
		}
		all = append(all, spec...)
	}
	return released(versions.MeetingConstraints(all)), text, true
}

// Allows returns an error if the configuration does not allow a release of Lethe as the version of a built-in provider.
// A development version counts as the release that follows it.
func (n Need) Allows(release string) error {
	set, text, ok := allowed(n, &diag.Bag{})
	v, err := versions.ParseVersion(release)
	if err != nil || !ok {
		return fmt.Errorf("the constraint %q and version %s cannot be compared", text, release)
	}
	if v.Prerelease = ""; !set.Has(v) {
		return fmt.Errorf("the constraint %q does not allow version %s", text, release)
	}
	return nil
}

// released removes pre-releases from a set, except for those that the set names explicitly.
func released(set versions.Set) versions.Set {
	return set.Subtract(versions.Prerelease.Subtract(set.AllRequested()))
}

package fetch

import (
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
	"github.com/lethe-iac/lethe/internal/paths"
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
	Note     func(event.Note)     // progress
	Moved    func(event.Transfer) // progress of downloads
	Closed   shortcut.Set         // what is not to be taken

	Registry *registry.Registry
	OCI      *oci.Client
	Retries  int // of a download, where its source does not say otherwise

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

// override gives the directory of a development override: of the provider by this name, or failing that by the host of
// the other registry.
func (p *Providers) override(a addr.Provider) (string, bool) {
	if p.Settings == nil {
		return "", false
	}
	if dir, ok := p.Settings.Overrides[a]; ok {
		return paths.In(p.WorkDir, dir), true
	}
	for o, dir := range p.Settings.Overrides {
		if o.Canon() == a.Canon() {
			return paths.In(p.WorkDir, dir), true
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

// allowed returns the versions that all constraints allow together: a pre-release that one of them names is allowed if
// the others include it.
func (p *Providers) allowed(n Need, bag *diag.Bag) (versions.Set, string, bool) {
	text := config.Constraint(n.Versions)
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

// released leaves out pre-releases but for those that a set names.
func released(set versions.Set) versions.Set {
	return set.Subtract(versions.Prerelease.Subtract(set.AllRequested()))
}

func (p *Providers) note(format string, args ...any) {
	p.tell(event.Note{Text: fmt.Sprintf(format, args...)})
}

// say notes what people read, and what programs that follow init read in its place: Terraform has other words for these.
func (p *Providers) say(text, record string) { p.tell(event.Note{Text: text, Record: record}) }

func (p *Providers) tell(n event.Note) {
	if p.Note != nil {
		p.noting.Lock()
		defer p.noting.Unlock()
		p.Note(n)
	}
}

package devcmd

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/fetch"
	"github.com/lethe-iac/lethe/internal/state/disk"
)

// ProvidersLock is `providers lock`.
var ProvidersLock = &base.Command{
	Name: "providers lock", Args: "[providers...]", Short: "Write out dependency locks for the configured providers",
	Long: `Adds checksums of provider packages for other platforms to the
dependency lock file (.terraform.lock.hcl), from the registries that the
addresses of the providers name, wherever the CLI configuration says that
providers are installed from.

Without names, it is done for all providers that the configuration needs.`,
	Examples: [][2]string{
		{"lethe providers lock -platform=linux_amd64 -platform=darwin_arm64", "Lock for machines of other kinds"},
	},
	Setup: base.Flags(func(c *base.Call, f *lockFlags) {
		f.flags(c)
		named := func(to *string, name, usage string) {
			c.Flags.Func(name, usage, func(s string) error {
				if *to = s; s == "" {
					return errors.New("the registries are asked where this option is left out")
				}
				return nil
			})
		}
		named(&f.dir, "fs-mirror", "Ask this `directory`, a mirror, instead of the registries.")
		named(&f.mirror, "net-mirror", "Ask the network mirror at this `URL` instead of the registries.")
		named(&f.images, "oci-mirror", "Ask OCI registries instead, by this `template` of an oci_mirror block.")
		c.Flags.Bool("enable-plugin-cache", false, "Accepted for compatibility: what is in the plugin cache proves nothing.")
	}, runLock),
}

// ProvidersMirror is `providers mirror`.
var ProvidersMirror = &base.Command{
	Name: "providers mirror", Args: "<target-dir>", Counts: true, Short: "Save local copies of all required provider plugins",
	Long: `Populates a local directory with the packages of the providers that the
configuration needs, from the registries that their addresses name. The
directory can be used as a filesystem_mirror, or offered by a server of static
files as a network_mirror.`,
	Examples: [][2]string{
		{"lethe providers mirror /srv/mirror", "Save the providers for machines without a network"},
	},
	Setup: base.Flags(func(c *base.Call, f *mirrorFlags) {
		f.flags(c)
		c.Flags.BoolVar(&f.locked, "lock-file", true, "Take the versions that the dependency lock file has.")
	}, runMirror),
}

// Vendor is `vendor`.
var Vendor = &base.Command{
	Name: "vendor", Args: "<target-dir>", Counts: true, Short: "Save all that init installs in one directory",
	Long: `Populates a directory with all that "lethe init" installs: the packages of
the providers, for several platforms, from the registries that their addresses
name, and those of the modules. Their checksums go into the dependency lock file.

Elsewhere, without network, init installs from that directory alone if the CLI
configuration says

  vendor_dir = "/path/to/the/directory"

or the environment variable LETHE_VENDOR_DIR does.`,
	Examples: [][2]string{
		{"lethe vendor third_party", "Save modules and providers beside the configuration"},
	},
	Setup: base.Flags(func(c *base.Call, f *packageFlags) { f.flags(c) }, runVendor),
}

// packageFlags are those of commands that are about packages for several platforms.
type packageFlags struct {
	project.Options
	platforms base.List
}

func (f *packageFlags) flags(c *base.Call) {
	c.Flags.Var(&f.platforms, "platform", "A `platform`, such as linux_amd64, instead of this one. May be given many times.")
	f.TestsFlag(c)
	f.VarFlags(c)
}

type lockFlags struct {
	packageFlags
	dir, mirror, images string
}

type mirrorFlags struct {
	packageFlags
	locked bool
}

// open reads the configuration, and gives what it needs and for which platforms. What is opened is prepared with load.
func (f *packageFlags) open(c *base.Call, load func(*project.Project) bool) (*project.Project, fetch.Copies, bool) {
	copies := fetch.Copies{Platforms: f.platforms}
	for _, platform := range f.platforms {
		if system, arch, ok := strings.Cut(platform, "_"); !ok || system == "" || arch == "" || strings.ContainsAny(platform, `/\ `) || strings.Contains(arch, "_") {
			c.Bag.Add(diag.Errorf("Invalid target platform", "The string %q given in the -platform option is not a valid target platform: must be two words separated by an underscore.", platform))
			return nil, copies, false
		}
	}
	if len(copies.Platforms) == 0 {
		copies.Platforms = []string{fetch.Platform()}
	}
	p, ok := project.Open(c, &f.Options)
	if !ok {
		return nil, copies, false
	}
	if !load(p) {
		return nil, copies, false
	}
	for _, n := range p.Needs() {
		if !n.Provider.IsBuiltin() {
			copies.Needs = append(copies.Needs, n)
		}
	}
	return p, copies, true
}

func runLock(ctx context.Context, c *base.Call, f *lockFlags) int {
	if f.dir != "" && f.mirror != "" || f.images != "" && f.dir+f.mirror != "" {
		c.Bag.Add(diag.Errorf("Invalid installation method options", "The -fs-mirror, -net-mirror and -oci-mirror command line options are mutually-exclusive."))
		return c.UI.Fail()
	}
	p, copies, ok := f.open(c, (*project.Project).Load)
	if !ok || !only(c, &copies) {
		return c.UI.Fail()
	}
	switch {
	case f.dir != "":
		p.Providers.OnlyDir(c.Path(f.dir))
	case f.mirror != "":
		if err := p.Providers.OnlyMirror(f.mirror); err != nil {
			c.Bag.Add(diag.Errorf("Invalid network mirror URL", "The -net-mirror option cannot be followed: %s.", err))
			return c.UI.Fail()
		}
	case f.images != "":
		if err := p.Providers.OnlyImages(f.images); err != nil {
			c.Bag.Add(diag.Errorf("Invalid OCI mirror template", "The -oci-mirror option cannot be followed: %s.", err))
			return c.UI.Fail()
		}
	default:
		p.Providers.OnlyRegistries()
	}
	if !p.Providers.Sum(ctx, copies, p.Lock, &c.Bag) {
		return c.UI.Fail()
	}
	changed := p.Lock.Changed()
	if !saveLock(p) {
		return c.UI.Fail()
	}
	if changed {
		c.UI.Line(c.Renamed("\nSuccess! Lethe has updated the lock file.\n\nReview the changes in " + fetch.LockName + " and then commit to your\nversion control system to retain the new checksums.\n"))
	} else {
		c.UI.Line(c.Renamed("\nSuccess! Lethe has validated the lock file and found no need for changes."))
	}
	return c.UI.Done(base.ExitOK)
}

// only leaves those providers that the user names, all where none is named.
func only(c *base.Call, copies *fetch.Copies) bool {
	if len(c.Operands) == 0 {
		return true
	}
	named := map[addr.Provider]bool{}
	for _, text := range c.Operands {
		a, err := addr.ParseProvider(text)
		switch {
		case err != nil:
			c.Bag.Add(diag.Errorf("Invalid provider argument", "%q is not the source address of a provider: %s.", text, err))
		case !slices.ContainsFunc(copies.Needs, func(n fetch.Need) bool { return n.Provider.Canon() == a.Canon() }):
			c.Bag.Add(diag.Errorf("Invalid provider argument", "The provider %s is not required by the current configuration.", a))
		}
		named[a.Canon()] = true
	}
	copies.Needs = slices.DeleteFunc(copies.Needs, func(n fetch.Need) bool { return !named[n.Provider.Canon()] })
	return !c.Bag.HasErrors()
}

func saveLock(p *project.Project) bool {
	err := p.Lock.Write()
	if err != nil {
		p.Bag.Add(diag.Errorf("Failed to save dependency lock file", "The file %s cannot be written: %s.", fetch.LockName, disk.Reason(err)))
	}
	return err == nil
}

func runVendor(ctx context.Context, c *base.Call, f *packageFlags) int {
	if len(c.Operands) != 1 {
		c.Bag.Add(diag.Errorf("No output directory specified", "The vendor command requires an output directory as a command-line argument."))
		return c.UI.Fail()
	}
	p, copies, ok := f.open(c, func(p *project.Project) bool {
		p.InstallModules(ctx, false, c.UI.Line)
		return p.Load() && p.Tests().LoadAll()
	})
	if !ok {
		return c.UI.Fail()
	}
	for _, lock := range p.Lock.Providers() { // which only the state may need
		if !slices.ContainsFunc(copies.Needs, func(n fetch.Need) bool { return n.Provider.Canon() == lock.Provider.Canon() }) {
			copies.Needs = append(copies.Needs, fetch.Need{Provider: lock.Provider, Host: true})
		}
	}
	dir := c.Path(c.Operands[0])
	err := p.Modules.WriteManifest(p.All(), func(*config.Node) {})
	if err == nil {
		err = p.Modules.Vendor(filepath.Join(dir, "modules"))
	}
	if err != nil {
		c.Bag.Add(diag.Errorf("Could not vendor modules", "A module cannot be copied: %s.", disk.Reason(err)))
		return c.UI.Fail()
	}
	p.Providers.OnlyRegistries()
	if !p.Providers.Vendor(ctx, copies, filepath.Join(dir, "providers"), p.Lock, &c.Bag) {
		return c.UI.Fail()
	}
	p.Lock.SetModules(p.Modules.Locks())
	changed := p.Lock.Changed()
	if !saveLock(p) {
		return c.UI.Fail()
	}
	c.UI.Line("\nSuccess! What init installs is in " + c.Operands[0] + ".")
	if changed {
		c.UI.Line(c.Renamed("Lethe has updated the lock file " + fetch.LockName + ". Commit it: it says what is\ntaken from there."))
	}
	return c.UI.Done(base.ExitOK)
}

func runMirror(ctx context.Context, c *base.Call, f *mirrorFlags) int {
	if len(c.Operands) != 1 {
		c.Bag.Add(diag.Errorf("No output directory specified", "The providers mirror command requires an output directory as a command-line argument."))
		return c.UI.Fail()
	}
	p, copies, ok := f.open(c, (*project.Project).Load)
	if !ok {
		return c.UI.Fail()
	}
	p.Providers.OnlyRegistries()
	lock := p.Lock
	if !f.locked {
		lock = &fetch.Lockfile{}
	}
	if !p.Providers.Copy(ctx, copies, c.Path(c.Operands[0]), lock, &c.Bag) {
		return c.UI.Fail()
	}
	return c.UI.Done(base.ExitOK)
}

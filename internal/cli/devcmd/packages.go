package devcmd

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/loader"
	"github.com/lethe-iac/lethe/internal/cli/plugins"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/fetch"
)

// ProvidersLock is the command `providers lock`.
var ProvidersLock = &base.Command{
	Name: "providers lock", Args: "[providers...]", Short: "Write out dependency locks for the configured providers",
	Long: `Adds checksums of provider packages for other platforms to the
dependency lock file (.terraform.lock.hcl). It always asks the registries
in the addresses of the providers, not the mirrors of the CLI
configuration.

Without names, it adds checksums for all required providers.`,
	Examples: [][2]string{
		{"lethe providers lock -platform=linux_amd64 -platform=darwin_arm64", "Add checksums for other platforms"},
	},
	Setup: base.Flags(func(c *base.Call, f *lockFlags) {
		f.flags(c)
		named := func(to *string, name, usage string) {
			c.Flags.Func(name, usage, func(s string) error {
				if *to = s; s == "" {
					return errors.New("without this option, Lethe asks the registries")
				}
				return nil
			})
		}
		named(&f.dir, "fs-mirror", "Ask this `directory`, a mirror, instead of the registries.")
		named(&f.mirror, "net-mirror", "Ask the network mirror at this `URL` instead of the registries.")
		named(&f.images, "oci-mirror", "Ask OCI registries instead, by this `template` of an oci_mirror block.")
		c.Flags.Bool("enable-plugin-cache", false, "Accepted for compatibility. The plugin cache is not used.")
	}, runLock),
}

// ProvidersMirror is the command `providers mirror`.
var ProvidersMirror = &base.Command{
	Name: "providers mirror", Args: "<target-dir>", Counts: true, Short: "Save local copies of all required provider plugins",
	Long: `Saves the packages of all required providers in a local directory. It
downloads them from the registries in the providers' addresses. The
directory can be a filesystem_mirror, or a server of static files can offer
it as a network_mirror.`,
	Examples: [][2]string{
		{"lethe providers mirror /srv/mirror", "Save the providers for machines without a network"},
	},
	Setup: base.Flags(func(c *base.Call, f *mirrorFlags) {
		f.flags(c)
		c.Flags.BoolVar(&f.locked, "lock-file", true, "Use the versions in the dependency lock file.")
	}, runMirror),
}

// Vendor is the command `vendor`.
var Vendor = &base.Command{
	Name: "vendor", Args: "<target-dir>", Counts: true, Short: "Save all modules and providers in one directory",
	Long: `Saves everything that "lethe init" installs in a directory: the packages of
the providers, for several platforms, from the registries in their addresses,
and the packages of the modules. It adds their checksums to the dependency
lock file.

To install only from that directory, without a network, set the environment
variable LETHE_VENDOR_DIR, or in the CLI configuration:

  vendor_dir = "/path/to/the/directory"`,
	Examples: [][2]string{
		{"lethe vendor third_party", "Save modules and providers beside the configuration"},
	},
	Setup: base.Flags(func(c *base.Call, f *packageFlags) { f.flags(c) }, runVendor),
}

// packageFlags are the flags of commands that handle packages for several platforms.
type packageFlags struct {
	workdir.Options
	platforms base.List
}

func (f *packageFlags) flags(c *base.Call) {
	c.Flags.Var(&f.platforms, "platform", "A `platform`, such as linux_amd64, instead of this one. May be given many times.")
	f.TestsFlag(c)
	f.VarFlags(c)
}

type lockFlags struct {
	packageFlags
	dir, mirror, images string // -fs-mirror, -net-mirror, -oci-mirror; at most one may be set
}

type mirrorFlags struct {
	packageFlags
	locked bool // -lock-file: copy the versions in the lock file
}

// open loads the configuration with load. It returns the loader, and the required providers that are not built in with
// the platforms of their packages: the platforms of -platform, or this platform without the option. It returns false
// after an error.
func (f *packageFlags) open(c *base.Call, load func(*loader.Loader) bool) (*loader.Loader, fetch.Copies, bool) {
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
	d, ok := workdir.Open(c, &f.Options)
	if !ok {
		return nil, copies, false
	}
	l := loader.New(d)
	if !load(l) {
		return nil, copies, false
	}
	for _, n := range l.Needs() {
		if !n.Provider.IsBuiltin() {
			copies.Needs = append(copies.Needs, n)
		}
	}
	return l, copies, true
}

func runLock(ctx context.Context, c *base.Call, f *lockFlags) int {
	if f.dir != "" && f.mirror != "" || f.images != "" && f.dir+f.mirror != "" {
		c.Bag.Add(diag.Errorf("Invalid installation method options", "The -fs-mirror, -net-mirror and -oci-mirror command line options are mutually-exclusive."))
		return c.UI.Fail()
	}
	l, copies, ok := f.open(c, (*loader.Loader).Load)
	if !ok || !only(c, &copies) {
		return c.UI.Fail()
	}
	providers := plugins.New(l.Dir).Providers
	switch {
	case f.dir != "":
		providers.Sources.OnlyDir(c.Path(f.dir))
	case f.mirror != "":
		if err := providers.Sources.OnlyMirror(f.mirror); err != nil {
			c.Bag.Add(diag.Errorf("Invalid network mirror URL", "The option -net-mirror is not valid: %s.", err))
			return c.UI.Fail()
		}
	case f.images != "":
		if err := providers.Sources.OnlyImages(f.images); err != nil {
			c.Bag.Add(diag.Errorf("Invalid OCI mirror template", "The option -oci-mirror is not valid: %s.", err))
			return c.UI.Fail()
		}
	default:
		providers.Sources.OnlyRegistries()
	}
	if !providers.Sum(ctx, copies, l.Dir.Lock, &c.Bag) {
		return c.UI.Fail()
	}
	changed := l.Dir.Lock.Changed()
	if !l.Dir.SaveLock() {
		return c.UI.Fail()
	}
	if changed {
		c.UI.Line(c.Renamed("\nSuccess! Lethe has updated the lock file.\n\nReview the changes in " + fetch.LockName + " and then commit to your\nversion control system to retain the new checksums.\n"))
	} else {
		c.UI.Line(c.Renamed("\nSuccess! Lethe has validated the lock file and found no need for changes."))
	}
	return c.UI.Done(base.ExitOK)
}

// only removes the providers from copies.Needs that are not operands of the command. Without operands, it changes
// nothing. It adds an error and returns false if an operand is not the address of a provider, or not of a required
// provider.
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

func runVendor(ctx context.Context, c *base.Call, f *packageFlags) int {
	if len(c.Operands) != 1 {
		c.Bag.Add(diag.Errorf("No output directory specified", "The vendor command requires an output directory as a command-line argument."))
		return c.UI.Fail()
	}
	l, copies, ok := f.open(c, func(l *loader.Loader) bool {
		l.InstallModules(ctx, false, c.UI.Line)
		return l.Load() && l.LoadAllTests()
	})
	if !ok {
		return c.UI.Fail()
	}
	for _, lock := range l.Dir.Lock.Providers() { // the state may need providers that the configuration does not need
		if !lock.Provider.IsBuiltin() && !slices.ContainsFunc(copies.Needs, func(n fetch.Need) bool { return n.Provider.Canon() == lock.Provider.Canon() }) {
			copies.Needs = append(copies.Needs, fetch.Need{Provider: lock.Provider, Host: true})
		}
	}
	dir := c.Path(c.Operands[0])
	err := l.Modules.WriteManifest(l.All(), func(*config.Node) {})
	if err == nil {
		err = l.Modules.Vendor(filepath.Join(dir, "modules"))
	}
	if err != nil {
		c.Bag.Add(diag.Errorf("Could not vendor modules", "A module cannot be copied: %s.", disk.Reason(err)))
		return c.UI.Fail()
	}
	providers := plugins.New(l.Dir).Providers
	providers.Sources.OnlyRegistries()
	if !providers.Vendor(ctx, copies, filepath.Join(dir, "providers"), l.Dir.Lock, &c.Bag) {
		return c.UI.Fail()
	}
	l.Dir.Lock.SetModules(l.Modules.Locks())
	changed := l.Dir.Lock.Changed()
	if !l.Dir.SaveLock() {
		return c.UI.Fail()
	}
	c.UI.Line("\nSuccess! The modules and providers are in " + c.Operands[0] + ".")
	if changed {
		c.UI.Line(c.Renamed("Lethe has updated the lock file " + fetch.LockName + ". Commit it: init\nchecks the packages against it."))
	}
	return c.UI.Done(base.ExitOK)
}

func runMirror(ctx context.Context, c *base.Call, f *mirrorFlags) int {
	if len(c.Operands) != 1 {
		c.Bag.Add(diag.Errorf("No output directory specified", "The providers mirror command requires an output directory as a command-line argument."))
		return c.UI.Fail()
	}
	l, copies, ok := f.open(c, (*loader.Loader).Load)
	if !ok {
		return c.UI.Fail()
	}
	providers := plugins.New(l.Dir).Providers
	providers.Sources.OnlyRegistries()
	lock := l.Dir.Lock
	if !f.locked {
		lock = &fetch.Lockfile{}
	}
	if !providers.Copy(ctx, copies, c.Path(c.Operands[0]), lock, &c.Bag) {
		return c.UI.Fail()
	}
	return c.UI.Done(base.ExitOK)
}

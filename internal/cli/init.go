package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/backend"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/fetch"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/disk"
)

var initCommand = &Command{
	Name: "init", Stream: true, Short: "Prepare your working directory for other commands",
	Long: `Initialize a new or existing Lethe working directory by creating
initial files, loading any remote state, downloading modules, etc.

This is the first command that should be run for any new or existing
Lethe configuration per machine. This sets up all the local data
necessary to run Lethe that is typically not committed to version
control.`,
	Flags: func(c *call) {
		f := c.flags
		f.BoolVar(&c.setup.backend, "backend", true, "Set up the backend.")
		f.BoolVar(&c.setup.backend, "cloud", true, "Another name of -backend.")
		f.Var(&c.setup.backendConfig, "backend-config", "A backend setting, as `key=value`, or a file with settings.")
		f.BoolVar(&c.setup.forceCopy, "force-copy", false, "Answer \"yes\" to questions about copying state.")
		f.StringVar(&c.setup.fromModule, "from-module", "", "Copy this `module` into the directory first.")
		f.BoolVar(&c.setup.get, "get", true, "Install modules.")
		f.Var(&c.setup.pluginDirs, "plugin-dir", "Look for providers only in this `directory`. May be given many times.")
		f.BoolVar(&c.setup.reconfigure, "reconfigure", false, "Forget the saved backend configuration.")
		f.BoolVar(&c.setup.migrate, "migrate-state", false, "Move the state to the backend as configured now.")
		f.BoolVar(&c.setup.upgrade, "upgrade", false, "Install the newest allowed versions instead of the locked ones.")
		f.StringVar(&c.setup.lockfile, "lockfile", "", "Set to \"readonly\" to fail instead of changing the lock file (`mode`).")
		c.remoteFlag()
		f.String("test-directory", "tests", "Accepted for compatibility: the `directory` of test files.")
		c.jsonFlag()
		c.varFlags()
		c.lockFlags()
	},
	Run: runInit,
}

// setup is what init is asked to do.
type setup struct {
	backend, forceCopy, get, reconfigure, migrate, upgrade bool
	backendConfig, pluginDirs                              list
	fromModule, lockfile                                   string
	noTests                                                bool
	testDir                                                string
}

func runInit(ctx context.Context, c *call) int {
	if !c.noOperands() || !c.initFlags() {
		return c.ui.fail()
	}
	p, ok := c.open()
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	if p.setup.fromModule != "" && !p.copyModule() {
		return p.ui.fail()
	}
	if empty, err := p.emptyDir(); err != nil || empty {
		p.ui.step("output_init_empty_message", "Lethe initialized in an empty directory!\n\nThe directory has no Lethe configuration files. You may begin working\nwith Lethe immediately by creating Lethe configuration files.\n")
		return p.ui.done(exitOK)
	}
	if !p.load() {
		return p.ui.fail()
	}
	if p.setup.backend {
		p.ui.step("initializing_backend_message", "\nInitializing the backend...")
		if !p.initBackend(ctx) {
			return p.ui.fail()
		}
	}
	if !p.initModules() || !p.initProviders(ctx) {
		return p.ui.fail()
	}
	code := p.ui.done(exitOK)
	if code == exitOK {
		p.initDone()
	}
	return code
}

// initBackend settles which store is used.
func (p *project) initBackend(ctx context.Context) bool {
	configured, ok := p.stores().Init(ctx, backend.InitRequest{
		Overrides: p.setup.backendConfig, Reconfigure: p.setup.reconfigure, Migrate: p.setup.migrate, ForceCopy: p.setup.forceCopy,
		Lock: p.lockRequest(""), Copies: p.askCopy,
	})
	if configured != "" {
		p.ui.step("backend_configured_success_message", fmt.Sprintf("\nSuccessfully configured the backend %q! Lethe will automatically\nuse this backend unless the backend configuration changes.", configured))
	}
	return ok
}

// askCopy asks whether existing states are to be copied to another backend.
func (p *project) askCopy(from, to string) (copies, answered bool) {
	if p.mayAsk() {
		text, ok := p.ui.ask(question{
			Title: "Do you want to copy existing state to the new backend?",
			Note:  fmt.Sprintf("Pre-existing state was found while migrating the previous %q backend to the\nnewly configured %q backend. Do you want to copy this state to the new %q\nbackend? Enter \"yes\" to copy and \"no\" to start with an empty state.", from, to, to),
		})
		if ok {
			return text == "yes", true
		}
	}
	if !p.cutShort() {
		p.bag.Add(diag.Errorf("Existing state would be left behind", "The previous backend %q has state, and nobody can be asked whether it is to be copied to the newly configured %q. Use -force-copy to copy it, or -reconfigure to leave it where it is.", from, to))
	}
	return false, false
}

func (c *call) initFlags() bool {
	s := &c.setup
	switch {
	case s.migrate && s.reconfigure:
		c.bag.Add(diag.Errorf("Wrong combination of migration options", "The -migrate-state and -reconfigure options are mutually-exclusive."))
	case s.lockfile != "" && s.lockfile != "readonly":
		c.bag.Add(diag.Errorf("Invalid lock file mode", "The only mode of -lockfile is \"readonly\", and %q was given.", s.lockfile))
	case s.lockfile == "readonly" && s.upgrade:
		c.bag.Add(diag.Errorf("Wrong combination of options", "The -upgrade flag conflicts with -lockfile=readonly."))
	}
	return !c.bag.HasErrors()
}

// copyModule copies the module of -from-module into the working directory, which has to be empty. Names that
// begin with a dot are left out, as the peers do.
func (p *project) copyModule() bool {
	source := p.setup.fromModule
	p.ui.step("copying_configuration_message", fmt.Sprintf("Copying configuration from %q...", source))
	entries, err := os.ReadDir(p.dir)
	switch {
	case err == nil && len(entries) > 0:
		p.bag.Add(diag.Errorf("Can't populate non-empty directory", "The target directory %s is not empty, so it cannot be initialized with the -from-module=... option.", p.display(p.dir)))
		return false
	case err == nil && !config.IsLocal(source) && !filepath.IsAbs(source):
		p.bag.Add(diag.Errorf("Invalid module source address", "The module of -from-module is %q, and only local paths, absolute or beginning with ./ or ../, can be copied.", source))
		return false
	}
	if err == nil {
		err = fetch.CopyModule(p.path(source), p.dir)
	}
	if err != nil {
		p.bag.Add(diag.Errorf("Failed to copy the module", "The module in %s cannot be copied: %s.", source, err))
	}
	return err == nil
}

// emptyDir reports whether the directory has no configuration at all.
func (p *project) emptyDir() (bool, error) {
	for _, pattern := range []string{"*.tf", "*.tf.json", "*.tofu", "*.tofu.json"} {
		found, err := filepath.Glob(filepath.Join(p.dir, pattern))
		if err != nil || len(found) > 0 {
			return false, err
		}
	}
	return true, nil
}

// initModules writes down which modules are where, and lists those that are new, or all with -upgrade.
func (p *project) initModules() bool {
	if !p.setup.get || len(p.tree.Root.Children) == 0 {
		return true
	}
	switch {
	case p.command.Name == "get":
	case p.setup.upgrade:
		p.ui.step("upgrading_modules_message", "Upgrading modules...")
	default:
		p.ui.step("initializing_modules_message", "Initializing modules...")
	}
	list := func(n *config.Node) { p.ui.line(fmt.Sprintf("- %s in %s", moduleKey(n), p.display(n.Module.Dir))) }
	fresh := list
	if p.setup.upgrade {
		p.tree.Root.Walk(func(n *config.Node) {
			if n.Parent != nil {
				list(n)
			}
		})
		fresh = func(*config.Node) {}
	}
	if err := fetch.WriteManifest(p.data, p.dir, p.tree.Root, fresh); err != nil {
		p.bag.Add(diag.Errorf("Failed to write module manifest", "%s.", err))
		return false
	}
	return true
}

// initProviders installs what configuration and state need.
func (p *project) initProviders(ctx context.Context) bool {
	p.ui.step("initializing_provider_plugin_message", "Initializing provider plugins...")
	needs := p.needs()
	if p.setup.backend {
		s, ok := p.readState(ctx)
		if !ok {
			return false
		}
		hosts := p.engine.Hosts(p.tree, s)
		for i, n := range needs {
			needs[i].Provider = hosts.Of(n.Provider)
		}
		needs = append(needs, stateNeeds(s, needs)...)
	}
	var install []fetch.Need
	for _, n := range needs {
		switch {
		case n.Provider.IsBuiltin():
			p.ui.line(fmt.Sprintf("- %s is built in to Lethe", n.Provider))
		case !p.attached(n.Provider):
			install = append(install, n)
		}
	}
	if !p.onlyDirs() {
		return false
	}
	if !p.providers.Install(install, p.lock, p.setup.upgrade, &p.bag) {
		return false
	}
	if p.setup.backend { // without it nobody knows what the state needs
		p.lock.Keep(func(a addr.Provider) bool {
			return slices.ContainsFunc(needs, func(n fetch.Need) bool { return n.Provider.Canon() == a.Canon() })
		})
	}
	if !p.writeLock() {
		return false
	}
	p.warnUnheld()
	if len(p.providers.Unasked) > 0 {
		p.bag.Add(diag.Warningf("Installation method not supported", "Newer versions than those installed may be found by methods of the CLI configuration that were not asked, because only file system mirrors are:\n  - %s\n\nWhere that is meant, exclude the provider from these methods, or leave them out.", strings.Join(p.providers.Unasked, "\n  - ")))
	}
	return true
}

// onlyDirs settles where init looks for providers: in the directories of -plugin-dir, which are remembered for
// the next time as the peers do; an empty one forgets them.
func (p *project) onlyDirs() bool {
	file := filepath.Join(p.data, "plugin_path")
	dirs := p.setup.pluginDirs
	var err error
	switch {
	case len(dirs) == 0:
		var text []byte
		if text, err = config.ReadOne(file, p.limits.config); err == nil {
			err = json.Unmarshal(text, &dirs)
		}
	case len(dirs) == 1 && dirs[0] == "":
		dirs = nil
		err = os.Remove(file)
	default:
		var text []byte
		if text, err = json.MarshalIndent(dirs, "", "  "); err == nil {
			err = errors.Join(p.workspaces().MakeData(), disk.Replace(p.files(), file, text))
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.bag.Add(diag.Errorf("Failed to remember the plugin directories", "The file %s, which keeps what -plugin-dir says: %s.", p.display(file), disk.Reason(err)))
		return false
	}
	for _, dir := range dirs {
		p.providers.Only = append(p.providers.Only, p.path(dir))
	}
	return true
}

// warnUnheld says that what was written into the lock file is of no use on other platforms.
func (p *project) warnUnheld() {
	if len(p.providers.Unheld) == 0 {
		return
	}
	list := ""
	for _, a := range p.providers.Unheld {
		list += "\n  - " + a.ForDisplay()
	}
	p.bag.Add(diag.Warningf("Incomplete lock file information for providers", "The checksums of these providers were computed from what was installed:%s\n\nThe lock file %s has those for %s only, so that on another platform init refuses their packages. The command \"providers lock -fs-mirror=DIR -platform=OS_ARCH\" of Terraform or OpenTofu, which share this file, adds those of another platform.", list, fetch.LockName, fetch.Platform()))
}

// stateNeeds are providers that only the state needs.
func stateNeeds(s *state.Snapshot, have []fetch.Need) []fetch.Need {
	known := map[string]bool{}
	for _, n := range have {
		known[n.Provider.Canon().String()] = true
	}
	var out []fetch.Need
	for _, r := range s.Resources() {
		if a := r.Provider.Provider; !known[a.Canon().String()] {
			known[a.Canon().String()] = true
			out = append(out, fetch.Need{Provider: a})
		}
	}
	return out
}

func (p *project) writeLock() bool {
	if !p.lock.Changed() {
		return true
	}
	if p.setup.lockfile == "readonly" {
		p.bag.Add(diag.Errorf("Provider dependency changes detected", "Changes to the required provider dependencies were detected, but the lock file is read-only. To use and record these requirements, run \"lethe init\" without the \"-lockfile=readonly\" flag."))
		return false
	}
	isNew := p.lock.IsNew()
	if err := p.lock.Write(); err != nil {
		p.bag.Add(diag.Errorf("Failed to save dependency lock file", "The file %s cannot be written: %s.", fetch.LockName, disk.Reason(err)))
		return false
	}
	if isNew {
		p.ui.step("lock_info", "\nLethe has created a lock file .terraform.lock.hcl to record the provider\nselections it made above. Include this file in your version control repository\nso that Lethe can guarantee to make the same selections by default when\nyou run \"lethe init\" in the future.")
	} else {
		p.ui.step("dependencies_lock_changes_info", "\nLethe has made some changes to the provider dependency selections recorded\nin the .terraform.lock.hcl file. Review those changes and commit them to your\nversion control system if they represent changes you intended to make.")
	}
	return true
}

func (p *project) initDone() {
	p.ui.step("output_init_success_message", "\nLethe has been successfully initialized!")
	if p.Getenv("TF_IN_AUTOMATION") != "" {
		return
	}
	p.ui.step("output_init_success_cli_message", "\nYou may now begin working with Lethe. Try running \"lethe plan\" to see\nany changes that are required for your infrastructure. All Lethe commands\nshould now work.\n\nIf you ever set or change modules or backend configuration for Lethe,\nrerun this command to reinitialize your working directory. If you forget, other\ncommands will detect it and remind you to do so if necessary.")
}

var getCommand = &Command{
	Name: "get", Stream: true, Short: "Install or upgrade remote modules",
	Long: "Downloads and installs modules needed for the configuration in the\ncurrent working directory.",
	Flags: func(c *call) {
		c.flags.BoolVar(&c.setup.upgrade, "update", false, "Check for newer versions.")
		c.flags.String("test-directory", "tests", "Accepted for compatibility: the `directory` of test files.")
		c.jsonFlag()
		c.varFlags()
	},
	Run: func(ctx context.Context, c *call) int {
		if !c.noOperands() {
			return c.ui.fail()
		}
		p, ok := c.open()
		if !ok {
			return c.ui.fail()
		}
		defer p.close()
		c.setup.get = true
		if !p.load() || !p.initModules() {
			return c.ui.fail()
		}
		return c.ui.done(exitOK)
	},
}

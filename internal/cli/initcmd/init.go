// Package initcmd defines the commands that prepare a working directory: init and get.
package initcmd

import (
	"context"
	"sync"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/loader"
	"github.com/lethe-iac/lethe/internal/cli/plugins"
	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
)

// Init is the command `init`.
var Init = &base.Command{
	Name: "init", Stream: true, Short: "Prepare your working directory for other commands",
	Long: `Initialize a new or existing Lethe working directory by creating
initial files, loading any remote state, downloading modules, etc.

This is the first command that should be run for any new or existing
Lethe configuration per machine. This sets up all the local data
necessary to run Lethe that is typically not committed to version
control.`,
	Examples: [][2]string{
		{"lethe init", "Install modules and providers"},
		{"lethe init -upgrade", "Install the newest versions that the constraints allow"},
		{"lethe init -migrate-state", "Move the state to a backend that was changed"},
		{"lethe init -backend-config=prod.s3.tfbackend", "Read settings of the backend from a file"},
	},
	Setup: base.Flags(func(c *base.Call, f *initFlags) {
		flags := c.Flags
		flags.BoolVar(&f.backend, "backend", true, "Set up the backend.")
		flags.BoolVar(&f.backend, "cloud", true, "Another name for -backend.")
		flags.Var(&f.backendConfig, "backend-config", "A backend setting, as `key=value`, or a file with settings.")
		flags.BoolVar(&f.forceCopy, "force-copy", false, "Answer \"yes\" to questions about copying state.")
		flags.StringVar(&f.fromModule, "from-module", "", "Copy this `module` into the directory first.")
		flags.BoolVar(&f.get, "get", true, "Install modules.")
		flags.Var(&f.pluginDirs, "plugin-dir", "Look for providers only in this `directory`. May be given many times.")
		flags.BoolVar(&f.reconfigure, "reconfigure", false, "Forget the saved backend configuration.")
		flags.BoolVar(&f.migrate, "migrate-state", false, "Move the state to the backend as configured now.")
		flags.BoolVar(&f.upgrade, "upgrade", false, "Install the newest allowed versions instead of the locked ones.")
		flags.StringVar(&f.lockfile, "lockfile", "", "Set to \"readonly\" to fail instead of changing the lock file (`mode`). If the file has no modules at all, missing modules are a warning.")
		flags.BoolVar(&f.offline, "offline", false, "Use only packages on this machine. Ask no server except the backend.")
		c.RemoteFlag()
		f.TestsFlag(c)
		c.StreamFlags()
		f.VarFlags(c)
		f.LockFlags(c)
	}, runInit),
}

func runInit(ctx context.Context, c *base.Call, f *initFlags) int {
	if !f.fit(&c.Bag) {
		return c.UI.Fail()
	}
	d, ok := workdir.Open(c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	if f.offline {
		d.Network.Registry.Client.Offline = true
	}
	l := loader.New(d)
	i := &initialization{c: c, f: f, dir: d, loader: l, states: states.New(l), plugins: plugins.New(d)}
	c.AtEnd(i.states.Unlock)
	if f.fromModule != "" && !i.copyModule(ctx) {
		return c.UI.Fail()
	}
	if empty, err := i.emptyDir(); err != nil || empty {
		c.UI.Step("output_init_empty_message", "Lethe initialized in an empty directory!\n\nThe directory has no Lethe configuration files. You may begin working\nwith Lethe immediately by creating Lethe configuration files.\n")
		return c.UI.Done(base.ExitOK)
	}
	// As in Terraform, the backend is configured before the modules are installed. If the root module cannot be read,
	// Load reports the errors later.
	if f.backend && l.LoadRoot() {
		c.UI.Step("initializing_backend_message", "\nInitializing the backend...")
		if !i.installStores(ctx) || !i.initBackend(ctx) {
			return c.UI.Fail()
		}
	}
	title := sync.OnceFunc(func() {
		if f.upgrade {
			c.UI.Step("upgrading_modules_message", "Upgrading modules...")
		} else {
			c.UI.Step("initializing_modules_message", "Initializing modules...")
		}
	})
	if f.get {
		l.InstallModules(ctx, f.upgrade, func(text string) {
			title()
			c.UI.Line(text)
		})
	}
	i.warnIgnoredFiles()
	if !l.Load() || !l.LoadAllTests() {
		return c.UI.Fail()
	}
	l.RequireQueries()
	if f.get && (!initModules(l, f.upgrade, title) || !i.lockModules()) || !i.initProviders(ctx) {
		return c.UI.Fail()
	}
	code := c.UI.Done(base.ExitOK)
	if code == base.ExitOK {
		i.initDone()
	}
	return code
}

func (i *initialization) initDone() {
	i.c.UI.Step("output_init_success_message", "\nLethe has been successfully initialized!")
	if i.c.Getenv("TF_IN_AUTOMATION") != "" {
		return
	}
	i.c.UI.Step("output_init_success_cli_message", "\nYou may now begin working with Lethe. Try running \"lethe plan\" to see\nany changes that are required for your infrastructure. All Lethe commands\nshould now work.\n\nIf you ever set or change modules or backend configuration for Lethe,\nrerun this command to reinitialize your working directory. If you forget, other\ncommands will detect it and remind you to do so if necessary.")
}

// Package settings reads the settings outside of a configuration: environment variables and the CLI configuration.
//
//	settings.go     Settings: everything that a command reads before it opens anything
//	environment.go  limits, intervals, versions; variables of Terraform and OpenTofu without effect
//	network.go      Network: registries, credentials, retries
//
// A command reports an invalid setting when it reads the settings, even if the command would not use the setting.
package settings

import (
	"os"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cliconfig"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/experiment"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/keeper"
	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/view"
)

// Settings are the settings of the environment variables and of the CLI configuration.
type Settings struct {
	CLI         *cliconfig.Settings
	Limits      limits.Limits
	Deadlines   provider.Deadlines // time limits for calls of providers
	Disabled    shortcut.Set       // disabled optimizations
	Experiments experiment.Set
	Interim     time.Duration    // the time between two states that are stored during an apply
	Language    string           // the version that is compared with required_version; "" means the version of Lethe
	WithoutInit bool             // a backend may be used without init
	ForgetData  state.Forgetting // selects the data sources whose results are not stored in states
}

// Read reads the settings. At the first invalid setting, it reports an error and returns false.
func Read(c *base.Call) (*Settings, bool) {
	s := &Settings{Deadlines: provider.DefaultDeadlines()}
	var err error
	if s.Disabled, err = shortcut.Parse(c.Getenv(shortcut.Variable)); err != nil {
		c.Bag.Add(diag.Errorf("Invalid "+shortcut.Variable, "The environment variable %s must list the shortcuts to turn off: %s.", shortcut.Variable, err))
		return nil, false
	}
	if s.Experiments, err = experiments(c); err != nil {
		c.Bag.Add(diag.Errorf("Invalid "+experiment.Variable, "The option -experiment and the environment variable %s must list experiments: %s.", experiment.Variable, err))
		return nil, false
	}
	if err := s.Deadlines.Parse(c.Getenv(provider.DeadlinesVariable)); err != nil {
		c.Bag.Add(diag.Errorf("Invalid "+provider.DeadlinesVariable, "The environment variable %s, the time limits of providers, is not valid: %s.", provider.DeadlinesVariable, err))
		return nil, false
	}
	if keeps := c.Getenv(keeper.Variable); keeps != "" && keeps != "on" && keeps != "off" {
		c.Bag.Add(diag.Errorf("Invalid "+keeper.Variable, "The environment variable %s must be on or off, not %q. It turns the keeper on or off, a second process that closes ephemeral resources if Lethe is killed. The default is on.", keeper.Variable, keeps))
		return nil, false
	}
	var ok bool
	if s.Interim, ok = readInterval(c); !ok {
		return nil, false
	}
	if s.Limits, ok = ReadLimits(c); !ok {
		return nil, false
	}
	if s.CLI, ok = cliConfig(c, s.Limits); !ok {
		return nil, false
	}
	if s.CLI.CacheMayBreak {
		c.Bag.Add(diag.Warningf("Invalid CLI configuration", "The setting plugin_cache_may_break_dependency_lock_file has no effect: %s.", cacheKeepsLock))
	}
	if s.Language, ok = languageVersion(c, s.CLI); !ok {
		return nil, false
	}
	if s.WithoutInit, ok = withoutInit(c, s.CLI); !ok {
		return nil, false
	}
	if s.ForgetData, ok = forgetData(c, s.CLI); !ok {
		return nil, false
	}
	return s, true
}

// ReadReattached returns the provider processes in TF_REATTACH_PROVIDERS, which another program has started, by
// provider. It reports an error and returns false if the variable is invalid.
func ReadReattached(c *base.Call) (map[addr.Provider]launch.Reattach, bool) {
	running, err := launch.ParseReattach(c.Getenv("TF_REATTACH_PROVIDERS"))
	if err != nil {
		c.Bag.Add(diag.Errorf("Invalid TF_REATTACH_PROVIDERS", "%s.", err))
	}
	return running, err == nil
}

// cliConfig reads the CLI configuration files. If a file cannot be opened, it prints a warning on standard error, even
// if the output of the command is a document such as JSON. It does not warn if the command reports the file itself. It
// returns false if a file is invalid.
func cliConfig(c *base.Call, l limits.Limits) (*cliconfig.Settings, bool) {
	getenv := func(name string) string {
		v := c.Getenv(name)
		if name == "TF_CLI_CONFIG_FILE" || name == "TERRAFORM_CONFIG" {
			v = paths.In(c.Start, v)
		}
		return v
	}
	s, ok := cliconfig.Load(getenv, l, c.Sources, &c.Bag, func(file string, err error) {
		if c.Command.ReportsCLIConfig {
			return
		}
		human := view.NewHuman(c.Stderr, c.Stderr, c.ViewOptions())
		human.Diagnostics([]diag.Diagnostic{diag.Warningf("Unable to open CLI configuration file", "The CLI configuration file at %q is ignored: %s.", file, disk.Reason(err))})
	})
	_ = c.View.Silence.Add(s.Silence...) // cliconfig has checked the codes
	for a, dir := range s.Overrides {
		s.Overrides[a] = os.Expand(dir, c.Getenv)
	}
	return s, ok
}

// Package project is a working directory as a command uses it: its configuration, its providers, its
// state, and the values of its variables.
//
//	Open       settings, limits, the lock file, and a pool of providers; no configuration yet
//	Load       the configuration, with the modules it calls
//	Vars       values of root variables: collected, asked for, taken from a saved plan
//	Compile    the program: names, references, schemas
//	Judge      all that is wrong with what was loaded
//	LockState  the state of a workspace, locked until the command ends; ReadState reads one without
//
// What flags say about it is in Options; each command registers those that it takes. Plans, applies and
// what they print are for the commands.
package project

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/backend"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cliconfig"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/fetch"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/registry"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// Options are the flags about a working directory.
type Options struct {
	Vars         []Assignment // -var and -var-file, in the order given
	Input        bool         // questions may be asked
	Lock         bool         // the state is locked
	LockTimeout  time.Duration
	State        string // files instead of those of the workspace
	StateOut     string
	Backup       string
	Parallelism  int
	CloseTimeout time.Duration // of one lease; 0: as the CLI configuration says
	Deprecation  string        // one of Deprecations
	Tests        string        // the directory of tests beside that of the root module
	Config       string        // the directory of the root module; "": the working directory
}

// Assignment is one -var or -var-file.
type Assignment struct {
	File bool
	Text string
}

// Project is a working directory that was opened.
type Project struct {
	Call      *base.Call
	Bag       *diag.Bag    // of the call
	UI        *base.Screen // of the call
	Options   *Options
	Dir       string // the working directory
	Root      string // the directory of the root module
	Data      string // .terraform
	Settings  *cliconfig.Settings
	PlanKey   *PlanKey // what saved plans are sealed with
	Limits    limits.Limits
	Lock      *fetch.Lockfile
	Providers *fetch.Providers
	Modules   *fetch.Installer // of modules that come from elsewhere
	Pool      *provider.Pool
	Engine    *engine.Engine
	Tree      *config.Tree     // nil before Load
	Program   *program.Program // nil before Compile
	Vars      *Variables
	Applying  bool   // the command changes things
	Backend   string // the type of the store whose state is locked
	Place     string // where that is, as saved plans say it
	// BackendSettings are the settings of that store, as saved plans hold them.
	BackendSettings json.RawMessage
	Settles         addr.Instance // the object whose unknown outcomes the command settles
	Replaces        bool          // the command replaces the state, also one that cannot be read
	Overwrites      bool          // the command writes a whole state, so that an empty file is no error

	deadlines provider.Deadlines
	interval  time.Duration // between two interim states
	language  string        // the version to compare required_version with; "": that of Lethe
	unasked   bool          // a backend may be used that init has not set up

	log      *logger      // nil: nothing is logged
	tested   *config.Node // the root with the modules of tests beside those that it calls; nil before LoadTests
	reattach map[addr.Provider]launch.Reattach
	closed   shortcut.Set
	states   func() *backend.Directory
	lacking  []string  // secrets of the backend that a saved plan does not hold
	unsure   *diag.Bag // what keeps the root module from saying where the states are; nil: nothing does
	hosts    store.Hosts
	install  context.Context // of a command that installs modules; nil: only what was installed is used
}

// PlanKey is the key that saved plans are sealed with (ADR 36): what the environment says, or else one of the user, which
// is made for the first plan that is saved.
type PlanKey struct {
	given func() []byte // of the environment; nil: it says nothing
	path  string        // of the user's; "": there is no place for one
	fs    disk.FS
}

// Variables are the values of root variables.
type Variables struct {
	Given  map[string]frame.Given      // nil before Collect
	wanted map[string]*config.Variable // by test files, beside those that the root module declares
	// undecided says that test files will be read, which may want more; what is given to variables that are not declared
	// passes until then.
	undecided bool
	answers   map[string]frame.Given // what was asked for
	p         *Project
}

// hosts are the services of hosts, found as registries are, with the credentials of the user.
type hosts struct {
	*registry.Registry
	*cliconfig.Credentials
}

// Service implements store.Hosts.
func (h hosts) Service(ctx context.Context, host, service string) (*url.URL, error) {
	_, u, err := h.Registry.Service(ctx, host, service)
	return u, err
}

// Package backend finds the place of the states of a working directory, and moves them when the place changes.
//
// The backend block of a configuration names the place, and -backend-config adds settings that should not be in the
// block. The command init records the result in .terraform/terraform.tfstate, in the form that Terraform and OpenTofu
// use, so that later commands need no -backend-config. The package uses these names for settings:
//
//	declared    the evaluated block; without a block, the settings for files of the directory
//	overridden  the declared settings with the settings of -backend-config
//	remembered  the settings that init recorded, with a fingerprint (digest) of the block
//	current     the settings that commands use: the remembered settings, as long as the block has not changed
//
// A command calls Open to get the current store. Open refuses to work if the block has changed since init. The command
// init calls Init instead. Init decides which store is used from now on, moves the states of the former store if the
// user wants that, and records the decision.
//
// A block that init has not seen is refused (LE1209). There are two exceptions. The block of the backend "local" names
// the place completely (placement.go). Other backends may be used without init if the user permits it
// (Options.WithoutInit, ADR 44).
//
// Directory has the entry points of commands. Its parts, from the top down:
//
//	migration         copies the states of one store into another, for init
//	planBackend       the backend of a saved plan that is applied
//	placement         checks, without init, that the state is in the place that a command is about to use
//	record            the record of init in the data directory
//	opener, clients   open stores, with and without the configured encryption
//	encryptionConfig  the declared encryption
//	declaration       the declared backend, and -backend-config
//	stateStores       the state stores of providers (ADR 60)
//	settings          a kind of store and its settings
//
// A kind of store is a store.Driver: a name, a schema for its settings, and a function that opens a store. This package
// knows nothing else about the kinds, except that two stores may use the same files.
package backend

import (
	"context"
	"encoding/json"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/azurestore"
	"github.com/lethe-iac/lethe/internal/store/consulstore"
	"github.com/lethe-iac/lethe/internal/store/gcsstore"
	"github.com/lethe-iac/lethe/internal/store/httpstore"
	"github.com/lethe-iac/lethe/internal/store/kubestore"
	"github.com/lethe-iac/lethe/internal/store/pgstore"
	"github.com/lethe-iac/lethe/internal/store/remotestore"
	"github.com/lethe-iac/lethe/internal/store/s3store"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// Drivers are all kinds of stores that a backend block can name.
var Drivers = store.Drivers{store.LocalDriver, store.MemoryDriver, azurestore.Driver, consulstore.Driver, httpstore.Driver, gcsstore.Driver, kubestore.Driver, pgstore.Driver, remotestore.Driver, s3store.Driver}

// Options are the functions and settings that a Directory needs. Env, Root, Static, Sources and Display are required.
type Options struct {
	Env     *workspace.Env
	Limits  limits.Limits // the limits for files of -backend-config
	Sources *diag.Sources // receives the texts of the files of -backend-config, for diagnostics
	// Root returns the root module, or nil if the directory has no configuration.
	Root func() *config.Module
	// Static returns an object that evaluates the expressions of a backend block, in which only constant values are
	// permitted.
	Static func(root *config.Module) *frame.StaticFrame
	// Display returns a path in the form for messages.
	Display func(path string) string
	// WithoutInit permits the use of a backend that init has not set up. When such a backend is used, Using is called with
	// a sentence that names the backend and the place of the state. Using may be nil.
	WithoutInit bool
	Using       func(text string)
	Clients     Clients
	Plugins     Plugins // starts the providers of state_store blocks; nil means that such blocks are not permitted
}

// Clients has settings and functions for the clients of stores and key services. All of them are optional.
type Clients struct {
	// Hosts finds the services of hosts, and the user's credentials for them.
	Hosts store.Hosts
	// Agent is the name by which clients identify themselves to servers.
	Agent string
	// Notify shows the user a line about a request of a client, such as a retry.
	Notify func(text string)
	// Stop ends the retries of clients, including the retries of writes.
	Stop context.Context
	// Secret is called with each secret in the settings of a store or of the encryption, so that output hides it. The
	// parameter where describes the settings.
	Secret func(text, where string)
}

// Plugins start the providers of state stores.
type Plugins interface {
	// Selected returns the version of a provider that the lock file selects. It returns "" for a provider whose program
	// the user has chosen, so that it may change without a new version. The error is the reason why the provider cannot be
	// started.
	Selected(p addr.Provider) (version string, err error)
	// Pool returns the pool of the provider processes. The processes end after the last use of a state.
	Pool() *provider.Pool
}

// pinned is the provider of a state store, in the form in which init and saved plans record it. A saved plan has no
// Version, because its lock file has the version.
type pinned struct {
	Source  addr.Provider   `json:"source"`
	Version string          `json:"version,omitempty"`
	Config  json.RawMessage `json:"config,omitempty"`
}

// Planned is the backend with which a saved plan was made, as stored in the plan. Apply uses that backend even if init
// has set up another backend since.
type Planned struct {
	Type   string          `json:"type"`
	Config json.RawMessage `json:"config"`
	// Withheld names the settings that the plan omits because they are secret, or may contain a secret.
	Withheld []string `json:"withheld,omitempty"`
	Provider *pinned  `json:"provider,omitempty"` // the provider of a state store, without its settings, which are in Config

	Lineage string `json:"-"` // the lineage of the state from which the plan was made
	Place   string `json:"-"` // a digest of the place of the state; see Opened.Place
}

// Files has the state files that options of a command name, instead of the files of the workspace. A missing option is
// "". The paths are absolute, except a Backup of store.NoBackup ("-").
type Files struct {
	In, Out, Backup string
	// Alone is true for a command that only works on states. If In is set, such a command uses that file, even if the
	// backend stores states elsewhere. For other commands, that is an error.
	Alone bool
}

func (f Files) named() bool { return f.In != "" || f.Out != "" || f.Backup != "" }

// InitRequest has the options of init about the backend.
type InitRequest struct {
	Overrides   []string // the values of -backend-config: "name=value", or a file of settings
	Reconfigure bool     // ignore the backend in use, and leave its states there: -reconfigure
	Migrate     bool     // states may be moved to the new backend: -migrate-state
	ForceCopy   bool     // copy states without asking, even over existing states: -force-copy
	Lock        workspace.Request
	// Setting asks the user for the value of a missing required setting. answered is false if the user gives no answer.
	// Setting is nil if no user can be asked.
	Setting func(name, note string, secret bool) (text string, answered bool)
	// Copies asks whether to copy states from one backend to another. Its arguments are the types of the two backends.
	// answered is false if the user gives no answer.
	Copies func(from, to string) (copies, answered bool)
	// Rename asks for a new name for the state of the default workspace, if the new backend has no default workspace. It
	// returns "" if the user gives no answer.
	Rename func() string
	// Choose asks which of the workspaces in names to select, because the selected workspace is not among them. It returns
	// "" if the user gives no answer.
	Choose func(selected string, names []string) string
	// Unset is called with the type of the former backend if the configuration no longer declares a backend.
	Unset func(was string)
}

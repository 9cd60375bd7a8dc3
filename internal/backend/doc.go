// Package backend finds the place of the states of a working directory, and moves them when the place
// changes.
//
// The backend block of a configuration names the place, and -backend-config adds settings that should not be in the
// block. init records the result in .terraform/terraform.tfstate, in the form that Terraform and OpenTofu use, so that
// later commands need no -backend-config:
//
//	declared    the evaluated block; the files of the directory without a block
//	overridden  with the settings of -backend-config
//	remembered  the settings that init recorded, with a fingerprint of the block
//	current     the settings that commands use: the remembered ones, as long as the block has not changed
//
// Open is for every command: it opens the current store, and refuses to work if the block has
// changed since. Init is for the command of that name: it decides which store is used from now on,
// moves the states of the former one if the user wants that, and records the decision.
//
// A block that init has not seen is refused (LE1209), except backend "local", whose place the block alone names
// (placement.go), and except if the user permits it (Options.WithoutInit, ADR 44).
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
// A kind of store is a store.Driver: a name, a schema for its settings, and a function that opens
// a store. This package knows nothing else about the kinds, except that two stores may be the same files.
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

// Drivers are the kinds of store that there are.
var Drivers = store.Drivers{store.LocalDriver, store.MemoryDriver, azurestore.Driver, consulstore.Driver, httpstore.Driver, gcsstore.Driver, kubestore.Driver, pgstore.Driver, remotestore.Driver, s3store.Driver}

// Options are the dependencies of a Directory. Env, Root, Static, Sources and Display are required.
type Options struct {
	Env     *workspace.Env
	Limits  limits.Limits // for files of settings
	Sources *diag.Sources // receives the texts of these files
	// Root returns the root module, nil if there is no configuration.
	Root func() *config.Module
	// Static returns a frame for the expressions of a backend block.
	Static func(root *config.Module) *frame.StaticFrame
	// Display returns the form of a path in messages.
	Display func(path string) string
	// WithoutInit permits the use of a backend that init has not set up. Using is then called with a sentence that
	// names the backend and the place of the state. It may be nil.
	WithoutInit bool
	Using       func(text string)
	Clients     Clients
	Plugins     Plugins // may be nil if no state_store block is permitted
}

// Clients are the dependencies of the clients of stores and key services. All of them are optional.
type Clients struct {
	// Hosts know the services of hosts, and the credentials for them.
	Hosts store.Hosts
	// Agent is the name by which clients identify themselves to servers.
	Agent string
	// Notify shows the user a line about an operation of a client, such as a retry.
	Notify func(text string)
	// Stop ends the retries of clients, including the retries of writes.
	Stop context.Context
	// Secret is called with each secret in the settings of a store or of an encryption, and its address.
	Secret func(text, where string)
}

// Plugins start the providers of state stores.
type Plugins interface {
	// Selected returns the version of a provider that the lock file selects, "" if the program may change without a new
	// version. The error is the reason why the provider cannot be started.
	Selected(p addr.Provider) (version string, err error)
	// Pool returns the processes. They end after the last use of a state.
	Pool() *provider.Pool
}

// pinned is the provider of a state store, as init and saved plans record it. The lock file of a plan has its version.
type pinned struct {
	Source  addr.Provider   `json:"source"`
	Version string          `json:"version,omitempty"`
	Config  json.RawMessage `json:"config,omitempty"`
}

// Planned is the backend that a saved plan was made with. Apply uses it, whatever init has set up since.
type Planned struct {
	Type   string          `json:"type"`
	Config json.RawMessage `json:"config"`
	// Withheld names the settings that are secret, or may contain a secret: a plan does not hold them.
	Withheld []string `json:"withheld,omitempty"`
	Provider *pinned  `json:"provider,omitempty"` // of a state store, without its settings, which Config has

	Lineage string `json:"-"` // of the state that the plan was made from
	Place   string `json:"-"` // see Opened.Place
}

// Files are the files that flags of a command name instead of the files of the workspace; "" if a flag is missing. The
// paths are absolute, except a Backup of store.NoBackup.
type Files struct {
	In, Out, Backup string
	// Alone is true for a command that only works on states: with In, it works on that file, whatever the backend.
	Alone bool
}

func (f Files) named() bool { return f.In != "" || f.Out != "" || f.Backup != "" }

// InitRequest has the options of init about the backend.
type InitRequest struct {
	Overrides   []string // of -backend-config: "name=value", or a file of settings
	Reconfigure bool     // ignore the backend in use
	Migrate     bool     // states may be moved
	ForceCopy   bool     // copy states without a question, over existing ones
	Lock        workspace.Request
	// Setting asks the user for a required setting that is missing. answered is false if the user gives no answer. nil:
	// nobody can be asked.
	Setting func(name, note string, secret bool) (text string, answered bool)
	// Copies asks whether states are to be copied from a backend of one type to one of another. It
	// reports that the question has no answer.
	Copies func(from, to string) (copies, answered bool)
	// Rename asks for a name for the default workspace in a backend that has no default workspace: "" without an
	// answer.
	Rename func() string
	// Choose asks which of some workspaces is to be selected, where none of them is: "" if that has no answer.
	Choose func(selected string, names []string) string
	// Unset is called with a backend that is no longer used, because no block declares a backend.
	Unset func(was string)
}

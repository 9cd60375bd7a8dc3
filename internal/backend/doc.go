// Package backend knows where the states of a working directory are kept, and moves them when that
// changes.
//
// A configuration says in its backend block where states are kept; -backend-config adds what should
// not stand there. What both come to is remembered by init in .terraform/terraform.tfstate, in the
// form that Terraform and OpenTofu use, so that later commands need no -backend-config:
//
//	declared    what the block says, evaluated; the files of the directory without a block
//	overridden  with what -backend-config says
//	remembered  what init wrote down, with a fingerprint of the block that it saw
//	current     what commands work with: what is remembered, as long as the block is still that one
//
// Open is for every command: it opens the current store, and refuses to work where the block has
// changed since. Init is for the command of that name: it settles which store is used from now on,
// moves what the former one has if that is wanted, and writes it down.
//
// A block that init has not seen is refused (LE1209), except backend "local", whose place the block alone names
// (settle.go), and except where the user permits it (Directory.WithoutInit, ADR 44). Files, from the top down: init.go; open.go; settle.go; memory.go; stores.go, which opens a store as the
// configuration encrypts it; encryption.go; settings.go.
//
// A kind of store is a store.Driver: a name, a schema for its settings, and a function that opens
// one. Nothing here knows more of any of them, but that two may be the same files.
package backend

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/azurestore"
	"github.com/lethe-iac/lethe/internal/state/store/consulstore"
	"github.com/lethe-iac/lethe/internal/state/store/crypt"
	"github.com/lethe-iac/lethe/internal/state/store/gcsstore"
	"github.com/lethe-iac/lethe/internal/state/store/httpstore"
	"github.com/lethe-iac/lethe/internal/state/store/kubestore"
	"github.com/lethe-iac/lethe/internal/state/store/pgstore"
	"github.com/lethe-iac/lethe/internal/state/store/remotestore"
	"github.com/lethe-iac/lethe/internal/state/store/s3store"
	"github.com/lethe-iac/lethe/internal/workspace"
	"github.com/zclconf/go-cty/cty"
)

// Drivers are the kinds of store that there are.
var Drivers = store.Drivers{store.LocalDriver, store.MemoryDriver, azurestore.Driver, consulstore.Driver, httpstore.Driver, gcsstore.Driver, kubestore.Driver, pgstore.Driver, remotestore.Driver, s3store.Driver}

// Directory is a working directory as far as its states are concerned.
type Directory struct {
	Env     *workspace.Env
	Limits  limits.Limits // for files of settings
	Sources *diag.Sources // takes their texts
	// Root is the root module, nil where there is none.
	Root func() *config.Module
	// Static evaluates what may stand in a backend block.
	Static func(root *config.Module) *frame.StaticFrame
	// Planned is the backend of a saved plan, whose root module Root then returns; nil without one. Present is the root module
	// of the directory, nil if there is none.
	Planned *Planned
	Present func() *config.Module
	// Hosts know what hosts offer, and who asks them.
	Hosts store.Hosts
	// Agent is how clients of stores name themselves to servers.
	Agent string
	// Tell shows the user a line about what a store does: that it retries a request, say. It may be nil.
	Tell func(text string)
	// Stop ends the retries of stores, also those of writes. It may be nil.
	Stop context.Context
	// Secret is called with what is secret in the settings of a store or of an encryption, and where it stands. It
	// may be nil.
	Secret func(text, where string)
	// WithoutInit permits the use of a backend that init has not set up. Using is then called with a sentence that names the
	// backend and the place of the state.
	WithoutInit bool
	Using       func(text string)
	// Display is a path as messages show it.
	Display func(path string) string

	encrypting encrypting
	lacking    []string // see Lacking
}

// Planned is the backend that a saved plan was made with. Apply uses it, whatever init has set up since.
type Planned struct {
	Type   string          `json:"type"`
	Config json.RawMessage `json:"config"`
	// Withheld names the settings that are secret, or may contain a secret: a plan does not hold them.
	Withheld []string `json:"withheld,omitempty"`

	Lineage string `json:"-"` // of the state that the plan was made from
	Place   string `json:"-"` // see Opened.Place
}

// Files are the files that the flags of a command name instead of those of the workspace, "" for none.
// They are absolute, but for a Backup of store.NoBackup.
type Files struct{ In, Out, Backup string }

// Opened is a store in use.
type Opened struct {
	store.Store
	Type string // its driver's name
	// Written remembers where the state was written, if nothing does yet: it is called after the first
	// writing. nil where there is nothing to do.
	Written func()

	settings settings
}

// InitRequest is what init is asked to do about the backend.
type InitRequest struct {
	Overrides   []string // of -backend-config: "name=value", or a file of settings
	Reconfigure bool     // what was used before is of no interest
	Migrate     bool     // states may be moved
	ForceCopy   bool     // they are, without a question, over those that are there
	Lock        workspace.Request
	// Setting asks for a setting that the store needs and nobody has said. It reports that the question has no answer.
	// Nil: nobody can be asked.
	Setting func(name, note string, secret bool) (text string, answered bool)
	// Copies asks whether states are to be copied from a backend of one type to one of another. It
	// reports that the question has no answer.
	Copies func(from, to string) (copies, answered bool)
	// Rename asks what the default workspace is to be called in a backend that has none: "" if that has no answer.
	Rename func() string
	// Choose asks which of some workspaces is to be selected, where none of them is: "" if that has no answer.
	Choose func(selected string, names []string) string
	// Unset is told of a backend that is not used any more, since no block declares one.
	Unset func(was string)
}

// settings say which store to use, and how it is set up.
type settings struct {
	driver store.Driver
	config cty.Value // of the driver's schema
	// ephemeral is what in them is not written down: secrets that come from ephemeral variables.
	ephemeral []cty.Path
	// lost are those that were not written down, and that nothing gives now.
	lost []string
}

// block is the backend or the cloud block; nil without one.
func (d *Directory) block() *config.Backend {
	if m := d.Root(); m != nil {
		return m.Stored()
	}
	return nil
}

// encrypting is an Encryption that is evaluated once.
type encrypting struct {
	once sync.Once
	is   *Encryption
	ok   bool
}

// Encryption says how what is written is encrypted; a target that is nil: not at all.
type Encryption struct {
	State, Plan *crypt.Target
	remote      map[string]*crypt.Target // by name of the data source; "" is the default
}

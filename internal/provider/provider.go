// Package provider is what a provider can do, in Go.
//
// A Provider is one running process (or a built-in) behind one interface, whichever protocol it
// speaks; package wire implements it over protocols 5 and 6. Values travel as Dynamic: encoded,
// and decoded only where a caller looks inside, so that an object that does not change is never taken
// apart. What a provider says to the user comes back as diagnostics with attribute paths; that a
// call failed altogether is a diagnostic as well, and names the provider.
//
// A Launcher starts processes, a Pool shares them: one process per provider serves schemas,
// validation and functions unconfigured, and becomes a session when it is configured.
package provider

import (
	"context"
	"errors"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Dynamic is a value as it travels (protocol message DynamicValue): MessagePack, or JSON where a
// provider chose that. The zero value stands for nothing sent.
type Dynamic struct {
	Msgpack []byte
	JSON    []byte
}

// Decode reads an object of a schema.
func (d Dynamic) Decode(s *schema.Schema) (cty.Value, error) {
	if d.JSON != nil {
		return s.DecodeJSON(d.JSON)
	}
	return s.Decode(d.Msgpack)
}

// Diags are what a provider, or the way to it, had to say. Their Path is inside the object that
// the call was about; the caller adds address and place.
type Diags []diag.Diagnostic

// Failed are what a provider in this process says of an error; none of nil.
func Failed(err error) Diags {
	if err == nil {
		return nil
	}
	return Diags{diag.Errorf("Operation failed", "%s.", err)}
}

// HasErrors reports whether one of them is an error.
func (ds Diags) HasErrors() bool {
	for _, d := range ds {
		if d.Severity == diag.Error {
			return true
		}
	}
	return false
}

// Provider is one provider process. All methods may be called concurrently; those that need
// settings only after Configure.
type Provider interface {
	// Addr is the provider's address.
	Addr() addr.Provider

	// Schemas gives everything the provider describes. It asks the process at most once.
	Schemas(ctx context.Context) (*Schemas, Diags)

	// ValidateConfig checks settings of the provider itself (unknown values allowed) and gives
	// them back with defaults of old SDKs filled in.
	ValidateConfig(ctx context.Context, config Dynamic) (Dynamic, Diags)
	// Configure hands the settings over, once in the life of a process.
	Configure(ctx context.Context, config Dynamic, allow Allow) Diags

	// Validate checks the configuration of an object of any mode.
	Validate(ctx context.Context, mode addr.Mode, typ string, config Dynamic) Diags

	// Upgrade brings a stored object to the current version of its schema.
	Upgrade(ctx context.Context, req UpgradeRequest) (UpgradeResponse, Diags)
	// Read gives an object as it is now, null if it is gone.
	Read(ctx context.Context, req ReadRequest) (ReadResponse, Diags)
	// Plan says what would become of an object.
	Plan(ctx context.Context, req PlanRequest) (PlanResponse, Diags)
	// Apply makes a planned change. What it answers is kept also beside errors.
	Apply(ctx context.Context, req ApplyRequest) (ApplyResponse, Diags)
	// Import finds objects by an id or an identity.
	Import(ctx context.Context, req ImportRequest) (ImportResponse, Diags)
	// Move makes an object of another type one of this provider's.
	Move(ctx context.Context, req MoveRequest) (MoveResponse, Diags)

	// ReadData reads a data source.
	ReadData(ctx context.Context, req DataRequest) (DataResponse, Diags)

	// Open opens an ephemeral resource.
	Open(ctx context.Context, req OpenRequest) (OpenResponse, Diags)
	// Renew renews one that is open, with the private data that opening or the last renewal gave.
	Renew(ctx context.Context, typ string, private []byte) (RenewResponse, Diags)
	// CloseLease closes it.
	CloseLease(ctx context.Context, typ string, private []byte) Diags

	// ConfiguredFunctions are those of a configured provider, which may be more than its schemas list.
	ConfiguredFunctions(ctx context.Context) (map[string]*Function, Diags)
	// Call runs a function of the provider. A *CallError blames an argument.
	Call(ctx context.Context, function string, args []Dynamic) (Dynamic, error)

	// UpgradeIdentity brings a stored identity to the current identity schema.
	UpgradeIdentity(ctx context.Context, typ string, version int64, json []byte) (Dynamic, Diags)

	// Stop asks the provider to give up what it is doing at this moment (protocol StopProvider). Calls
	// that come after it are answered.
	Stop(ctx context.Context) error
	// Shutdown ends the process. It may be called more than once.
	Shutdown() error
}

// Allow is what we let the provider answer (protocol ClientCapabilities), beside write-only
// attributes, which are always allowed.
type Allow struct{ Deferral bool }

// Deferred is a provider's reason to put a decision off (protocol Deferred.Reason): "",
// "resource_config_unknown", "provider_config_unknown", "absent_prereq", "unknown".
type Deferred string

// UpgradeRequest brings a stored object to the current schema (UpgradeResourceState). Exactly one
// of JSON and Flatmap is set.
type UpgradeRequest struct {
	Type    string
	Version int64
	JSON    []byte
	Flatmap map[string]string // written by very old programs
}

// UpgradeResponse is the object in the current schema.
type UpgradeResponse struct{ State Dynamic }

// ReadRequest refreshes an object (ReadResource).
type ReadRequest struct {
	Type     string
	State    Dynamic
	Private  []byte
	Identity Dynamic
	Meta     Dynamic
	Allow    Allow
}

// ReadResponse is the object as it is now; a null State means that it is gone.
type ReadResponse struct {
	State    Dynamic
	Private  []byte
	Identity Dynamic
	Deferred Deferred
}

// PlanRequest asks what would change (PlanResourceChange). Prior is null to create, Proposed and
// Config null to destroy.
type PlanRequest struct {
	Type                    string
	Prior, Proposed, Config Dynamic
	Private                 []byte
	Identity                Dynamic
	Meta                    Dynamic
	Allow                   Allow
}

// PlanResponse is the planned object.
type PlanResponse struct {
	Planned     Dynamic
	Replace     []cty.Path // attributes whose change needs a replacement
	Private     []byte
	Identity    Dynamic
	LegacyTypes bool // the provider's SDK cannot keep all rules
	Deferred    Deferred
}

// ApplyRequest makes a change (ApplyResourceChange). Planned and Config are null to destroy.
type ApplyRequest struct {
	Type                   string
	Prior, Planned, Config Dynamic
	Private                []byte
	Identity               Dynamic // planned
	Meta                   Dynamic
	Note                   Note `wire:"-"`
}

// Note goes with a call that changes or opens something to a process that makes it for this one, if there is such a
// process: so that it can record the outcome should this one be lost. The zero value says that there is no record.
type Note struct {
	Call uint64          // its number in the journal
	Rest func() [][]byte // in parts. Of a change: what its record needs and the answer has not; of an opening: its address
}

// ApplyResponse is what there is afterwards, also when the call failed. A zero State means that
// nothing was said about it.
type ApplyResponse struct {
	State       Dynamic
	Private     []byte
	Identity    Dynamic
	LegacyTypes bool
	Unanswered  bool // the call was made, and no answer came
}

// ErrAbandoned is the cause with which a context ends when the calls made with it are not waited for
// any longer.
var ErrAbandoned = errors.New("the call was not waited for")

// ImportRequest looks an existing object up, by id or by identity (ImportResourceState).
type ImportRequest struct {
	Type     string
	ID       string
	Identity Dynamic
	Allow    Allow
}

// ImportResponse is what was found; more than one object is possible.
type ImportResponse struct {
	Objects  []Imported
	Deferred Deferred
}

// Imported is one object that was found.
type Imported struct {
	Type     string
	State    Dynamic
	Private  []byte
	Identity Dynamic
}

// MoveRequest turns an object of another type into one of Type (MoveResourceState).
type MoveRequest struct {
	SourceProvider        addr.Provider
	SourceType            string
	SourceVersion         int64
	SourceJSON            []byte
	SourcePrivate         []byte
	SourceIdentity        []byte // JSON
	SourceIdentityVersion int64
	Type                  string
}

// MoveResponse is the object in its new type.
type MoveResponse struct {
	State    Dynamic
	Private  []byte
	Identity Dynamic
}

// DataRequest reads a data source (ReadDataSource).
type DataRequest struct {
	Type   string
	Object string `wire:"-"` // the address that is read, for providers that are built in: no other gets it
	Config Dynamic
	Meta   Dynamic
	Allow  Allow
}

// DataResponse is what was read.
type DataResponse struct {
	State    Dynamic
	Deferred Deferred
}

// OpenRequest opens an ephemeral resource (OpenEphemeralResource).
type OpenRequest struct {
	Type   string
	Config Dynamic
	Allow  Allow
	Note   Note `wire:"-"`
}

// OpenResponse is the open lease. RenewAt is zero where nothing is to be renewed. Private and
// RenewAt are meaningful also beside errors: what was opened must be closed.
type OpenResponse struct {
	Result   Dynamic
	Private  []byte
	RenewAt  time.Time
	Deferred Deferred

	Unanswered bool // the call was made, and no answer came
}

// RenewResponse is the lease's new private data and the next time.
type RenewResponse struct {
	Private []byte
	RenewAt time.Time
}

// CallError is a function's complaint.
type CallError struct {
	Text string
	Arg  int // 0-based; -1: none in particular
}

func (e *CallError) Error() string { return e.Text }

// Capabilities are what the provider announced (ServerCapabilities).
type Capabilities struct {
	PlanDestroy    bool // wants to plan destruction too
	SchemaOptional bool // needs no GetProviderSchema before other calls
	Move           bool
}

// Function is a provider function's signature.
type Function struct {
	Params             []Param
	Variadic           *Param
	Return             cty.Type
	Summary            string
	Description        string
	Markdown           bool
	DeprecationMessage string
}

// Param is a parameter of a provider function.
type Param struct {
	Name         string
	Type         cty.Type
	AllowNull    bool
	AllowUnknown bool
	Description  string
	Markdown     bool
}

// Identity is the schema of a resource type's identity.
type Identity struct {
	Version int64
	Attrs   []IdentityAttr
}

// IdentityAttr is one attribute of an identity.
type IdentityAttr struct {
	Name               string
	Type               cty.Type
	Required, Optional bool // for import
	Description        string
}

// Launcher starts provider processes.
type Launcher interface {
	// Start starts a process of a provider; the caller shuts it down.
	Start(ctx context.Context, p addr.Provider) (Provider, error)
}

// Schemas is everything a provider describes. Types are decoded one by one, when first asked
// for: a provider may describe thousands of which a configuration uses three.
type Schemas struct {
	Config       *schema.Schema // the provider's own settings
	Meta         *schema.Schema // provider_meta; nil if it takes none
	Capabilities Capabilities
	Functions    map[string]*Function
	// Part writes down what these schemas say of the types that are to be kept, and all else: equal
	// parts as equal bytes. nil where that cannot be done.
	Part func(keep func(addr.Mode, string) bool) []byte

	types      map[typeName]func() (*schema.Schema, error)
	sound      map[typeName]func() error
	config     func() error
	identities map[string]func() (*Identity, error)
}

type typeName struct {
	mode addr.Mode
	name string
}

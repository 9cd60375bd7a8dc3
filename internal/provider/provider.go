// Package provider defines the calls of a provider in Go.
//
// A Provider is one running process (or a built-in provider) behind one interface, for both versions of the protocol;
// package wire implements it over protocols 5 and 6. Values are Dynamic: encoded, and decoded only if a caller reads
// them, so that an unchanged object is never decoded. The provider's messages are diagnostics with attribute paths. A
// failed call is a diagnostic as well, and names the provider.
//
// A Launcher starts processes, and a Pool shares them: one process per provider serves schemas,
// validation and functions unconfigured, and becomes a session when it is configured.
package provider

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Dynamic is an encoded value (protocol message DynamicValue): MessagePack, or JSON if the provider chose it. The zero
// value means that no value was sent.
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

// Diags are diagnostics of a provider, or of the connection to it. Their Path is inside the object of the call; the
// caller adds address and place.
type Diags []diag.Diagnostic

// Failed returns an error of a provider in this process as diagnostics; none for nil.
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

// Provider is one provider process. All methods may be called concurrently. Methods that need settings may be called
// after Configure only.
type Provider interface {
	// Addr is the provider's address.
	Addr() addr.Provider

	// Schemas returns all schemas of the provider. It asks the process at most once.
	Schemas(ctx context.Context) (*Schemas, Diags)

	// ValidateConfig checks settings of the provider itself (unknown values allowed). It returns them with the defaults
	// that old SDKs fill in.
	ValidateConfig(ctx context.Context, config Dynamic) (Dynamic, Diags)
	// Configure sends the settings, once in the life of a process.
	Configure(ctx context.Context, config Dynamic, allow Allow) Diags

	// Validate checks the configuration of an object of any mode.
	Validate(ctx context.Context, mode addr.Mode, typ string, config Dynamic) Diags

	// Upgrade brings a stored object to the current version of its schema.
	Upgrade(ctx context.Context, req UpgradeRequest) (UpgradeResponse, Diags)
	// Read returns the current object, null if it no longer exists.
	Read(ctx context.Context, req ReadRequest) (ReadResponse, Diags)
	// Plan returns the planned object.
	Plan(ctx context.Context, req PlanRequest) (PlanResponse, Diags)
	// Apply makes a planned change. The answer is valid also beside errors.
	Apply(ctx context.Context, req ApplyRequest) (ApplyResponse, Diags)
	// Import finds objects by an id or an identity.
	Import(ctx context.Context, req ImportRequest) (ImportResponse, Diags)
	// Move makes an object of another type one of this provider's.
	Move(ctx context.Context, req MoveRequest) (MoveResponse, Diags)

	// ReadData reads a data source.
	ReadData(ctx context.Context, req DataRequest) (DataResponse, Diags)

	// List searches for existing objects of a managed type. The sequence has each answer, in order. If the call fails,
	// the last element has no answer and an error. Ending the iteration early cancels the call.
	List(ctx context.Context, req ListRequest) iter.Seq2[Listed, Diags]

	// PlanAction checks an invocation of an action, whose configuration may have unknown values.
	PlanAction(ctx context.Context, req ActionRequest) (Deferred, Diags)
	// Invoke invokes an action. The sequence has each answer, in order: reports of progress, and then the end. If no end
	// came, the last element is not answered and has an error.
	Invoke(ctx context.Context, req ActionRequest) iter.Seq2[Invoked, Diags]

	// Open opens an ephemeral resource.
	Open(ctx context.Context, req OpenRequest) (OpenResponse, Diags)
	// Renew renews an open lease, with the private data of the opening or of the last renewal.
	Renew(ctx context.Context, typ string, private []byte) (RenewResponse, Diags)
	// CloseLease closes it.
	CloseLease(ctx context.Context, typ string, private []byte) Diags

	// ConfiguredFunctions returns the functions of a configured provider. They may be more than its schemas list.
	ConfiguredFunctions(ctx context.Context) (map[string]*Function, Diags)
	// Call runs a function of the provider. A *CallError blames an argument.
	Call(ctx context.Context, function string, args []Dynamic) (Dynamic, error)

	// UpgradeIdentity brings a stored identity to the current identity schema.
	UpgradeIdentity(ctx context.Context, typ string, version int64, json []byte) (Dynamic, Diags)

	// Stop asks the provider to give up the calls in progress (protocol StopProvider). Later calls are answered.
	Stop(ctx context.Context) error
	// Shutdown ends the process. It may be called more than once.
	Shutdown() error
}

// Allow lists the answers that a provider may give (protocol ClientCapabilities), besides write-only attributes, which
// are always allowed.
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

// ReadResponse has the current object; a null State means that it no longer exists.
type ReadResponse struct {
	State    Dynamic
	Private  []byte
	Identity Dynamic
	Deferred Deferred
}

// PlanRequest asks for a planned object (PlanResourceChange). Prior is null for a create, Proposed and Config are null
// for a destroy.
type PlanRequest struct {
	Type                    string
	Prior, Proposed, Config Dynamic
	Private                 []byte
	Identity                Dynamic
	Meta                    Dynamic
	Allow                   Allow
	// Approved is the private data of the approved plan if an apply plans again. Only providers that are built in get it:
	// the protocol has no such field.
	Approved []byte `wire:"-"`
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

// Note accompanies a call that changes or opens something. If another process makes the call for this one, it uses the
// note to record the outcome if this process is lost. The zero value means that there is no record.
type Note struct {
	Call uint64          // its number in the journal
	Rest func() [][]byte // in parts. Of a change: data for its record that the answer lacks; of an opening: its address
}

// ApplyResponse has the object after the call, also if the call failed. A zero State means that the answer had none.
type ApplyResponse struct {
	State       Dynamic
	Private     []byte
	Identity    Dynamic
	LegacyTypes bool
	Unanswered  bool // the call was made, and no answer came
}

// ErrAbandoned is the cause with which a context ends when the calls made with it are not waited for
// any longer.
var ErrAbandoned = errors.New("the caller stopped waiting for the call")

// ImportRequest looks an existing object up, by id or by identity (ImportResourceState).
type ImportRequest struct {
	Type     string
	ID       string
	Identity Dynamic
	Allow    Allow
}

// ImportResponse has the objects that were found; more than one is possible.
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

// DataResponse has the result of a reading.
type DataResponse struct {
	State    Dynamic
	Deferred Deferred
}

// ListRequest searches for objects (ListResource).
type ListRequest struct {
	Type    string
	Config  Dynamic // of the list schema of the type
	Objects bool    // ask for whole objects; otherwise identities suffice
	Limit   int64   // maximum number of results
}

// Listed is one object that a search found. Its fields are empty in an answer that has only diagnostics.
type Listed struct {
	Identity Dynamic
	Name     string // for people
	Object   Dynamic
}

// ActionRequest plans or invokes an action (PlanAction, InvokeAction).
type ActionRequest struct {
	Type   string
	Config Dynamic
	Allow  Allow
	Note   Note `wire:"-"` // of an invocation
}

// Invoked is one answer to an invocation.
type Invoked struct {
	Progress string // for people
	Ended    bool   // the action has ended; the diagnostics of the answer have its errors

	Unanswered bool // the call was made, and its end did not come
}

// OpenRequest opens an ephemeral resource (OpenEphemeralResource).
type OpenRequest struct {
	Type   string
	Config Dynamic
	Allow  Allow
	Note   Note `wire:"-"`
}

// OpenResponse has the open lease. RenewAt is zero if it needs no renewal. Private and RenewAt are valid also beside
// errors, because an open lease must be closed.
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

// Capabilities are the capabilities that the provider announced (ServerCapabilities).
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
	// Part encodes these schemas, with only the types that keep selects: equal parts have equal bytes. It returns nil
	// if they cannot be encoded.
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

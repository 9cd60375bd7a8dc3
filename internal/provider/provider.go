// Package provider defines the calls of a provider in Go.
//
// A Provider is one running process or a built-in provider. The interface is the same for both versions of the
// protocol. Package wire implements it over protocols 5 and 6. Values are Dynamic: they stay encoded until a caller
// decodes them, so a caller need not decode unchanged objects. The provider's messages are diagnostics with attribute
// paths. The failure of a call is a diagnostic, too, and names the provider.
//
// A Launcher starts processes, and a Pool shares them. One process for each provider answers calls for schemas,
// validation and functions without a configuration. The first provider configuration that needs a process configures
// this process and uses it, too. Each further configuration has a separate process.
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

// Decode decodes an object with its schema.
func (d Dynamic) Decode(s *schema.Schema) (cty.Value, error) {
	if d.JSON != nil {
		return s.DecodeJSON(d.JSON)
	}
	return s.Decode(d.Msgpack)
}

// Diags are diagnostics of a provider, or of the connection to it. Their Path is relative to the object of the call.
// The caller adds the address and the position in the configuration.
type Diags []diag.Diagnostic

// Failed returns an error of a built-in provider as a list with one diagnostic. It returns nil for a nil error.
func Failed(err error) Diags {
	if err == nil {
		return nil
	}
	return Diags{diag.Errorf("Operation failed", "%s.", err)}
}

// HasErrors reports whether one of the diagnostics is an error.
func (ds Diags) HasErrors() bool {
	for _, d := range ds {
		if d.Severity == diag.Error {
			return true
		}
	}
	return false
}

// Provider is one provider process. The methods may be called concurrently. Methods that need settings may be called
// only after Configure.
type Provider interface {
	// Addr returns the provider's address.
	Addr() addr.Provider

	// Schemas returns all schemas of the provider. It asks the process at most once.
	Schemas(ctx context.Context) (*Schemas, Diags)

	// ValidateConfig checks the settings of the provider, which may be unknown. It returns the settings. Providers of
	// protocol 5 may add default values to them.
	ValidateConfig(ctx context.Context, config Dynamic) (Dynamic, Diags)
	// Configure sends the settings. It is called only once for each process.
	Configure(ctx context.Context, config Dynamic, allow Allow) Diags

	// Validate checks the configuration of a resource, data source, ephemeral resource, list resource or action (mode).
	Validate(ctx context.Context, mode addr.Mode, typ string, config Dynamic) Diags

	// Upgrade converts a stored object to the current version of its schema.
	Upgrade(ctx context.Context, req UpgradeRequest) (UpgradeResponse, Diags)
	// Read returns the current object, or null if it no longer exists.
	Read(ctx context.Context, req ReadRequest) (ReadResponse, Diags)
	// Plan returns the planned object.
	Plan(ctx context.Context, req PlanRequest) (PlanResponse, Diags)
	// Apply makes a planned change. The answer is valid even if there are errors.
	Apply(ctx context.Context, req ApplyRequest) (ApplyResponse, Diags)
	// Import finds objects by an id or an identity.
	Import(ctx context.Context, req ImportRequest) (ImportResponse, Diags)
	// Move converts an object of another type to a type of this provider.
	Move(ctx context.Context, req MoveRequest) (MoveResponse, Diags)

	// ReadData reads a data source.
	ReadData(ctx context.Context, req DataRequest) (DataResponse, Diags)

	// List searches for existing objects of a managed type. The sequence has the answers in their order. If the call
	// fails, the last element has only an error. If the caller ends the iteration early, the call is cancelled.
	List(ctx context.Context, req ListRequest) iter.Seq2[Listed, Diags]

	// PlanAction checks an invocation of an action, whose configuration may have unknown values. It returns the reason if
	// the provider defers the decision, and "" otherwise.
	PlanAction(ctx context.Context, req ActionRequest) (Deferred, Diags)
	// Invoke invokes an action. The sequence has the answers in their order: progress messages, and then the end of the
	// action. If the end is not received, the last element has an error, and its field Unanswered is true.
	Invoke(ctx context.Context, req ActionRequest) iter.Seq2[Invoked, Diags]

	// Open opens an ephemeral resource. The answer is valid even if there are errors, because a lease (an open ephemeral
	// resource) must be closed.
	Open(ctx context.Context, req OpenRequest) (OpenResponse, Diags)
	// Renew renews an open lease, with the private data of the opening or of the last renewal.
	Renew(ctx context.Context, typ string, private []byte) (RenewResponse, Diags)
	// CloseLease closes an open lease, with the private data of the opening or of the last renewal.
	CloseLease(ctx context.Context, typ string, private []byte) Diags

	// ConfiguredFunctions returns the functions of a configured provider. They may be more than the functions in the
	// schemas.
	ConfiguredFunctions(ctx context.Context) (map[string]*Function, Diags)
	// Call calls a function of the provider. The error is a *CallError if an argument is wrong or the function fails.
	Call(ctx context.Context, function string, args []Dynamic) (Dynamic, error)

	// UpgradeIdentity converts a stored identity to the current identity schema.
	UpgradeIdentity(ctx context.Context, typ string, version int64, json []byte) (Dynamic, Diags)

	// Stop asks the provider to stop its running calls (protocol StopProvider). The provider still answers later calls.
	Stop(ctx context.Context) error
	// Shutdown ends the process. It may be called more than once.
	Shutdown() error
}

// Allow has the optional answers that a provider may give to a request (protocol ClientCapabilities). Write-only
// attributes are always allowed.
type Allow struct{ Deferral bool }

// Deferred is a provider's reason to defer a decision (protocol Deferred.Reason): "" if it decides, or
// "resource_config_unknown", "provider_config_unknown", "absent_prereq" or "unknown".
type Deferred string

// UpgradeRequest requests the conversion of a stored object to the current schema (UpgradeResourceState). Exactly one
// of JSON and Flatmap is set.
type UpgradeRequest struct {
	Type    string
	Version int64
	JSON    []byte
	Flatmap map[string]string // the format of Terraform before version 0.12
}

// UpgradeResponse is the object in the current schema.
type UpgradeResponse struct{ State Dynamic }

// ReadRequest requests the refresh of an object (ReadResource).
type ReadRequest struct {
	Type     string
	State    Dynamic
	Private  []byte
	Identity Dynamic
	Meta     Dynamic
	Allow    Allow
}

// ReadResponse has the current object. A State that encodes null means that the object no longer exists.
type ReadResponse struct {
	State    Dynamic
	Private  []byte
	Identity Dynamic
	Deferred Deferred
}

// PlanRequest requests a planned object (PlanResourceChange). Prior is null for a create. Proposed and Config are null
// for a destroy.
type PlanRequest struct {
	Type                    string
	Prior, Proposed, Config Dynamic
	Private                 []byte
	Identity                Dynamic
	Meta                    Dynamic
	Allow                   Allow
	// Approved is the private data in the approved plan if an apply plans again. It is nil in the first plan. Only
	// built-in providers get it, because the protocol has no such field.
	Approved []byte `wire:"-"`
}

// PlanResponse has the planned object and the attributes whose change requires a replacement.
type PlanResponse struct {
	Planned     Dynamic
	Replace     []cty.Path // attributes whose change needs a replacement
	Private     []byte
	Identity    Dynamic
	LegacyTypes bool // the provider's SDK cannot follow all rules of the protocol
	Deferred    Deferred
}

// ApplyRequest requests a change (ApplyResourceChange). Prior is null for a create. Planned and Config are null for a
// destroy.
type ApplyRequest struct {
	Type                   string
	Prior, Planned, Config Dynamic
	Private                []byte
	Identity               Dynamic // the planned identity
	Meta                   Dynamic
	Note                   Note `wire:"-"`
}

// Note is data for the journal of the run about a call that changes or opens something. If a keeper process makes the
// call for the engine, and the engine's process is killed, the keeper uses the note to record the result. The zero
// value means that the result is not recorded.
type Note struct {
	Call uint64          // number of the call in the journal
	Rest func() [][]byte // in parts: for a change, data for its record that the answer lacks; for an opening, the address of the ephemeral resource
}

// ApplyResponse has the object after the call, even if the call failed. If the bytes of State are empty, the answer had
// no object.
type ApplyResponse struct {
	State       Dynamic
	Private     []byte
	Identity    Dynamic
	LegacyTypes bool
	Unanswered  bool // the call was made and not answered, so its effect is unknown
}

// ErrAbandoned is the cause of a context that ended because the caller no longer waits for the call.
var ErrAbandoned = errors.New("the caller stopped waiting for the call")

// ImportRequest requests an existing object, by id or by identity (ImportResourceState).
type ImportRequest struct {
	Type     string
	ID       string
	Identity Dynamic
	Allow    Allow
}

// ImportResponse has the objects that the provider found, which may be several.
type ImportResponse struct {
	Objects  []Imported
	Deferred Deferred
}

// Imported is an object that an import found.
type Imported struct {
	Type     string
	State    Dynamic
	Private  []byte
	Identity Dynamic
}

// MoveRequest requests the conversion of an object of another type to the type Type (MoveResourceState).
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

// MoveResponse has the object that a provider has converted to another type.
type MoveResponse struct {
	State    Dynamic
	Private  []byte
	Identity Dynamic
}

// DataRequest requests the result of a data source (ReadDataSource).
type DataRequest struct {
	Type   string
	Object string `wire:"-"` // the address of the data source; only built-in providers get it
	Config Dynamic
	Meta   Dynamic
	Allow  Allow
}

// DataResponse has the result of a data source.
type DataResponse struct {
	State    Dynamic
	Deferred Deferred
}

// ListRequest requests a search for objects (ListResource).
type ListRequest struct {
	Type    string
	Config  Dynamic // the search arguments, encoded with the list schema of the type
	Objects bool    // request whole objects; false: identities are sufficient
	Limit   int64   // maximum number of results
}

// Listed is one object that a search found. Its fields are empty in an answer that has only diagnostics.
type Listed struct {
	Identity Dynamic
	Name     string // a name of the object for users
	Object   Dynamic
}

// ActionRequest requests the plan or the invocation of an action (PlanAction, InvokeAction).
type ActionRequest struct {
	Type   string
	Config Dynamic
	Allow  Allow
	Note   Note `wire:"-"` // data for the journal; used only for an invocation
}

// Invoked is one answer to an invocation of an action: a progress message, or the end.
type Invoked struct {
	Progress string // a progress message for users
	Ended    bool   // the action has ended; the diagnostics of the answer have its errors

	Unanswered bool // the invocation was sent, and the end of the action was not received
}

// OpenRequest requests the opening of an ephemeral resource (OpenEphemeralResource).
type OpenRequest struct {
	Type   string
	Config Dynamic
	Allow  Allow
	Note   Note `wire:"-"`
}

// OpenResponse has the open lease (the open ephemeral resource). RenewAt is zero if the lease needs no renewal. Private
// and RenewAt are valid even if there are errors, because an open lease must be closed.
type OpenResponse struct {
	Result   Dynamic
	Private  []byte
	RenewAt  time.Time
	Deferred Deferred

	Unanswered bool // the call was made and not answered, so a lease may be open
}

// RenewResponse has the new private data of a lease, and the time of its next renewal (zero: no further renewal).
type RenewResponse struct {
	Private []byte
	RenewAt time.Time
}

// CallError is an error that a function returned.
type CallError struct {
	Text string
	Arg  int // 0-based index of the wrong argument; -1: the error is not about one argument
}

func (e *CallError) Error() string { return e.Text }

// Capabilities are the capabilities that a provider announces (ServerCapabilities).
type Capabilities struct {
	PlanDestroy    bool // the provider plans destructions, too
	SchemaOptional bool // the provider needs no GetProviderSchema before other calls
	Move           bool // the provider accepts requests to move objects from other types
}

// Function is a provider function's signature.
type Function struct {
	Params             []Param
	Variadic           *Param // the parameter of all further arguments; nil: no further arguments are allowed
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

// Identity is the schema of the identities of a resource type.
type Identity struct {
	Version int64
	Attrs   []IdentityAttr
}

// IdentityAttr is one attribute of an identity.
type IdentityAttr struct {
	Name               string
	Type               cty.Type
	Required, Optional bool // whether the configuration of an import must or may set the attribute
	Description        string
}

// Launcher starts provider processes.
type Launcher interface {
	// Start starts a process of a provider. The caller must call Shutdown.
	Start(ctx context.Context, p addr.Provider) (Provider, error)
}

// Schemas has the schemas of a provider. The schema of a type is decoded when it is first needed, because a provider
// may have thousands of types of which a configuration uses three.
type Schemas struct {
	Config       *schema.Schema // settings of the provider
	Meta         *schema.Schema // provider_meta; nil if the provider has none
	Capabilities Capabilities
	Functions    map[string]*Function
	// Part encodes the settings, the functions and the schemas of the types for which keep returns true. The encodings
	// of equal schemas are equal. Part returns nil if the schemas cannot be encoded.
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

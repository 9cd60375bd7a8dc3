// Package builtin implements the code that built-in providers share.
//
// A built-in provider is a table of types, such as resource types and data sources. The functions of a type use decoded
// values. This package adds the encoding, the schemas and the other methods of provider.Provider, so that the engine
// calls a built-in provider like a provider process. The packages below this package define the providers.
package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Resource is a managed resource type. Only Schema, Plan and Apply are required. Without Validate, each configuration
// that matches the schema is valid. Without Read, a refresh returns each object unchanged. Without Import or Move, the
// operation is an error.
type Resource struct {
	*schema.Schema
	// Validate reports mistakes in a configuration, which may contain unknown values.
	Validate func(config cty.Value) provider.Diags
	// Plan returns the planned object and the attributes whose change requires a replacement. It is not called for a
	// destroy. With errors, its result is not used.
	Plan func(c PlanCall) (Planned, provider.Diags)
	// Apply makes the planned change: a create, an update or a destroy. It returns the object that exists afterwards,
	// and null if none exists. The result is stored even if there are errors.
	Apply func(ctx context.Context, c ApplyCall) (Applied, provider.Diags)
	// Read returns the present object, or null if the object no longer exists. With errors, the object stays unchanged.
	Read func(ctx context.Context, current cty.Value) (cty.Value, provider.Diags)
	// Import returns the object with an ID. If no such object exists, Import returns an error.
	Import func(ctx context.Context, id string) (cty.Value, provider.Diags)
	// Move converts an object of another type, or of another provider. It returns an error for a type that it does not
	// support.
	Move func(req provider.MoveRequest) (cty.Value, provider.Diags)
}

// PlanCall holds the inputs of Resource.Plan.
type PlanCall struct {
	Prior, Proposed, Config cty.Value // Prior is null for a create
	Private                 []byte    // the prior object's private data, which only the provider reads
	Approved                []byte    // when an apply plans again: the private data of the approved plan; otherwise nil
}

// Planned is the answer of Resource.Plan.
type Planned struct {
	Object  cty.Value
	Replace []cty.Path // the attributes whose change requires a replacement
	Private []byte     // the planned private data, which Apply gets
}

// ApplyCall holds the inputs of Resource.Apply.
type ApplyCall struct {
	Prior, Planned, Config cty.Value // Prior is null for a create; Planned and Config are null for a destroy
	Private                []byte    // the planned private data; for a destroy, the prior object's private data
}

// Applied is the answer of Resource.Apply.
type Applied struct {
	Object  cty.Value // null if no object exists afterwards
	Private []byte    // stored with the object
}

// PlanWith returns the Plan function of a type that does not use private data: the private data stay unchanged. The
// results of plan are the planned object and the attributes whose change requires a replacement.
func PlanWith(plan func(prior, proposed, config cty.Value) (cty.Value, []cty.Path, provider.Diags)) func(PlanCall) (Planned, provider.Diags) {
	return func(c PlanCall) (Planned, provider.Diags) {
		v, replace, ds := plan(c.Prior, c.Proposed, c.Config)
		return Planned{v, replace, c.Private}, ds
	}
}

// ApplyWith returns the Apply function of a type that does not use private data: the private data stay unchanged. apply
// computes the new object from the prior object (null for a create), the planned object and the configuration (both
// null for a destroy).
func ApplyWith(apply func(ctx context.Context, prior, planned, config cty.Value) (cty.Value, provider.Diags)) func(context.Context, ApplyCall) (Applied, provider.Diags) {
	return func(ctx context.Context, c ApplyCall) (Applied, provider.Diags) {
		v, ds := apply(ctx, c.Prior, c.Planned, c.Config)
		return Applied{v, c.Private}, ds
	}
}

// Data is a data source. If Validate is nil, each configuration that matches the schema is valid.
type Data struct {
	*schema.Schema
	Validate func(config cty.Value) provider.Diags
	// Read reads the data source. object is the address of the data source.
	Read func(ctx context.Context, object string, config cty.Value) (cty.Value, provider.Diags)
}

// Ephemeral is an ephemeral resource type. If Validate is nil, each configuration that matches the schema is valid. If
// Renew is nil, renewing leaves the lease (the open ephemeral resource) unchanged. If Close is nil, closing does
// nothing.
type Ephemeral struct {
	*schema.Schema
	Validate func(config cty.Value) provider.Diags
	Open     func(ctx context.Context, config cty.Value) (Lease, provider.Diags)
	// Renew extends a lease, which it finds by the lease's private data. It returns the new private data, and the time of
	// the next renewal (zero: no further renewal).
	Renew func(ctx context.Context, private []byte) ([]byte, time.Time, provider.Diags)
	Close func(ctx context.Context, private []byte) provider.Diags
}

// Lease is an open ephemeral resource.
type Lease struct {
	Result  cty.Value // the value of the ephemeral resource; not used if Open returned errors
	Private []byte    // private data that find the lease; Renew and Close get them
	RenewAt time.Time // time of the first renewal; zero: the lease is not renewed
}

// Function is a provider function.
type Function struct {
	provider.Function
	Impl function.Function
}

// Settings are the settings of a provider. If Validate is nil, all settings that match the schema are valid. If
// Configure is nil, the settings have no effect.
type Settings struct {
	*schema.Schema
	Validate func(config cty.Value) provider.Diags
	// Configure stores the settings. They may have unknown values.
	Configure func(config cty.Value) provider.Diags
}

// Provider is a built-in provider: a table of types and functions by name. It needs no process.
type Provider struct {
	Address    addr.Provider
	Settings   *Settings // nil: the provider has no settings
	Resources  map[string]*Resource
	Data       map[string]*Data
	Ephemerals map[string]*Ephemeral
	Functions  map[string]*Function
}

var _ provider.Provider = (*Provider)(nil)

// Addr returns the provider's address.
func (p *Provider) Addr() addr.Provider { return p.Address }

// Schemas returns the schemas of the types.
func (p *Provider) Schemas(context.Context) (*provider.Schemas, provider.Diags) {
	s := provider.NewSchemas(p.settings().Schema)
	s.Capabilities = provider.Capabilities{Move: true}
	for name, t := range p.Resources {
		s.AddOwn(addr.Managed, name, t.Schema)
	}
	for name, t := range p.Data {
		s.AddOwn(addr.Data, name, t.Schema)
	}
	for name, t := range p.Ephemerals {
		s.AddOwn(addr.Ephemeral, name, t.Schema)
	}
	for name, f := range p.Functions {
		s.Functions[name] = &f.Function
	}
	return s, nil
}

// settings returns the settings of the provider. If it has none, their schema is empty.
func (p *Provider) settings() *Settings {
	if p.Settings != nil {
		return p.Settings
	}
	return &Settings{Schema: &schema.Schema{Block: &schema.Block{}}}
}

// ValidateConfig checks the settings with Settings.Validate, if that is set. It returns config unchanged, with the
// diagnostics of the check.
func (p *Provider) ValidateConfig(_ context.Context, config provider.Dynamic) (provider.Dynamic, provider.Diags) {
	s := p.settings()
	if s.Validate == nil {
		return config, nil
	}
	v, err := config.Decode(s.Schema)
	if err != nil {
		return config, provider.Failed(err)
	}
	return config, s.Validate(v)
}

// Configure passes the settings to Settings.Configure, if that is set. The provider ignores the permission to defer
// decisions: built-in providers never defer.
func (p *Provider) Configure(_ context.Context, config provider.Dynamic, _ provider.Allow) provider.Diags {
	s := p.settings()
	if s.Configure == nil {
		return nil
	}
	v, err := config.Decode(s.Schema)
	if err != nil {
		return provider.Failed(err)
	}
	return s.Configure(v)
}

// Stop does nothing, because the calls of a built-in provider end with their contexts.
func (p *Provider) Stop(context.Context) error { return nil }

// Shutdown does nothing, because a built-in provider has no process. It returns nil.
func (p *Provider) Shutdown() error { return nil }

// Validate checks the configuration of a resource, data source or ephemeral resource: with readOnly, and with the
// Validate function of its type. A type that the provider does not have is an error.
func (p *Provider) Validate(_ context.Context, mode addr.Mode, typ string, config provider.Dynamic) provider.Diags {
	var sch *schema.Schema
	var check func(cty.Value) provider.Diags
	switch mode {
	case addr.Managed:
		if t := p.Resources[typ]; t != nil {
			sch, check = t.Schema, t.Validate
		}
	case addr.Data:
		if t := p.Data[typ]; t != nil {
			sch, check = t.Schema, t.Validate
		}
	case addr.Ephemeral:
		if t := p.Ephemerals[typ]; t != nil {
			sch, check = t.Schema, t.Validate
		}
	}
	if sch == nil {
		return p.unknownType(mode, typ)
	}
	v, err := config.Decode(sch)
	if err != nil {
		return provider.Failed(err)
	}
	ds := readOnly(sch.Block, v)
	if check != nil {
		ds = append(ds, check(v)...)
	}
	return ds
}

// readOnly returns an error for each attribute that the configuration sets although only the provider may set it.
func readOnly(b *schema.Block, config cty.Value) provider.Diags {
	var ds provider.Diags
	for _, a := range b.Attrs {
		if !a.Computed || a.Optional || config.GetAttr(a.Name).IsNull() {
			continue
		}
		ds = append(ds, diag.Errorf("Invalid Configuration for Read-Only Attribute", "The provider sets the value of %q. Remove the line.", a.Name).In(cty.GetAttrPath(a.Name)))
	}
	return ds
}

func (p *Provider) unknownType(mode addr.Mode, typ string) provider.Diags {
	return provider.Failed(fmt.Errorf("provider %s has no %s type %q", p.Address, mode.Block(), typ))
}

// Upgrade decodes a stored object, and drops attributes that the schema does not have. Another release or another
// program may have stored them. Built-in schemas have only one version. Objects that are not stored as JSON are an
// error.
func (p *Provider) Upgrade(_ context.Context, req provider.UpgradeRequest) (provider.UpgradeResponse, provider.Diags) {
	t := p.Resources[req.Type]
	if t == nil {
		return provider.UpgradeResponse{}, p.unknownType(addr.Managed, req.Type)
	}
	if req.JSON == nil {
		return provider.UpgradeResponse{}, provider.Failed(errors.New("the stored object has an unsupported old format"))
	}
	known, err := t.known(req.JSON)
	if err != nil {
		return provider.UpgradeResponse{}, provider.Failed(err)
	}
	v, err := t.DecodeJSON(known)
	if err != nil {
		return provider.UpgradeResponse{}, provider.Failed(err)
	}
	d, ds := encoded(t.Schema, v, nil)
	return provider.UpgradeResponse{State: d}, ds
}

// known returns a stored object without the attributes that the schema does not have.
func (t *Resource) known(stored []byte) ([]byte, error) {
	var attrs map[string]json.RawMessage
	if err := json.Unmarshal(stored, &attrs); err != nil {
		return nil, err
	}
	n := len(attrs)
	maps.DeleteFunc(attrs, func(name string, _ json.RawMessage) bool {
		return t.Attr(name) == nil && t.Nested(name) == nil
	})
	if len(attrs) == n {
		return stored, nil
	}
	return json.Marshal(attrs)
}

// Read refreshes an object. It returns the object unchanged if the type has no Read function or does not exist, and
// after an error. It never changes the private data.
func (p *Provider) Read(ctx context.Context, req provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
	t := p.Resources[req.Type]
	resp := provider.ReadResponse{State: req.State, Private: req.Private}
	if t == nil || t.Read == nil {
		return resp, nil
	}
	v, err := req.State.Decode(t.Schema)
	if err != nil {
		return resp, provider.Failed(err)
	}
	v, ds := t.Read(ctx, v)
	if !ds.HasErrors() {
		resp.State, ds = encoded(t.Schema, v, ds)
	}
	return resp, ds
}

// Plan plans a change. For a destroy (a null proposed object), it does not call Resource.Plan, and the planned object
// is null.
func (p *Provider) Plan(_ context.Context, req provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
	t := p.Resources[req.Type]
	if t == nil {
		return provider.PlanResponse{}, p.unknownType(addr.Managed, req.Type)
	}
	prior, err1 := req.Prior.Decode(t.Schema)
	proposed, err2 := req.Proposed.Decode(t.Schema)
	config, err3 := req.Config.Decode(t.Schema)
	if err := errors.Join(err1, err2, err3); err != nil {
		return provider.PlanResponse{}, provider.Failed(err)
	}
	if proposed.IsNull() {
		return provider.PlanResponse{Planned: req.Proposed, Private: req.Private}, nil
	}
	planned, ds := t.Plan(PlanCall{prior, proposed, config, req.Private, req.Approved})
	if ds.HasErrors() {
		return provider.PlanResponse{}, ds
	}
	d, ds := encoded(t.Schema, planned.Object, ds)
	return provider.PlanResponse{Planned: d, Replace: planned.Replace, Private: planned.Private}, ds
}

// Apply applies a planned change. Its answer has the object that Resource.Apply returned, even if there are errors.
func (p *Provider) Apply(ctx context.Context, req provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
	t := p.Resources[req.Type]
	if t == nil {
		return provider.ApplyResponse{}, p.unknownType(addr.Managed, req.Type)
	}
	prior, err1 := req.Prior.Decode(t.Schema)
	planned, err2 := req.Planned.Decode(t.Schema)
	config, err3 := req.Config.Decode(t.Schema)
	if err := errors.Join(err1, err2, err3); err != nil {
		return provider.ApplyResponse{}, provider.Failed(err)
	}
	made, ds := t.Apply(ctx, ApplyCall{prior, planned, config, req.Private})
	d, ds := encoded(t.Schema, made.Object, ds)
	return provider.ApplyResponse{State: d, Private: made.Private}, ds
}

// Import returns the existing object with an ID. A type without an Import function is an error.
func (p *Provider) Import(ctx context.Context, req provider.ImportRequest) (provider.ImportResponse, provider.Diags) {
	t := p.Resources[req.Type]
	if t == nil || t.Import == nil {
		return provider.ImportResponse{}, provider.Failed(fmt.Errorf("objects of type %q cannot be imported", req.Type))
	}
	v, ds := t.Import(ctx, req.ID)
	if ds.HasErrors() {
		return provider.ImportResponse{}, ds
	}
	d, ds := encoded(t.Schema, v, ds)
	return provider.ImportResponse{Objects: []provider.Imported{{Type: req.Type, State: d}}}, ds
}

// Move converts an object of another type. A type without a Move function is an error.
func (p *Provider) Move(_ context.Context, req provider.MoveRequest) (provider.MoveResponse, provider.Diags) {
	t := p.Resources[req.Type]
	if t == nil || t.Move == nil {
		return provider.MoveResponse{}, provider.Failed(fmt.Errorf("an object of type %q cannot become one of type %q", req.SourceType, req.Type))
	}
	v, ds := t.Move(req)
	if ds.HasErrors() {
		return provider.MoveResponse{}, ds
	}
	d, ds := encoded(t.Schema, v, ds)
	return provider.MoveResponse{State: d}, ds
}

// ReadData reads a data source.
func (p *Provider) ReadData(ctx context.Context, req provider.DataRequest) (provider.DataResponse, provider.Diags) {
	t := p.Data[req.Type]
	if t == nil {
		return provider.DataResponse{}, p.unknownType(addr.Data, req.Type)
	}
	config, err := req.Config.Decode(t.Schema)
	if err != nil {
		return provider.DataResponse{}, provider.Failed(err)
	}
	v, ds := t.Read(ctx, req.Object, config)
	if ds.HasErrors() {
		return provider.DataResponse{}, ds
	}
	d, ds := encoded(t.Schema, v, ds)
	return provider.DataResponse{State: d}, ds
}

// List reports that the provider has no list resources.
func (p *Provider) List(_ context.Context, req provider.ListRequest) iter.Seq2[provider.Listed, provider.Diags] {
	return func(yield func(provider.Listed, provider.Diags) bool) {
		yield(provider.Listed{}, p.unknownType(addr.List, req.Type))
	}
}

// PlanAction reports that the provider has no actions.
func (p *Provider) PlanAction(_ context.Context, req provider.ActionRequest) (provider.Deferred, provider.Diags) {
	return "", p.unknownType(addr.Action, req.Type)
}

// Invoke reports that the provider has no actions.
func (p *Provider) Invoke(_ context.Context, req provider.ActionRequest) iter.Seq2[provider.Invoked, provider.Diags] {
	return func(yield func(provider.Invoked, provider.Diags) bool) {
		yield(provider.Invoked{}, p.unknownType(addr.Action, req.Type))
	}
}

// Open opens an ephemeral resource.
func (p *Provider) Open(ctx context.Context, req provider.OpenRequest) (provider.OpenResponse, provider.Diags) {
	t := p.Ephemerals[req.Type]
	if t == nil {
		return provider.OpenResponse{}, p.unknownType(addr.Ephemeral, req.Type)
	}
	config, err := req.Config.Decode(t.Schema)
	if err != nil {
		return provider.OpenResponse{}, provider.Failed(err)
	}
	l, ds := t.Open(ctx, config)
	resp := provider.OpenResponse{Private: l.Private, RenewAt: l.RenewAt}
	if !ds.HasErrors() {
		resp.Result, ds = encoded(t.Schema, l.Result, ds)
	}
	return resp, ds
}

// Renew renews a lease. If the type has no Renew function, the lease stays unchanged and is not renewed again.
func (p *Provider) Renew(ctx context.Context, typ string, private []byte) (provider.RenewResponse, provider.Diags) {
	t := p.Ephemerals[typ]
	if t == nil || t.Renew == nil {
		return provider.RenewResponse{Private: private}, nil
	}
	private, at, ds := t.Renew(ctx, private)
	return provider.RenewResponse{Private: private, RenewAt: at}, ds
}

// CloseLease closes a lease. If the type has no Close function, it does nothing.
func (p *Provider) CloseLease(ctx context.Context, typ string, private []byte) provider.Diags {
	t := p.Ephemerals[typ]
	if t == nil || t.Close == nil {
		return nil
	}
	return t.Close(ctx, private)
}

// ConfiguredFunctions returns the functions in the schemas, because the settings add no functions.
func (p *Provider) ConfiguredFunctions(ctx context.Context) (map[string]*provider.Function, provider.Diags) {
	s, ds := p.Schemas(ctx)
	return s.Functions, ds
}

// Call runs a function. If an argument is invalid or the function fails, the error is a *provider.CallError.
func (p *Provider) Call(_ context.Context, name string, args []provider.Dynamic) (provider.Dynamic, error) {
	f := p.Functions[name]
	if f == nil {
		return provider.Dynamic{}, fmt.Errorf("provider %s has no function %q", p.Address, name)
	}
	vals := make([]cty.Value, len(args))
	for i, a := range args {
		v, err := schema.Decode(a.Msgpack, f.param(i).Type)
		if err != nil {
			return provider.Dynamic{}, &provider.CallError{Text: err.Error(), Arg: i}
		}
		vals[i] = v
	}
	v, err := f.Impl.Call(vals)
	if err != nil {
		return provider.Dynamic{}, callError(err)
	}
	b, err := schema.Encode(v, f.Return)
	return provider.Dynamic{Msgpack: b}, err
}

func (f *Function) param(i int) provider.Param {
	if i < len(f.Params) {
		return f.Params[i]
	}
	return *f.Variadic
}

func callError(err error) error {
	var arg function.ArgError
	if errors.As(err, &arg) {
		return &provider.CallError{Text: err.Error(), Arg: arg.Index}
	}
	return &provider.CallError{Text: err.Error(), Arg: -1}
}

// UpgradeIdentity returns an error. The engine never calls it, because built-in types have no identities.
func (p *Provider) UpgradeIdentity(_ context.Context, typ string, _ int64, _ []byte) (provider.Dynamic, provider.Diags) {
	return provider.Dynamic{}, provider.Failed(fmt.Errorf("objects of type %q have no identity", typ))
}

// encoded encodes a value. If that fails, it appends the error to ds.
func encoded(s *schema.Schema, v cty.Value, ds provider.Diags) (provider.Dynamic, provider.Diags) {
	b, err := s.Encode(v)
	return provider.Dynamic{Msgpack: b}, append(ds, provider.Failed(err)...)
}

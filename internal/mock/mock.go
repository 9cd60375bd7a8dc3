// Package mock replaces providers in tests. It returns given values, or values invented from the schemas of the real
// provider.
//
// A Provider replaces a configured provider. It uses the real provider, unconfigured, for schemas, validation and
// functions, and accesses no remote system. An Object replaces the provider for one object of the configuration: an
// object of a Provider, or an object of a real provider that a test overrides for this object alone. The values that a
// provider decides (computed attributes that the configuration omits) come from the test file or are invented. All
// other values come from the configuration. An invented value depends only on the object's address and on the
// attribute, so a test produces the same values each time.
package mock

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Provider is a provider.Provider that replaces a configured provider.
type Provider struct {
	provider.Provider // the real provider, not configured
}

// Configure accepts all settings.
func (p *Provider) Configure(context.Context, provider.Dynamic, provider.Allow) provider.Diags {
	return nil
}

// ValidateConfig accepts all settings.
func (p *Provider) ValidateConfig(_ context.Context, config provider.Dynamic) (provider.Dynamic, provider.Diags) {
	return config, nil
}

// ConfiguredFunctions returns the functions in the provider's schemas, because configuring a mock adds none.
func (p *Provider) ConfiguredFunctions(ctx context.Context) (map[string]*provider.Function, provider.Diags) {
	s, ds := p.Schemas(ctx)
	if s == nil {
		return nil, ds
	}
	return s.Functions, ds
}

// Stop does nothing, because no call of a mock waits for another system.
func (p *Provider) Stop(context.Context) error { return nil }

// Shutdown does nothing: the real provider keeps running.
func (p *Provider) Shutdown() error { return nil }

// Answer holds the given values of an object.
type Answer struct {
	Given cty.Value  // an object with the given values; NilVal if no value is given
	Known bool       // use the given values during plan, too; otherwise they are unknown until apply
	At    diag.Range // the place of the values in the test file
}

// Object is a provider.Provider that replaces the provider of one object. Its answers have given or invented values.
type Object struct {
	provider.Provider // the provider of the object: a real provider or a Provider
	Of                addr.Instance
	Answer            Answer
}

// schema returns the schema of a type. It returns an error if the provider has no such type, or if the schema cannot be
// used.
func (o *Object) schema(ctx context.Context, mode addr.Mode, typ string) (*schema.Schema, provider.Diags) {
	schemas, ds := o.Schemas(ctx)
	if ds.HasErrors() {
		return nil, ds
	}
	s, err := schemas.Usable(mode, typ)
	if err == nil && s == nil {
		err = fmt.Errorf("provider %s has no %s type %q", o.Addr(), mode.Block(), typ)
	}
	return s, append(ds, provider.Failed(err)...)
}

// Upgrade decodes the stored form with the current schema, because a mock wrote it with this schema.
func (o *Object) Upgrade(ctx context.Context, req provider.UpgradeRequest) (provider.UpgradeResponse, provider.Diags) {
	s, ds := o.schema(ctx, addr.Managed, req.Type)
	if ds.HasErrors() {
		return provider.UpgradeResponse{}, ds
	}
	v, err := s.DecodeJSON(req.JSON)
	if err != nil {
		return provider.UpgradeResponse{}, provider.Failed(err)
	}
	d, ds := encoded(s, v)
	return provider.UpgradeResponse{State: d}, ds
}

// Read returns the object unchanged.
func (o *Object) Read(_ context.Context, req provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
	return provider.ReadResponse{State: req.State, Private: req.Private, Identity: req.Identity}, nil
}

// Plan returns the proposed object, with null for write-only attributes. In a new object, the values that a provider
// decides are unknown, or, if Answer.Known is set, given or invented. In an update they stay as proposed.
func (o *Object) Plan(ctx context.Context, req provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
	s, ds := o.schema(ctx, addr.Managed, req.Type)
	if ds.HasErrors() {
		return provider.PlanResponse{}, ds
	}
	prior, err1 := req.Prior.Decode(s)
	proposed, err2 := req.Proposed.Decode(s)
	config, err3 := req.Config.Decode(s)
	if err := errors.Join(err1, err2, err3); err != nil {
		return provider.PlanResponse{}, provider.Failed(err)
	}
	resp := provider.PlanResponse{Planned: req.Proposed, Private: req.Private, Identity: req.Identity}
	if proposed.IsNull() {
		return resp, nil
	}
	planned := s.NullWriteOnly(proposed)
	if prior.IsNull() {
		if planned, ds = o.fill(s, planned, config, filler{unknown: !o.Answer.Known, nulls: true}); ds.HasErrors() {
			return provider.PlanResponse{}, ds
		}
	}
	resp.Planned, ds = encoded(s, planned)
	return resp, ds
}

// Apply returns the planned object, with given or invented values in place of unknown values.
func (o *Object) Apply(ctx context.Context, req provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
	s, ds := o.schema(ctx, addr.Managed, req.Type)
	if ds.HasErrors() {
		return provider.ApplyResponse{}, ds
	}
	planned, err := req.Planned.Decode(s)
	if err != nil {
		return provider.ApplyResponse{}, provider.Failed(err)
	}
	resp := provider.ApplyResponse{State: req.Planned, Private: req.Private, Identity: req.Identity}
	if planned.IsNull() {
		return resp, nil
	}
	made, ds := o.fill(s, planned, planned, filler{})
	if ds.HasErrors() {
		return provider.ApplyResponse{}, ds
	}
	resp.State, ds = encoded(s, made)
	return resp, ds
}

// Import returns an object for every id, with given or invented values. Its attribute id is the requested id, if the
// request has one and the type has a string attribute of this name.
func (o *Object) Import(ctx context.Context, req provider.ImportRequest) (provider.ImportResponse, provider.Diags) {
	s, ds := o.schema(ctx, addr.Managed, req.Type)
	if ds.HasErrors() {
		return provider.ImportResponse{}, ds
	}
	empty := s.Empty()
	all, ds := o.fill(s, empty, empty, filler{nulls: true})
	if ds.HasErrors() {
		return provider.ImportResponse{}, ds
	}
	made := all.AsValueMap()
	if id := s.Attr("id"); id != nil && id.Type == cty.String && req.ID != "" {
		made["id"] = cty.StringVal(req.ID)
	}
	d, ds := encoded(s, cty.ObjectVal(made))
	return provider.ImportResponse{Objects: []provider.Imported{{Type: req.Type, State: d, Identity: req.Identity}}}, ds
}

// Move returns an error, because the result of a move from another type cannot be invented.
func (o *Object) Move(context.Context, provider.MoveRequest) (provider.MoveResponse, provider.Diags) {
	return provider.MoveResponse{}, provider.Failed(errors.New("a mock cannot move an object from another type"))
}

// ReadData returns the configuration with given or invented values for the attributes that a provider decides.
func (o *Object) ReadData(ctx context.Context, req provider.DataRequest) (provider.DataResponse, provider.Diags) {
	d, ds := o.result(ctx, addr.Data, req.Type, req.Config)
	return provider.DataResponse{State: d}, ds
}

// List returns an empty sequence, because a mock has no remote objects.
func (o *Object) List(context.Context, provider.ListRequest) iter.Seq2[provider.Listed, provider.Diags] {
	return func(func(provider.Listed, provider.Diags) bool) {}
}

// PlanAction accepts every invocation.
func (o *Object) PlanAction(context.Context, provider.ActionRequest) (provider.Deferred, provider.Diags) {
	return "", nil
}

// Invoke ends the action without an error and has no effect, because a mock has no remote objects.
func (o *Object) Invoke(context.Context, provider.ActionRequest) iter.Seq2[provider.Invoked, provider.Diags] {
	return func(yield func(provider.Invoked, provider.Diags) bool) { yield(provider.Invoked{Ended: true}, nil) }
}

// Open returns the configuration with given or invented values for the attributes that a provider decides. It opens
// nothing in a remote system.
func (o *Object) Open(ctx context.Context, req provider.OpenRequest) (provider.OpenResponse, provider.Diags) {
	d, ds := o.result(ctx, addr.Ephemeral, req.Type, req.Config)
	return provider.OpenResponse{Result: d}, ds
}

// Renew returns the private data unchanged. The engine does not call it, because Open returns no time of renewal.
func (o *Object) Renew(_ context.Context, _ string, private []byte) (provider.RenewResponse, provider.Diags) {
	return provider.RenewResponse{Private: private}, nil
}

// CloseLease does nothing, because Open has opened nothing in a remote system.
func (o *Object) CloseLease(context.Context, string, []byte) provider.Diags { return nil }

// UpgradeIdentity returns an empty identity, because objects of a mock have no identities.
func (o *Object) UpgradeIdentity(context.Context, string, int64, []byte) (provider.Dynamic, provider.Diags) {
	return provider.Dynamic{}, nil
}

// result returns a configuration with given or invented values for the attributes that a provider decides.
func (o *Object) result(ctx context.Context, mode addr.Mode, typ string, config provider.Dynamic) (provider.Dynamic, provider.Diags) {
	s, ds := o.schema(ctx, mode, typ)
	if ds.HasErrors() {
		return provider.Dynamic{}, ds
	}
	v, err := config.Decode(s)
	if err != nil {
		return provider.Dynamic{}, provider.Failed(err)
	}
	made, ds := o.fill(s, v, v, filler{nulls: true})
	if ds.HasErrors() {
		return provider.Dynamic{}, ds
	}
	return encoded(s, made)
}

// fill returns v with the values that a provider decides. The fields of f select these values.
func (o *Object) fill(s *schema.Schema, v, config cty.Value, f filler) (cty.Value, provider.Diags) {
	f.of = o.Of.String()
	made := f.block(s.Block, v, config, o.Answer.Given, nil)
	if f.err != nil {
		return cty.NilVal, o.refused(f.err)
	}
	return made, nil
}

// refused returns the error for a given value that the attribute cannot have. It does not show the value, which may be
// a secret.
func (o *Object) refused(err error) provider.Diags {
	return provider.Diags{diag.Errorf("Invalid mocked values", "A value for %s is unsuitable: %s.", o.Of, err).At(o.Answer.At)}
}

func encoded(s *schema.Schema, v cty.Value) (provider.Dynamic, provider.Diags) {
	b, err := s.Encode(v)
	return provider.Dynamic{Msgpack: b}, provider.Failed(err)
}

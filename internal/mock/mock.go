// Package mock answers in the place of providers, for tests: values that are made up by the schemas of the real
// provider, or given.
//
// A Provider stands for a configured provider. It asks the real one, unconfigured, for schemas, for what is wrong with
// a configuration and for functions; it reaches nothing outside. An Object answers for one object: of such a provider,
// or of a real one that a test overrides for this object alone. What a provider decides (computed attributes that the
// configuration leaves out) is given, or made up; everything else is as it is configured. Values that are made up
// depend on the object's address and on the attribute alone: a test gives the same each time.
package mock

import (
	"context"
	"errors"
	"fmt"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Provider stands for a configured provider.
type Provider struct {
	provider.Provider // the real one, not configured
}

// Configure takes all settings.
func (p *Provider) Configure(context.Context, provider.Dynamic, provider.Allow) provider.Diags {
	return nil
}

// ValidateConfig takes all settings.
func (p *Provider) ValidateConfig(_ context.Context, config provider.Dynamic) (provider.Dynamic, provider.Diags) {
	return config, nil
}

// ConfiguredFunctions are those of the schemas.
func (p *Provider) ConfiguredFunctions(ctx context.Context) (map[string]*provider.Function, provider.Diags) {
	s, ds := p.Schemas(ctx)
	if s == nil {
		return nil, ds
	}
	return s.Functions, ds
}

// Stop does nothing: no call waits for anything.
func (p *Provider) Stop(context.Context) error { return nil }

// Shutdown leaves the real provider alone.
func (p *Provider) Shutdown() error { return nil }

// Answer is what is known of an object.
type Answer struct {
	Given cty.Value  // an object with what is given; NilVal: nothing is
	Known bool       // also while planning
	At    diag.Range // where that stands in the test
}

// Object answers for one object.
type Object struct {
	provider.Provider // its provider, real or a mock
	Of                addr.Instance
	Answer            Answer
}

// schema finds the schema of a type.
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

// Upgrade reads the stored form: it was written with this schema.
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

// Read finds the object as it was.
func (o *Object) Read(_ context.Context, req provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
	return provider.ReadResponse{State: req.State, Private: req.Private, Identity: req.Identity}, nil
}

// Plan leaves to the apply what a provider decides, unless it is to be known before.
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

// Apply makes up what is not known yet.
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

// Import finds an object of every id.
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

// Move takes no object over: what one of another type would become cannot be made up.
func (o *Object) Move(context.Context, provider.MoveRequest) (provider.MoveResponse, provider.Diags) {
	return provider.MoveResponse{}, provider.Failed(errors.New("a mock cannot move an object from another type"))
}

// ReadData makes a result up.
func (o *Object) ReadData(ctx context.Context, req provider.DataRequest) (provider.DataResponse, provider.Diags) {
	d, ds := o.result(ctx, addr.Data, req.Type, req.Config)
	return provider.DataResponse{State: d}, ds
}

// Open opens a lease that nothing outside knows of.
func (o *Object) Open(ctx context.Context, req provider.OpenRequest) (provider.OpenResponse, provider.Diags) {
	d, ds := o.result(ctx, addr.Ephemeral, req.Type, req.Config)
	return provider.OpenResponse{Result: d}, ds
}

// Renew is never asked for.
func (o *Object) Renew(_ context.Context, _ string, private []byte) (provider.RenewResponse, provider.Diags) {
	return provider.RenewResponse{Private: private}, nil
}

// CloseLease closes it.
func (o *Object) CloseLease(context.Context, string, []byte) provider.Diags { return nil }

// UpgradeIdentity has nothing to upgrade.
func (o *Object) UpgradeIdentity(context.Context, string, int64, []byte) (provider.Dynamic, provider.Diags) {
	return provider.Dynamic{}, nil
}

// result is a configuration with what a provider decides.
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

// fill makes a value of the object, by what f says is decided here.
func (o *Object) fill(s *schema.Schema, v, config cty.Value, f filler) (cty.Value, provider.Diags) {
	f.of = o.Of.String()
	made := f.block(s.Block, v, config, o.Answer.Given, nil)
	if f.err != nil {
		return cty.NilVal, o.refused(f.err)
	}
	return made, nil
}

// refused says that a given value does not fit. The value is not shown: it may be a secret.
func (o *Object) refused(err error) provider.Diags {
	return provider.Diags{diag.Errorf("Invalid mocked values", "A value that is given for %s does not fit: %s.", o.Of, err).At(o.Answer.At)}
}

func encoded(s *schema.Schema, v cty.Value) (provider.Dynamic, provider.Diags) {
	b, err := s.Encode(v)
	return provider.Dynamic{Msgpack: b}, provider.Failed(err)
}

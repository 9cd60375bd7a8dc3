package serve

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
)

// Server answers calls of the protocol with a provider.
type Server struct {
	Major    int // 5 or 6
	Provider provider.Provider
}

// call is a function that answers an encoded request of one call.
type call func(s *Server, ctx context.Context, request []byte) (proto.Message, error)

// on returns a call of the protocol that decodes the request and passes it to f.
func on[Q any, M interface {
	*Q
	proto.Message
}](f func(s *Server, ctx context.Context, q M) (proto.Message, error)) call {
	return func(s *Server, ctx context.Context, request []byte) (proto.Message, error) {
		q := M(new(Q))
		if err := proto.Unmarshal(request, q); err != nil {
			return nil, err
		}
		return f(s, ctx, q)
	}
}

// calls has all calls that have one answer, by their names in protocol 6.
var calls map[string]call

func init() {
	calls = map[string]call{
		"GetProviderSchema":               on((*Server).getSchema),
		"GetResourceIdentitySchemas":      on((*Server).getIdentities),
		"ValidateProviderConfig":          on((*Server).validateProvider),
		"ConfigureProvider":               on((*Server).configure),
		"ValidateResourceConfig":          on((*Server).validateResource),
		"ValidateDataResourceConfig":      on((*Server).validateData),
		"ValidateEphemeralResourceConfig": on((*Server).validateEphemeral),
		"UpgradeResourceState":            on((*Server).upgrade),
		"UpgradeResourceIdentity":         on((*Server).upgradeIdentity),
		"ReadResource":                    on((*Server).read),
		"PlanResourceChange":              on((*Server).plan),
		"ApplyResourceChange":             on((*Server).apply),
		"ImportResourceState":             on((*Server).importState),
		"MoveResourceState":               on((*Server).move),
		"ReadDataSource":                  on((*Server).readData),
		"GetFunctions":                    on((*Server).getFunctions),
		"CallFunction":                    on((*Server).callFunction),
		"OpenEphemeralResource":           on((*Server).open),
		"RenewEphemeralResource":          on((*Server).renew),
		"CloseEphemeralResource":          on((*Server).close),
		"ValidateListResourceConfig":      on((*Server).validateList),
		"ValidateActionConfig":            on((*Server).validateAction),
		"PlanAction":                      on((*Server).planAction),
		"StopProvider":                    on((*Server).stop),
	}
}

type versionKey struct{}

// TerraformVersion returns the version of Terraform that the client has sent. ctx is the context that
// Provider.Configure got. For another context, TerraformVersion returns "".
func TerraformVersion(ctx context.Context) string { v, _ := ctx.Value(versionKey{}).(string); return v }

func (s *Server) validateProvider(ctx context.Context, q *wirepb.ValidateProviderConfig_Request) (proto.Message, error) {
	prepared, ds := s.Provider.ValidateConfig(ctx, value(q.Config))
	a := &wirepb.ValidateProviderConfig_Response{Diagnostics: diagnostics(ds)}
	if s.Major == 5 {
		a.PreparedConfig = message(prepared)
	}
	return a, nil
}

func (s *Server) configure(ctx context.Context, q *wirepb.ConfigureProvider_Request) (proto.Message, error) {
	ctx = context.WithValue(ctx, versionKey{}, q.TerraformVersion)
	ds := s.Provider.Configure(ctx, value(q.Config), allow(q.ClientCapabilities))
	return &wirepb.ConfigureProvider_Response{Diagnostics: diagnostics(ds)}, nil
}

func (s *Server) validateResource(ctx context.Context, q *wirepb.ValidateResourceConfig_Request) (proto.Message, error) {
	ds := s.Provider.Validate(ctx, addr.Managed, q.TypeName, value(q.Config))
	if !q.ClientCapabilities.GetWriteOnlyAttributesAllowed() {
		more, err := s.refuseWriteOnly(ctx, q.TypeName, value(q.Config))
		if err != nil {
			return nil, err
		}
		ds = append(ds, more...)
	}
	return &wirepb.ValidateResourceConfig_Response{Diagnostics: diagnostics(ds)}, nil
}

// refuseWriteOnly returns errors for values of write-only attributes in a configuration. It is called if the client
// does not support write-only attributes, because the client would store the values.
func (s *Server) refuseWriteOnly(ctx context.Context, typ string, config provider.Dynamic) (provider.Diags, error) {
	schemas, _ := s.Provider.Schemas(ctx)
	if schemas == nil {
		return nil, errors.New("the provider has no schemas")
	}
	t, err := schemas.Type(addr.Managed, typ)
	if err != nil {
		return nil, err
	}
	v, err := config.Decode(t)
	if err != nil {
		return nil, err
	}
	var ds provider.Diags
	for _, path := range t.WriteOnly(v) {
		ds = append(ds, diag.Errorf("Write-only attribute not supported", "The program that called this provider does not support write-only attributes, and would store the value of this one. Use Lethe, Terraform 1.11 or later, or OpenTofu 1.11 or later.").In(path))
	}
	return ds, nil
}

func (s *Server) validateData(ctx context.Context, q *wirepb.ValidateDataResourceConfig_Request) (proto.Message, error) {
	ds := s.Provider.Validate(ctx, addr.Data, q.TypeName, value(q.Config))
	return &wirepb.ValidateDataResourceConfig_Response{Diagnostics: diagnostics(ds)}, nil
}

func (s *Server) validateEphemeral(ctx context.Context, q *wirepb.ValidateEphemeralResourceConfig_Request) (proto.Message, error) {
	ds := s.Provider.Validate(ctx, addr.Ephemeral, q.TypeName, value(q.Config))
	return &wirepb.ValidateEphemeralResourceConfig_Response{Diagnostics: diagnostics(ds)}, nil
}

func (s *Server) validateList(ctx context.Context, q *wirepb.ValidateListResourceConfig_Request) (proto.Message, error) {
	ds := s.Provider.Validate(ctx, addr.List, q.TypeName, value(q.Config))
	return &wirepb.ValidateListResourceConfig_Response{Diagnostics: diagnostics(ds)}, nil
}

func (s *Server) validateAction(ctx context.Context, q *wirepb.ValidateActionConfig_Request) (proto.Message, error) {
	ds := s.Provider.Validate(ctx, addr.Action, q.ActionType, value(q.Config))
	return &wirepb.ValidateActionConfig_Response{Diagnostics: diagnostics(ds)}, nil
}

func (s *Server) planAction(ctx context.Context, q *wirepb.PlanAction_Request) (proto.Message, error) {
	why, ds := s.Provider.PlanAction(ctx, provider.ActionRequest{Type: q.ActionType, Config: value(q.Config), Allow: allow(q.ClientCapabilities)})
	return &wirepb.PlanAction_Response{Diagnostics: diagnostics(ds), Deferred: deferred(why)}, nil
}

// invoke invokes an action, and passes each answer to send: progress messages, and the end of the action. It stops at
// an error of send.
func (s *Server) invoke(ctx context.Context, request []byte, send func(proto.Message) error) error {
	var q wirepb.InvokeAction_Request
	if err := proto.Unmarshal(request, &q); err != nil {
		return err
	}
	for x, ds := range s.Provider.Invoke(ctx, provider.ActionRequest{Type: q.ActionType, Config: value(q.Config), Allow: allow(q.ClientCapabilities)}) {
		e := &wirepb.InvokeAction_Event{Type: &wirepb.InvokeAction_Event_Progress_{Progress: &wirepb.InvokeAction_Event_Progress{Message: x.Progress}}}
		if x.Ended || ds.HasErrors() {
			e.Type = &wirepb.InvokeAction_Event_Completed_{Completed: &wirepb.InvokeAction_Event_Completed{Diagnostics: diagnostics(ds)}}
		}
		if err := send(e); err != nil {
			return err
		}
	}
	return nil
}

// list searches for objects, and passes each result to send. It stops at an error of send.
func (s *Server) list(ctx context.Context, request []byte, send func(proto.Message) error) error {
	var q wirepb.ListResource_Request
	if err := proto.Unmarshal(request, &q); err != nil {
		return err
	}
	for found, ds := range s.Provider.List(ctx, provider.ListRequest{Type: q.TypeName, Config: value(q.Config), Objects: q.IncludeResourceObject, Limit: q.Limit}) {
		if err := send(&wirepb.ListResource_Event{
			Identity: identity(found.Identity), DisplayName: found.Name, ResourceObject: message(found.Object), Diagnostic: diagnostics(ds),
		}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) upgrade(ctx context.Context, q *wirepb.UpgradeResourceState_Request) (proto.Message, error) {
	a, ds := s.Provider.Upgrade(ctx, provider.UpgradeRequest{
		Type: q.TypeName, Version: q.Version, JSON: q.RawState.GetJson(), Flatmap: q.RawState.GetFlatmap(),
	})
	return &wirepb.UpgradeResourceState_Response{UpgradedState: message(a.State), Diagnostics: diagnostics(ds)}, nil
}

func (s *Server) upgradeIdentity(ctx context.Context, q *wirepb.UpgradeResourceIdentity_Request) (proto.Message, error) {
	a, ds := s.Provider.UpgradeIdentity(ctx, q.TypeName, q.Version, q.RawIdentity.GetJson())
	return &wirepb.UpgradeResourceIdentity_Response{UpgradedIdentity: identity(a), Diagnostics: diagnostics(ds)}, nil
}

func (s *Server) read(ctx context.Context, q *wirepb.ReadResource_Request) (proto.Message, error) {
	a, ds := s.Provider.Read(ctx, provider.ReadRequest{
		Type: q.TypeName, State: value(q.CurrentState), Private: q.Private, Identity: value(q.CurrentIdentity.GetIdentityData()),
		Meta: value(q.ProviderMeta), Allow: allow(q.ClientCapabilities),
	})
	return &wirepb.ReadResource_Response{
		NewState: message(a.State), Private: a.Private, NewIdentity: identity(a.Identity),
		Deferred: deferred(a.Deferred), Diagnostics: diagnostics(ds),
	}, nil
}

func (s *Server) plan(ctx context.Context, q *wirepb.PlanResourceChange_Request) (proto.Message, error) {
	a, ds := s.Provider.Plan(ctx, provider.PlanRequest{
		Type: q.TypeName, Prior: value(q.PriorState), Proposed: value(q.ProposedNewState), Config: value(q.Config),
		Private: q.PriorPrivate, Identity: value(q.PriorIdentity.GetIdentityData()),
		Meta: value(q.ProviderMeta), Allow: allow(q.ClientCapabilities),
	})
	return &wirepb.PlanResourceChange_Response{
		PlannedState: message(a.Planned), RequiresReplace: paths(a.Replace), PlannedPrivate: a.Private,
		PlannedIdentity: identity(a.Identity), LegacyTypeSystem: a.LegacyTypes,
		Deferred: deferred(a.Deferred), Diagnostics: diagnostics(ds),
	}, nil
}

func (s *Server) apply(ctx context.Context, q *wirepb.ApplyResourceChange_Request) (proto.Message, error) {
	a, ds := s.Provider.Apply(ctx, provider.ApplyRequest{
		Type: q.TypeName, Prior: value(q.PriorState), Planned: value(q.PlannedState), Config: value(q.Config),
		Private: q.PlannedPrivate, Identity: value(q.PlannedIdentity.GetIdentityData()), Meta: value(q.ProviderMeta),
	})
	return &wirepb.ApplyResourceChange_Response{
		NewState: message(a.State), Private: a.Private, NewIdentity: identity(a.Identity),
		LegacyTypeSystem: a.LegacyTypes, Diagnostics: diagnostics(ds),
	}, nil
}

func (s *Server) importState(ctx context.Context, q *wirepb.ImportResourceState_Request) (proto.Message, error) {
	a, ds := s.Provider.Import(ctx, provider.ImportRequest{
		Type: q.TypeName, ID: q.Id, Identity: value(q.Identity.GetIdentityData()), Allow: allow(q.ClientCapabilities),
	})
	out := &wirepb.ImportResourceState_Response{Deferred: deferred(a.Deferred), Diagnostics: diagnostics(ds)}
	for _, o := range a.Objects {
		out.ImportedResources = append(out.ImportedResources, &wirepb.ImportResourceState_ImportedResource{
			TypeName: o.Type, State: message(o.State), Private: o.Private, Identity: identity(o.Identity),
		})
	}
	return out, nil
}

func (s *Server) move(ctx context.Context, q *wirepb.MoveResourceState_Request) (proto.Message, error) {
	source, err := addr.ParseProvider(q.SourceProviderAddress)
	if err != nil {
		return nil, err
	}
	a, ds := s.Provider.Move(ctx, provider.MoveRequest{
		SourceProvider: source, SourceType: q.SourceTypeName, SourceVersion: q.SourceSchemaVersion,
		SourceJSON: q.SourceState.GetJson(), SourcePrivate: q.SourcePrivate,
		SourceIdentity: q.SourceIdentity.GetJson(), SourceIdentityVersion: q.SourceIdentitySchemaVersion,
		Type: q.TargetTypeName,
	})
	return &wirepb.MoveResourceState_Response{
		TargetState: message(a.State), TargetPrivate: a.Private, TargetIdentity: identity(a.Identity), Diagnostics: diagnostics(ds),
	}, nil
}

func (s *Server) readData(ctx context.Context, q *wirepb.ReadDataSource_Request) (proto.Message, error) {
	a, ds := s.Provider.ReadData(ctx, provider.DataRequest{
		Type: q.TypeName, Config: value(q.Config), Meta: value(q.ProviderMeta), Allow: allow(q.ClientCapabilities),
	})
	return &wirepb.ReadDataSource_Response{State: message(a.State), Deferred: deferred(a.Deferred), Diagnostics: diagnostics(ds)}, nil
}

func (s *Server) getFunctions(ctx context.Context, _ *wirepb.GetFunctions_Request) (proto.Message, error) {
	fs, ds := s.Provider.ConfiguredFunctions(ctx)
	out := &wirepb.GetFunctions_Response{Functions: map[string]*wirepb.Function{}, Diagnostics: diagnostics(ds)}
	for name, f := range fs {
		out.Functions[name] = function(f)
	}
	return out, nil
}

func (s *Server) callFunction(ctx context.Context, q *wirepb.CallFunction_Request) (proto.Message, error) {
	var args []provider.Dynamic
	for _, a := range q.Arguments {
		args = append(args, value(a))
	}
	a, err := s.Provider.Call(ctx, q.Name, args)
	var complaint *provider.CallError
	if !errors.As(err, &complaint) {
		return &wirepb.CallFunction_Response{Result: message(a)}, err
	}
	e := &wirepb.FunctionError{Text: complaint.Text}
	if complaint.Arg >= 0 {
		e.FunctionArgument = proto.Int64(int64(complaint.Arg))
	}
	return &wirepb.CallFunction_Response{Error: e}, nil
}

func (s *Server) open(ctx context.Context, q *wirepb.OpenEphemeralResource_Request) (proto.Message, error) {
	a, ds := s.Provider.Open(ctx, provider.OpenRequest{Type: q.TypeName, Config: value(q.Config), Allow: allow(q.ClientCapabilities)})
	out := &wirepb.OpenEphemeralResource_Response{
		Result: message(a.Result), Private: a.Private, Deferred: deferred(a.Deferred), Diagnostics: diagnostics(ds),
	}
	if !a.RenewAt.IsZero() {
		out.RenewAt = timestamppb.New(a.RenewAt)
	}
	return out, nil
}

func (s *Server) renew(ctx context.Context, q *wirepb.RenewEphemeralResource_Request) (proto.Message, error) {
	a, ds := s.Provider.Renew(ctx, q.TypeName, q.Private)
	out := &wirepb.RenewEphemeralResource_Response{Private: a.Private, Diagnostics: diagnostics(ds)}
	if !a.RenewAt.IsZero() {
		out.RenewAt = timestamppb.New(a.RenewAt)
	}
	return out, nil
}

func (s *Server) close(ctx context.Context, q *wirepb.CloseEphemeralResource_Request) (proto.Message, error) {
	ds := s.Provider.CloseLease(ctx, q.TypeName, q.Private)
	return &wirepb.CloseEphemeralResource_Response{Diagnostics: diagnostics(ds)}, nil
}

func (s *Server) stop(ctx context.Context, _ *wirepb.StopProvider_Request) (proto.Message, error) {
	a := &wirepb.StopProvider_Response{}
	if err := s.Provider.Stop(ctx); err != nil {
		a.Error = err.Error()
	}
	return a, nil
}

func (s *Server) getSchema(ctx context.Context, _ *wirepb.GetProviderSchema_Request) (proto.Message, error) {
	schemas, ds := s.Provider.Schemas(ctx)
	a, err := SchemaAnswer(s.Major, schemas)
	if err != nil {
		return nil, err
	}
	a.Diagnostics = diagnostics(ds)
	return a, nil
}

func (s *Server) getIdentities(ctx context.Context, _ *wirepb.GetResourceIdentitySchemas_Request) (proto.Message, error) {
	schemas, _ := s.Provider.Schemas(ctx)
	a := &wirepb.GetResourceIdentitySchemas_Response{IdentitySchemas: map[string]*wirepb.ResourceIdentitySchema{}}
	if schemas == nil {
		return a, nil
	}
	for _, name := range slices.Clone(schemas.Identities()) {
		id, err := schemas.Identity(name)
		if err != nil {
			return nil, err
		}
		a.IdentitySchemas[name] = identitySchema(id)
	}
	return a, nil
}

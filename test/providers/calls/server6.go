package calls

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Server6 returns a provider server of protocol 6 that logs every call to b and passes it to next.
func Server6(b *Book, next tfprotov6.ProviderServer) tfprotov6.ProviderServer {
	return &server6{next: next, book: b}
}

type server6 struct {
	next tfprotov6.ProviderServer
	book *Book
}

func wire6(which string, d *tfprotov6.DynamicValue) value {
	if d == nil {
		return value{which: which}
	}
	return value{which: which, wire: d.MsgPack}
}

// tally6 counts the errors and warnings in diagnostics.
func tally6(list []*tfprotov6.Diagnostic) (errors, warnings int) {
	for _, d := range list {
		if d.Severity == tfprotov6.DiagnosticSeverityWarning {
			warnings++
		} else {
			errors++
		}
	}
	return errors, warnings
}

func (s *server6) GetMetadata(ctx context.Context, q *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "GetMetadata"}
	}, q, s.next.GetMetadata, func(a *tfprotov6.GetMetadataResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) GetProviderSchema(ctx context.Context, q *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "GetProviderSchema"}
	}, q, s.next.GetProviderSchema, func(a *tfprotov6.GetProviderSchemaResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) GetResourceIdentitySchemas(ctx context.Context, q *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "GetResourceIdentitySchemas"}
	}, q, s.next.GetResourceIdentitySchemas, func(a *tfprotov6.GetResourceIdentitySchemasResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) ValidateProviderConfig(ctx context.Context, q *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "ValidateProviderConfig", values: []value{wire6("config", q.Config)}}
	}, q, s.next.ValidateProviderConfig, func(a *tfprotov6.ValidateProviderConfigResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) ConfigureProvider(ctx context.Context, q *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "ConfigureProvider", values: []value{wire6("config", q.Config)}, notes: capabilities("deferral_allowed", q.ClientCapabilities != nil && q.ClientCapabilities.DeferralAllowed)}
	}, q, s.next.ConfigureProvider, func(a *tfprotov6.ConfigureProviderResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) StopProvider(ctx context.Context, q *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "StopProvider"}
	}, q, s.next.StopProvider, func(a *tfprotov6.StopProviderResponse) (int, int) { return 0, 0 })
}

func (s *server6) ValidateResourceConfig(ctx context.Context, q *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "ValidateResourceConfig", typ: q.TypeName, values: []value{wire6("config", q.Config)}, notes: capabilities("write_only_allowed", q.ClientCapabilities != nil && q.ClientCapabilities.WriteOnlyAttributesAllowed)}
	}, q, s.next.ValidateResourceConfig, func(a *tfprotov6.ValidateResourceConfigResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) UpgradeResourceState(ctx context.Context, q *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "UpgradeResourceState", typ: q.TypeName, notes: map[string]any{"version": q.Version}}
	}, q, s.next.UpgradeResourceState, func(a *tfprotov6.UpgradeResourceStateResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) UpgradeResourceIdentity(ctx context.Context, q *tfprotov6.UpgradeResourceIdentityRequest) (*tfprotov6.UpgradeResourceIdentityResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "UpgradeResourceIdentity", typ: q.TypeName, notes: map[string]any{"version": q.Version}}
	}, q, s.next.UpgradeResourceIdentity, func(a *tfprotov6.UpgradeResourceIdentityResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) ReadResource(ctx context.Context, q *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "ReadResource", typ: q.TypeName, values: []value{wire6("prior", q.CurrentState)}, notes: capabilities("deferral_allowed", q.ClientCapabilities != nil && q.ClientCapabilities.DeferralAllowed)}
	}, q, s.next.ReadResource, func(a *tfprotov6.ReadResourceResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) PlanResourceChange(ctx context.Context, q *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "PlanResourceChange", typ: q.TypeName, values: []value{wire6("config", q.Config), wire6("prior", q.PriorState), wire6("proposed", q.ProposedNewState)}, notes: capabilities("deferral_allowed", q.ClientCapabilities != nil && q.ClientCapabilities.DeferralAllowed)}
	}, q, s.next.PlanResourceChange, func(a *tfprotov6.PlanResourceChangeResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) ApplyResourceChange(ctx context.Context, q *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "ApplyResourceChange", typ: q.TypeName, values: []value{wire6("config", q.Config), wire6("prior", q.PriorState), wire6("planned", q.PlannedState)}}
	}, q, s.next.ApplyResourceChange, func(a *tfprotov6.ApplyResourceChangeResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) ImportResourceState(ctx context.Context, q *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "ImportResourceState", typ: q.TypeName, key: q.ID, notes: capabilities("deferral_allowed", q.ClientCapabilities != nil && q.ClientCapabilities.DeferralAllowed)}
	}, q, s.next.ImportResourceState, func(a *tfprotov6.ImportResourceStateResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) MoveResourceState(ctx context.Context, q *tfprotov6.MoveResourceStateRequest) (*tfprotov6.MoveResourceStateResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "MoveResourceState", typ: q.TargetTypeName, notes: map[string]any{"from": q.SourceTypeName, "provider": q.SourceProviderAddress, "version": q.SourceSchemaVersion, "identity": q.SourceIdentity != nil}}
	}, q, s.next.MoveResourceState, func(a *tfprotov6.MoveResourceStateResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) GenerateResourceConfig(ctx context.Context, q *tfprotov6.GenerateResourceConfigRequest) (*tfprotov6.GenerateResourceConfigResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "GenerateResourceConfig", typ: q.TypeName, values: []value{wire6("prior", q.State)}}
	}, q, s.next.GenerateResourceConfig, func(a *tfprotov6.GenerateResourceConfigResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) ValidateDataResourceConfig(ctx context.Context, q *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "ValidateDataResourceConfig", typ: q.TypeName, values: []value{wire6("config", q.Config)}}
	}, q, s.next.ValidateDataResourceConfig, func(a *tfprotov6.ValidateDataResourceConfigResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) ReadDataSource(ctx context.Context, q *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "ReadDataSource", typ: q.TypeName, values: []value{wire6("config", q.Config)}, notes: capabilities("deferral_allowed", q.ClientCapabilities != nil && q.ClientCapabilities.DeferralAllowed)}
	}, q, s.next.ReadDataSource, func(a *tfprotov6.ReadDataSourceResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) ValidateEphemeralResourceConfig(ctx context.Context, q *tfprotov6.ValidateEphemeralResourceConfigRequest) (*tfprotov6.ValidateEphemeralResourceConfigResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "ValidateEphemeralResourceConfig", typ: q.TypeName, values: []value{wire6("config", q.Config)}}
	}, q, s.next.ValidateEphemeralResourceConfig, func(a *tfprotov6.ValidateEphemeralResourceConfigResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) OpenEphemeralResource(ctx context.Context, q *tfprotov6.OpenEphemeralResourceRequest) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "OpenEphemeralResource", typ: q.TypeName, values: []value{wire6("config", q.Config)}, notes: capabilities("deferral_allowed", q.ClientCapabilities != nil && q.ClientCapabilities.DeferralAllowed)}
	}, q, s.next.OpenEphemeralResource, func(a *tfprotov6.OpenEphemeralResourceResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) RenewEphemeralResource(ctx context.Context, q *tfprotov6.RenewEphemeralResourceRequest) (*tfprotov6.RenewEphemeralResourceResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "RenewEphemeralResource", typ: q.TypeName, notes: map[string]any{"private": Hash(string(q.Private))}}
	}, q, s.next.RenewEphemeralResource, func(a *tfprotov6.RenewEphemeralResourceResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) CloseEphemeralResource(ctx context.Context, q *tfprotov6.CloseEphemeralResourceRequest) (*tfprotov6.CloseEphemeralResourceResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "CloseEphemeralResource", typ: q.TypeName, notes: map[string]any{"private": Hash(string(q.Private))}}
	}, q, s.next.CloseEphemeralResource, func(a *tfprotov6.CloseEphemeralResourceResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) GetFunctions(ctx context.Context, q *tfprotov6.GetFunctionsRequest) (*tfprotov6.GetFunctionsResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "GetFunctions"}
	}, q, s.next.GetFunctions, func(a *tfprotov6.GetFunctionsResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) CallFunction(ctx context.Context, q *tfprotov6.CallFunctionRequest) (*tfprotov6.CallFunctionResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "CallFunction", typ: q.Name}
	}, q, s.next.CallFunction, func(a *tfprotov6.CallFunctionResponse) (int, int) {
		if a.Error != nil {
			return 1, 0
		}
		return 0, 0
	})
}

// lists returns the next server as a server of list resources, or an error if it is none.
func (s *server6) lists() (tfprotov6.ListResourceServer, error) {
	l, ok := s.next.(tfprotov6.ListResourceServer)
	if !ok {
		return nil, errors.New("the provider has no list resources")
	}
	return l, nil
}

func (s *server6) ValidateListResourceConfig(ctx context.Context, q *tfprotov6.ValidateListResourceConfigRequest) (*tfprotov6.ValidateListResourceConfigResponse, error) {
	next, err := s.lists()
	if err != nil {
		return nil, err
	}
	return logged(ctx, s.book, func() facts {
		return facts{call: "ValidateListResourceConfig", typ: q.TypeName, values: []value{wire6("config", q.Config)}}
	}, q, next.ValidateListResourceConfig, func(a *tfprotov6.ValidateListResourceConfigResponse) (int, int) { return tally6(a.Diagnostics) })
}

// ListResource logs the beginning of the stream. It counts neither the results nor their errors.
func (s *server6) ListResource(ctx context.Context, q *tfprotov6.ListResourceRequest) (*tfprotov6.ListResourceServerStream, error) {
	next, err := s.lists()
	if err != nil {
		return nil, err
	}
	return logged(ctx, s.book, func() facts {
		return facts{call: "ListResource", typ: q.TypeName, values: []value{wire6("config", q.Config)}, notes: map[string]any{"limit": q.Limit, "objects": q.IncludeResource}}
	}, q, next.ListResource, func(*tfprotov6.ListResourceServerStream) (int, int) { return 0, 0 })
}

// actions returns the next server as a server of actions, or an error if it is none.
func (s *server6) actions() (tfprotov6.ActionServer, error) {
	a, ok := s.next.(tfprotov6.ActionServer)
	if !ok {
		return nil, errors.New("the provider has no actions")
	}
	return a, nil
}

func (s *server6) ValidateActionConfig(ctx context.Context, q *tfprotov6.ValidateActionConfigRequest) (*tfprotov6.ValidateActionConfigResponse, error) {
	next, err := s.actions()
	if err != nil {
		return nil, err
	}
	return logged(ctx, s.book, func() facts {
		return facts{call: "ValidateActionConfig", typ: q.ActionType, values: []value{wire6("config", q.Config)}}
	}, q, next.ValidateActionConfig, func(a *tfprotov6.ValidateActionConfigResponse) (int, int) { return tally6(a.Diagnostics) })
}

func (s *server6) PlanAction(ctx context.Context, q *tfprotov6.PlanActionRequest) (*tfprotov6.PlanActionResponse, error) {
	next, err := s.actions()
	if err != nil {
		return nil, err
	}
	return logged(ctx, s.book, func() facts {
		return facts{call: "PlanAction", typ: q.ActionType, values: []value{wire6("config", q.Config)}}
	}, q, next.PlanAction, func(a *tfprotov6.PlanActionResponse) (int, int) { return tally6(a.Diagnostics) })
}

// InvokeAction logs the beginning of the stream. It counts no errors of the events.
func (s *server6) InvokeAction(ctx context.Context, q *tfprotov6.InvokeActionRequest) (*tfprotov6.InvokeActionServerStream, error) {
	next, err := s.actions()
	if err != nil {
		return nil, err
	}
	return logged(ctx, s.book, func() facts {
		return facts{call: "InvokeAction", typ: q.ActionType, values: []value{wire6("config", q.Config)}}
	}, q, next.InvokeAction, func(*tfprotov6.InvokeActionServerStream) (int, int) { return 0, 0 })
}

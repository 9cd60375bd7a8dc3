package calls

import (
	"context"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
)

// Server5 returns a provider server of protocol 5 that logs every call to b and passes it to next. Its log uses the
// names of calls in protocol 6.
func Server5(b *Book, next tfprotov5.ProviderServer) tfprotov5.ProviderServer {
	return &server5{next: next, book: b}
}

type server5 struct {
	next tfprotov5.ProviderServer
	book *Book
}

func wire5(which string, d *tfprotov5.DynamicValue) value {
	if d == nil {
		return value{which: which}
	}
	return value{which: which, wire: d.MsgPack}
}

// tally5 counts the errors and warnings in diagnostics.
func tally5(list []*tfprotov5.Diagnostic) (errors, warnings int) {
	for _, d := range list {
		if d.Severity == tfprotov5.DiagnosticSeverityWarning {
			warnings++
		} else {
			errors++
		}
	}
	return errors, warnings
}

func (s *server5) GetMetadata(ctx context.Context, q *tfprotov5.GetMetadataRequest) (*tfprotov5.GetMetadataResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "GetMetadata"}
	}, q, s.next.GetMetadata, func(a *tfprotov5.GetMetadataResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) GetProviderSchema(ctx context.Context, q *tfprotov5.GetProviderSchemaRequest) (*tfprotov5.GetProviderSchemaResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "GetProviderSchema"}
	}, q, s.next.GetProviderSchema, func(a *tfprotov5.GetProviderSchemaResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) GetResourceIdentitySchemas(ctx context.Context, q *tfprotov5.GetResourceIdentitySchemasRequest) (*tfprotov5.GetResourceIdentitySchemasResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "GetResourceIdentitySchemas"}
	}, q, s.next.GetResourceIdentitySchemas, func(a *tfprotov5.GetResourceIdentitySchemasResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) PrepareProviderConfig(ctx context.Context, q *tfprotov5.PrepareProviderConfigRequest) (*tfprotov5.PrepareProviderConfigResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "ValidateProviderConfig", values: []value{wire5("config", q.Config)}}
	}, q, s.next.PrepareProviderConfig, func(a *tfprotov5.PrepareProviderConfigResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) ConfigureProvider(ctx context.Context, q *tfprotov5.ConfigureProviderRequest) (*tfprotov5.ConfigureProviderResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "ConfigureProvider", values: []value{wire5("config", q.Config)}, notes: capabilities("deferral_allowed", q.ClientCapabilities != nil && q.ClientCapabilities.DeferralAllowed)}
	}, q, s.next.ConfigureProvider, func(a *tfprotov5.ConfigureProviderResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) StopProvider(ctx context.Context, q *tfprotov5.StopProviderRequest) (*tfprotov5.StopProviderResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "StopProvider"}
	}, q, s.next.StopProvider, func(a *tfprotov5.StopProviderResponse) (int, int) { return 0, 0 })
}

func (s *server5) ValidateResourceTypeConfig(ctx context.Context, q *tfprotov5.ValidateResourceTypeConfigRequest) (*tfprotov5.ValidateResourceTypeConfigResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "ValidateResourceConfig", typ: q.TypeName, values: []value{wire5("config", q.Config)}, notes: capabilities("write_only_allowed", q.ClientCapabilities != nil && q.ClientCapabilities.WriteOnlyAttributesAllowed)}
	}, q, s.next.ValidateResourceTypeConfig, func(a *tfprotov5.ValidateResourceTypeConfigResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) UpgradeResourceState(ctx context.Context, q *tfprotov5.UpgradeResourceStateRequest) (*tfprotov5.UpgradeResourceStateResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "UpgradeResourceState", typ: q.TypeName, notes: map[string]any{"version": q.Version}}
	}, q, s.next.UpgradeResourceState, func(a *tfprotov5.UpgradeResourceStateResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) UpgradeResourceIdentity(ctx context.Context, q *tfprotov5.UpgradeResourceIdentityRequest) (*tfprotov5.UpgradeResourceIdentityResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "UpgradeResourceIdentity", typ: q.TypeName, notes: map[string]any{"version": q.Version}}
	}, q, s.next.UpgradeResourceIdentity, func(a *tfprotov5.UpgradeResourceIdentityResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) ReadResource(ctx context.Context, q *tfprotov5.ReadResourceRequest) (*tfprotov5.ReadResourceResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "ReadResource", typ: q.TypeName, values: []value{wire5("prior", q.CurrentState)}, notes: capabilities("deferral_allowed", q.ClientCapabilities != nil && q.ClientCapabilities.DeferralAllowed)}
	}, q, s.next.ReadResource, func(a *tfprotov5.ReadResourceResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) PlanResourceChange(ctx context.Context, q *tfprotov5.PlanResourceChangeRequest) (*tfprotov5.PlanResourceChangeResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "PlanResourceChange", typ: q.TypeName, values: []value{wire5("config", q.Config), wire5("prior", q.PriorState), wire5("proposed", q.ProposedNewState)}, notes: capabilities("deferral_allowed", q.ClientCapabilities != nil && q.ClientCapabilities.DeferralAllowed)}
	}, q, s.next.PlanResourceChange, func(a *tfprotov5.PlanResourceChangeResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) ApplyResourceChange(ctx context.Context, q *tfprotov5.ApplyResourceChangeRequest) (*tfprotov5.ApplyResourceChangeResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "ApplyResourceChange", typ: q.TypeName, values: []value{wire5("config", q.Config), wire5("prior", q.PriorState), wire5("planned", q.PlannedState)}}
	}, q, s.next.ApplyResourceChange, func(a *tfprotov5.ApplyResourceChangeResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) ImportResourceState(ctx context.Context, q *tfprotov5.ImportResourceStateRequest) (*tfprotov5.ImportResourceStateResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "ImportResourceState", typ: q.TypeName, key: q.ID, notes: capabilities("deferral_allowed", q.ClientCapabilities != nil && q.ClientCapabilities.DeferralAllowed)}
	}, q, s.next.ImportResourceState, func(a *tfprotov5.ImportResourceStateResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) MoveResourceState(ctx context.Context, q *tfprotov5.MoveResourceStateRequest) (*tfprotov5.MoveResourceStateResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "MoveResourceState", typ: q.TargetTypeName, notes: map[string]any{"from": q.SourceTypeName, "provider": q.SourceProviderAddress, "version": q.SourceSchemaVersion, "identity": q.SourceIdentity != nil}}
	}, q, s.next.MoveResourceState, func(a *tfprotov5.MoveResourceStateResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) GenerateResourceConfig(ctx context.Context, q *tfprotov5.GenerateResourceConfigRequest) (*tfprotov5.GenerateResourceConfigResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "GenerateResourceConfig", typ: q.TypeName, values: []value{wire5("prior", q.State)}}
	}, q, s.next.GenerateResourceConfig, func(a *tfprotov5.GenerateResourceConfigResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) ValidateDataSourceConfig(ctx context.Context, q *tfprotov5.ValidateDataSourceConfigRequest) (*tfprotov5.ValidateDataSourceConfigResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "ValidateDataResourceConfig", typ: q.TypeName, values: []value{wire5("config", q.Config)}}
	}, q, s.next.ValidateDataSourceConfig, func(a *tfprotov5.ValidateDataSourceConfigResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) ReadDataSource(ctx context.Context, q *tfprotov5.ReadDataSourceRequest) (*tfprotov5.ReadDataSourceResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "ReadDataSource", typ: q.TypeName, values: []value{wire5("config", q.Config)}, notes: capabilities("deferral_allowed", q.ClientCapabilities != nil && q.ClientCapabilities.DeferralAllowed)}
	}, q, s.next.ReadDataSource, func(a *tfprotov5.ReadDataSourceResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) ValidateEphemeralResourceConfig(ctx context.Context, q *tfprotov5.ValidateEphemeralResourceConfigRequest) (*tfprotov5.ValidateEphemeralResourceConfigResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "ValidateEphemeralResourceConfig", typ: q.TypeName, values: []value{wire5("config", q.Config)}}
	}, q, s.next.ValidateEphemeralResourceConfig, func(a *tfprotov5.ValidateEphemeralResourceConfigResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) OpenEphemeralResource(ctx context.Context, q *tfprotov5.OpenEphemeralResourceRequest) (*tfprotov5.OpenEphemeralResourceResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "OpenEphemeralResource", typ: q.TypeName, values: []value{wire5("config", q.Config)}, notes: capabilities("deferral_allowed", q.ClientCapabilities != nil && q.ClientCapabilities.DeferralAllowed)}
	}, q, s.next.OpenEphemeralResource, func(a *tfprotov5.OpenEphemeralResourceResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) RenewEphemeralResource(ctx context.Context, q *tfprotov5.RenewEphemeralResourceRequest) (*tfprotov5.RenewEphemeralResourceResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "RenewEphemeralResource", typ: q.TypeName, notes: map[string]any{"private": Hash(string(q.Private))}}
	}, q, s.next.RenewEphemeralResource, func(a *tfprotov5.RenewEphemeralResourceResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) CloseEphemeralResource(ctx context.Context, q *tfprotov5.CloseEphemeralResourceRequest) (*tfprotov5.CloseEphemeralResourceResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "CloseEphemeralResource", typ: q.TypeName, notes: map[string]any{"private": Hash(string(q.Private))}}
	}, q, s.next.CloseEphemeralResource, func(a *tfprotov5.CloseEphemeralResourceResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) GetFunctions(ctx context.Context, q *tfprotov5.GetFunctionsRequest) (*tfprotov5.GetFunctionsResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "GetFunctions"}
	}, q, s.next.GetFunctions, func(a *tfprotov5.GetFunctionsResponse) (int, int) { return tally5(a.Diagnostics) })
}

func (s *server5) CallFunction(ctx context.Context, q *tfprotov5.CallFunctionRequest) (*tfprotov5.CallFunctionResponse, error) {
	return logged(ctx, s.book, func() facts {
		return facts{call: "CallFunction", typ: q.Name}
	}, q, s.next.CallFunction, func(a *tfprotov5.CallFunctionResponse) (int, int) {
		if a.Error != nil {
			return 1, 0
		}
		return 0, 0
	})
}

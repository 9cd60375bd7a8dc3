package wire

import (
	"context"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
)

// Upgrade converts a stored object to the current schema of its type.
func (c *client) Upgrade(ctx context.Context, r provider.UpgradeRequest) (provider.UpgradeResponse, provider.Diags) {
	resp, ds := ask[wirepb.UpgradeResourceState_Response](ctx, c, upgradeResource, &wirepb.UpgradeResourceState_Request{
		TypeName: r.Type, Version: r.Version, RawState: &wirepb.RawState{Json: r.JSON, Flatmap: r.Flatmap},
	})
	return provider.UpgradeResponse{State: fromDynamic(resp.GetUpgradedState())}, ds
}

// Read refreshes an object: it returns the current object, and a null object if the object no longer exists.
func (c *client) Read(ctx context.Context, r provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
	resp, ds := ask[wirepb.ReadResource_Response](ctx, c, readResource, &wirepb.ReadResource_Request{
		TypeName:           r.Type,
		CurrentState:       toDynamic(r.State),
		Private:            r.Private,
		ProviderMeta:       toDynamic(r.Meta),
		ClientCapabilities: capabilities(r.Allow),
		CurrentIdentity:    toIdentity(r.Identity),
	})
	return provider.ReadResponse{
		State:    fromDynamic(resp.GetNewState()),
		Private:  resp.GetPrivate(),
		Identity: fromIdentity(resp.GetNewIdentity()),
		Deferred: fromDeferred(resp.GetDeferred()),
	}, ds
}

// Plan requests the planned object.
func (c *client) Plan(ctx context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
	resp, ds := ask[wirepb.PlanResourceChange_Response](ctx, c, planResource, &wirepb.PlanResourceChange_Request{
		TypeName:           r.Type,
		PriorState:         toDynamic(r.Prior),
		ProposedNewState:   toDynamic(r.Proposed),
		Config:             toDynamic(r.Config),
		PriorPrivate:       r.Private,
		PriorIdentity:      toIdentity(r.Identity),
		ProviderMeta:       toDynamic(r.Meta),
		ClientCapabilities: capabilities(r.Allow),
	})
	return provider.PlanResponse{
		Planned:     fromDynamic(resp.GetPlannedState()),
		Replace:     fromPaths(resp.GetRequiresReplace()),
		Private:     resp.GetPlannedPrivate(),
		Identity:    fromIdentity(resp.GetPlannedIdentity()),
		LegacyTypes: resp.GetLegacyTypeSystem(),
		Deferred:    fromDeferred(resp.GetDeferred()),
	}, ds
}

// Apply makes a planned change. The answer is valid even if there are errors.
func (c *client) Apply(ctx context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
	resp, unanswered, ds := effect[wirepb.ApplyResourceChange_Response](ctx, c, applyResource, &wirepb.ApplyResourceChange_Request{
		TypeName:        r.Type,
		PriorState:      toDynamic(r.Prior),
		PlannedState:    toDynamic(r.Planned),
		Config:          toDynamic(r.Config),
		PlannedPrivate:  r.Private,
		PlannedIdentity: toIdentity(r.Identity),
		ProviderMeta:    toDynamic(r.Meta),
	}, r.Note)
	return applied(resp, unanswered), ds
}

func applied(resp *wirepb.ApplyResourceChange_Response, unanswered bool) provider.ApplyResponse {
	return provider.ApplyResponse{
		State:       fromDynamic(resp.GetNewState()),
		Private:     resp.GetPrivate(),
		Identity:    fromIdentity(resp.GetNewIdentity()),
		LegacyTypes: resp.GetLegacyTypeSystem(),
		Unanswered:  unanswered,
	}
}

// Import requests existing objects by an id or an identity.
func (c *client) Import(ctx context.Context, r provider.ImportRequest) (provider.ImportResponse, provider.Diags) {
	resp, ds := ask[wirepb.ImportResourceState_Response](ctx, c, importResource, &wirepb.ImportResourceState_Request{
		TypeName: r.Type, Id: r.ID, Identity: toIdentity(r.Identity), ClientCapabilities: capabilities(r.Allow),
	})
	out := provider.ImportResponse{Deferred: fromDeferred(resp.GetDeferred())}
	for _, o := range resp.GetImportedResources() {
		out.Objects = append(out.Objects, provider.Imported{
			Type:     o.TypeName,
			State:    fromDynamic(o.State),
			Private:  o.Private,
			Identity: fromIdentity(o.Identity),
		})
	}
	return out, ds
}

// Move converts an object of another type to the type r.Type.
func (c *client) Move(ctx context.Context, r provider.MoveRequest) (provider.MoveResponse, provider.Diags) {
	resp, ds := ask[wirepb.MoveResourceState_Response](ctx, c, moveResource, &wirepb.MoveResourceState_Request{
		SourceProviderAddress:       r.SourceProvider.String(),
		SourceTypeName:              r.SourceType,
		SourceSchemaVersion:         r.SourceVersion,
		SourceState:                 rawJSON(r.SourceJSON),
		SourcePrivate:               r.SourcePrivate,
		SourceIdentity:              rawJSON(r.SourceIdentity),
		SourceIdentitySchemaVersion: r.SourceIdentityVersion,
		TargetTypeName:              r.Type,
	})
	return provider.MoveResponse{
		State:    fromDynamic(resp.GetTargetState()),
		Private:  resp.GetTargetPrivate(),
		Identity: fromIdentity(resp.GetTargetIdentity()),
	}, ds
}

// UpgradeIdentity converts a stored identity, which has the schema version in version, to the current identity schema.
func (c *client) UpgradeIdentity(ctx context.Context, typ string, version int64, json []byte) (provider.Dynamic, provider.Diags) {
	resp, ds := ask[wirepb.UpgradeResourceIdentity_Response](ctx, c, upgradeIdentity,
		&wirepb.UpgradeResourceIdentity_Request{TypeName: typ, Version: version, RawIdentity: &wirepb.RawState{Json: json}})
	return fromIdentity(resp.GetUpgradedIdentity()), ds
}

package wire

import (
	"context"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
)

// Upgrade brings a stored object to the current schema.
func (c *client) Upgrade(ctx context.Context, r provider.UpgradeRequest) (provider.UpgradeResponse, provider.Diags) {
	x := &struct {
		raw  wirepb.RawState
		req  wirepb.UpgradeResourceState_Request
		resp wirepb.UpgradeResourceState_Response
	}{}
	x.raw.Json, x.raw.Flatmap = r.JSON, r.Flatmap
	x.req.TypeName, x.req.Version, x.req.RawState = r.Type, r.Version, &x.raw
	if ds := c.call(ctx, upgradeResource, &x.req, &x.resp); ds != nil {
		return provider.UpgradeResponse{}, ds
	}
	return provider.UpgradeResponse{State: fromDynamic(x.resp.UpgradedState)}, c.diags(x.resp.Diagnostics)
}

// Read refreshes an object.
func (c *client) Read(ctx context.Context, r provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
	x := &struct {
		parts
		req  wirepb.ReadResource_Request
		resp wirepb.ReadResource_Response
	}{}
	x.req.TypeName = r.Type
	x.req.CurrentState = x.dynamic(r.State)
	x.req.Private = r.Private
	x.req.ProviderMeta = x.dynamic(r.Meta)
	x.req.ClientCapabilities = capabilities(r.Allow)
	x.req.CurrentIdentity = x.identity(r.Identity)
	if ds := c.call(ctx, readResource, &x.req, &x.resp); ds != nil {
		return provider.ReadResponse{}, ds
	}
	return provider.ReadResponse{
		State:    fromDynamic(x.resp.NewState),
		Private:  x.resp.Private,
		Identity: fromIdentity(x.resp.NewIdentity),
		Deferred: fromDeferred(x.resp.Deferred),
	}, c.diags(x.resp.Diagnostics)
}

// Plan asks what would change.
func (c *client) Plan(ctx context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
	x := &struct {
		parts
		req  wirepb.PlanResourceChange_Request
		resp wirepb.PlanResourceChange_Response
	}{}
	x.req.TypeName = r.Type
	x.req.PriorState = x.dynamic(r.Prior)
	x.req.ProposedNewState = x.dynamic(r.Proposed)
	x.req.Config = x.dynamic(r.Config)
	x.req.PriorPrivate = r.Private
	x.req.PriorIdentity = x.identity(r.Identity)
	x.req.ProviderMeta = x.dynamic(r.Meta)
	x.req.ClientCapabilities = capabilities(r.Allow)
	if ds := c.call(ctx, planResource, &x.req, &x.resp); ds != nil {
		return provider.PlanResponse{}, ds
	}
	return provider.PlanResponse{
		Planned:     fromDynamic(x.resp.PlannedState),
		Replace:     fromPaths(x.resp.RequiresReplace),
		Private:     x.resp.PlannedPrivate,
		Identity:    fromIdentity(x.resp.PlannedIdentity),
		LegacyTypes: x.resp.LegacyTypeSystem,
		Deferred:    fromDeferred(x.resp.Deferred),
	}, c.diags(x.resp.Diagnostics)
}

// Apply makes a change. What came back is there also beside errors.
func (c *client) Apply(ctx context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
	x := &struct {
		parts
		req  wirepb.ApplyResourceChange_Request
		resp wirepb.ApplyResourceChange_Response
	}{}
	x.req.TypeName = r.Type
	x.req.PriorState = x.dynamic(r.Prior)
	x.req.PlannedState = x.dynamic(r.Planned)
	x.req.Config = x.dynamic(r.Config)
	x.req.PlannedPrivate = r.Private
	x.req.PlannedIdentity = x.identity(r.Identity)
	x.req.ProviderMeta = x.dynamic(r.Meta)
	if unanswered, ds := c.effect(ctx, applyResource, &x.req, &x.resp); ds != nil {
		return provider.ApplyResponse{Unanswered: unanswered}, ds
	}
	return provider.ApplyResponse{
		State:       fromDynamic(x.resp.NewState),
		Private:     x.resp.Private,
		Identity:    fromIdentity(x.resp.NewIdentity),
		LegacyTypes: x.resp.LegacyTypeSystem,
	}, c.diags(x.resp.Diagnostics)
}

// Import looks an existing object up.
func (c *client) Import(ctx context.Context, r provider.ImportRequest) (provider.ImportResponse, provider.Diags) {
	x := &struct {
		parts
		req  wirepb.ImportResourceState_Request
		resp wirepb.ImportResourceState_Response
	}{}
	x.req.TypeName, x.req.Id = r.Type, r.ID
	x.req.Identity = x.identity(r.Identity)
	x.req.ClientCapabilities = capabilities(r.Allow)
	if ds := c.call(ctx, importResource, &x.req, &x.resp); ds != nil {
		return provider.ImportResponse{}, ds
	}
	out := provider.ImportResponse{Deferred: fromDeferred(x.resp.Deferred)}
	for _, o := range x.resp.ImportedResources {
		out.Objects = append(out.Objects, provider.Imported{
			Type:     o.TypeName,
			State:    fromDynamic(o.State),
			Private:  o.Private,
			Identity: fromIdentity(o.Identity),
		})
	}
	return out, c.diags(x.resp.Diagnostics)
}

// Move turns an object of another type into one of r.Type.
func (c *client) Move(ctx context.Context, r provider.MoveRequest) (provider.MoveResponse, provider.Diags) {
	req := &wirepb.MoveResourceState_Request{
		SourceProviderAddress:       r.SourceProvider.String(),
		SourceTypeName:              r.SourceType,
		SourceSchemaVersion:         r.SourceVersion,
		SourceState:                 rawJSON(r.SourceJSON),
		SourcePrivate:               r.SourcePrivate,
		SourceIdentity:              rawJSON(r.SourceIdentity),
		SourceIdentitySchemaVersion: r.SourceIdentityVersion,
		TargetTypeName:              r.Type,
	}
	var resp wirepb.MoveResourceState_Response
	if ds := c.call(ctx, moveResource, req, &resp); ds != nil {
		return provider.MoveResponse{}, ds
	}
	return provider.MoveResponse{
		State:    fromDynamic(resp.TargetState),
		Private:  resp.TargetPrivate,
		Identity: fromIdentity(resp.TargetIdentity),
	}, c.diags(resp.Diagnostics)
}

// UpgradeIdentity brings a stored identity to the current identity schema.
func (c *client) UpgradeIdentity(ctx context.Context, typ string, version int64, json []byte) (provider.Dynamic, provider.Diags) {
	req := &wirepb.UpgradeResourceIdentity_Request{TypeName: typ, Version: version, RawIdentity: &wirepb.RawState{Json: json}}
	var resp wirepb.UpgradeResourceIdentity_Response
	if ds := c.call(ctx, upgradeIdentity, req, &resp); ds != nil {
		return provider.Dynamic{}, ds
	}
	return fromIdentity(resp.UpgradedIdentity), c.diags(resp.Diagnostics)
}

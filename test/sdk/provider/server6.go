package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// server6 logs the calls about objects, and passes all calls on.
type server6 struct {
	tfprotov6.ProviderServer
}

func tree6(d *tfprotov6.DynamicValue) any {
	if d == nil {
		return nil
	}
	return tree(d.MsgPack, d.JSON)
}

func diags6(list []*tfprotov6.Diagnostic) []any {
	out := []any{}
	for _, d := range list {
		out = append(out, fmt.Sprint(d.Severity, ": ", d.Summary))
	}
	return out
}

func raw6(s *tfprotov6.RawState) any {
	if s == nil {
		return nil
	}
	return tree(nil, s.JSON)
}

func (s server6) ValidateResourceConfig(ctx context.Context, q *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	a, err := s.ProviderServer.ValidateResourceConfig(ctx, q)
	if err == nil {
		record("Validate", q.TypeName, map[string]any{"config": tree6(q.Config)}, map[string]any{"diags": diags6(a.Diagnostics)})
	}
	return a, err
}

func (s server6) UpgradeResourceState(ctx context.Context, q *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	a, err := s.ProviderServer.UpgradeResourceState(ctx, q)
	if err == nil {
		record("Upgrade", q.TypeName, map[string]any{"version": q.Version, "state": raw6(q.RawState)},
			map[string]any{"state": tree6(a.UpgradedState), "diags": diags6(a.Diagnostics)})
	}
	return a, err
}

func (s server6) ReadResource(ctx context.Context, q *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	a, err := s.ProviderServer.ReadResource(ctx, q)
	if err == nil {
		record("Read", q.TypeName, map[string]any{"prior": tree6(q.CurrentState), "private": private(q.Private)},
			map[string]any{"state": tree6(a.NewState), "private": private(a.Private), "diags": diags6(a.Diagnostics)})
	}
	return a, err
}

func (s server6) PlanResourceChange(ctx context.Context, q *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	a, err := s.ProviderServer.PlanResourceChange(ctx, q)
	if err == nil {
		replace := []any{}
		for _, p := range a.RequiresReplace {
			replace = append(replace, p.String())
		}
		record("Plan", q.TypeName,
			map[string]any{"config": tree6(q.Config), "prior": tree6(q.PriorState), "proposed": tree6(q.ProposedNewState), "private": private(q.PriorPrivate)},
			map[string]any{"planned": tree6(a.PlannedState), "private": private(a.PlannedPrivate), "replace": replace, "diags": diags6(a.Diagnostics)})
	}
	return a, err
}

func (s server6) ApplyResourceChange(ctx context.Context, q *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	a, err := s.ProviderServer.ApplyResourceChange(ctx, q)
	if err == nil {
		record("Apply", q.TypeName,
			map[string]any{"config": tree6(q.Config), "prior": tree6(q.PriorState), "planned": tree6(q.PlannedState), "private": private(q.PlannedPrivate)},
			map[string]any{"state": tree6(a.NewState), "private": private(a.Private), "diags": diags6(a.Diagnostics)})
	}
	return a, err
}

func (s server6) ImportResourceState(ctx context.Context, q *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	a, err := s.ProviderServer.ImportResourceState(ctx, q)
	if err == nil {
		got := []any{}
		for _, r := range a.ImportedResources {
			got = append(got, []any{r.TypeName, tree6(r.State)})
		}
		record("Import", q.TypeName, map[string]any{"id": q.ID}, map[string]any{"imported": got, "diags": diags6(a.Diagnostics)})
	}
	return a, err
}

func (s server6) MoveResourceState(ctx context.Context, q *tfprotov6.MoveResourceStateRequest) (*tfprotov6.MoveResourceStateResponse, error) {
	a, err := s.ProviderServer.MoveResourceState(ctx, q)
	if err == nil {
		record("Move", q.TargetTypeName,
			map[string]any{"from": q.SourceTypeName, "version": q.SourceSchemaVersion, "state": raw6(q.SourceState), "private": private(q.SourcePrivate)},
			map[string]any{"state": tree6(a.TargetState), "private": private(a.TargetPrivate), "diags": diags6(a.Diagnostics)})
	}
	return a, err
}

func (s server6) ReadDataSource(ctx context.Context, q *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	a, err := s.ProviderServer.ReadDataSource(ctx, q)
	if err == nil {
		record("ReadData", q.TypeName, map[string]any{"config": tree6(q.Config)}, map[string]any{"state": tree6(a.State), "diags": diags6(a.Diagnostics)})
	}
	return a, err
}

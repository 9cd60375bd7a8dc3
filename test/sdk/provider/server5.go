package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
)

// server5 logs the calls about objects, and passes all calls on: to the SDK, or to the type that is made without one.
// It adds this type to the schemas, and changes some answers of Read (see withoutBlocks).
type server5 struct {
	tfprotov5.ProviderServer
}

func (s server5) GetMetadata(ctx context.Context, q *tfprotov5.GetMetadataRequest) (*tfprotov5.GetMetadataResponse, error) {
	a, err := s.ProviderServer.GetMetadata(ctx, q)
	if err == nil {
		a.Resources = append(a.Resources, tfprotov5.ResourceMetadata{TypeName: rawType})
	}
	return a, err
}

func (s server5) GetProviderSchema(ctx context.Context, q *tfprotov5.GetProviderSchemaRequest) (*tfprotov5.GetProviderSchemaResponse, error) {
	a, err := s.ProviderServer.GetProviderSchema(ctx, q)
	if err == nil {
		a.ResourceSchemas[rawType] = rawSchema()
	}
	return a, err
}

func tree5(d *tfprotov5.DynamicValue) any {
	if d == nil {
		return nil
	}
	return tree(d.MsgPack, d.JSON)
}

func diags5(list []*tfprotov5.Diagnostic) []any {
	out := []any{}
	for _, d := range list {
		out = append(out, fmt.Sprint(d.Severity, ": ", d.Summary))
	}
	return out
}

// choose calls raw for the type that is made without an SDK, and sdk for any other type.
func choose[A any](name string, raw, sdk func() (A, error)) (A, error) {
	if name == rawType {
		return raw()
	}
	return sdk()
}

func raw5(s *tfprotov5.RawState) any {
	if s == nil {
		return nil
	}
	return tree(nil, s.JSON)
}

func (s server5) ValidateResourceTypeConfig(ctx context.Context, q *tfprotov5.ValidateResourceTypeConfigRequest) (*tfprotov5.ValidateResourceTypeConfigResponse, error) {
	if q.TypeName == rawType {
		return &tfprotov5.ValidateResourceTypeConfigResponse{}, nil
	}
	a, err := s.ProviderServer.ValidateResourceTypeConfig(ctx, q)
	if err == nil {
		record("Validate", q.TypeName, map[string]any{"config": tree5(q.Config)}, map[string]any{"diags": diags5(a.Diagnostics)})
	}
	return a, err
}

func (s server5) UpgradeResourceState(ctx context.Context, q *tfprotov5.UpgradeResourceStateRequest) (*tfprotov5.UpgradeResourceStateResponse, error) {
	a, err := choose(q.TypeName, func() (*tfprotov5.UpgradeResourceStateResponse, error) { return rawUpgrade(q) }, func() (*tfprotov5.UpgradeResourceStateResponse, error) {
		return s.ProviderServer.UpgradeResourceState(ctx, q)
	})
	if err == nil {
		record("Upgrade", q.TypeName, map[string]any{"version": q.Version, "state": raw5(q.RawState)},
			map[string]any{"state": tree5(a.UpgradedState), "diags": diags5(a.Diagnostics)})
	}
	return a, err
}

func (s server5) ReadResource(ctx context.Context, q *tfprotov5.ReadResourceRequest) (*tfprotov5.ReadResourceResponse, error) {
	a, err := choose(q.TypeName, func() (*tfprotov5.ReadResourceResponse, error) { return rawRead(q) }, func() (*tfprotov5.ReadResourceResponse, error) { return s.ProviderServer.ReadResource(ctx, q) })
	if err == nil {
		a.NewState = withoutBlocks(s.types()[q.TypeName], a.NewState)
		record("Read", q.TypeName, map[string]any{"prior": tree5(q.CurrentState), "private": private(q.Private)},
			map[string]any{"state": tree5(a.NewState), "private": private(a.Private), "diags": diags5(a.Diagnostics)})
	}
	return a, err
}

func (s server5) PlanResourceChange(ctx context.Context, q *tfprotov5.PlanResourceChangeRequest) (*tfprotov5.PlanResourceChangeResponse, error) {
	a, err := choose(q.TypeName, func() (*tfprotov5.PlanResourceChangeResponse, error) { return rawPlan(q) }, func() (*tfprotov5.PlanResourceChangeResponse, error) {
		return s.ProviderServer.PlanResourceChange(ctx, q)
	})
	if err == nil {
		replace := []any{}
		for _, p := range a.RequiresReplace {
			replace = append(replace, p.String())
		}
		record("Plan", q.TypeName,
			map[string]any{"config": tree5(q.Config), "prior": tree5(q.PriorState), "proposed": tree5(q.ProposedNewState), "private": private(q.PriorPrivate)},
			map[string]any{"planned": tree5(a.PlannedState), "private": private(a.PlannedPrivate), "replace": replace, "diags": diags5(a.Diagnostics)})
	}
	return a, err
}

func (s server5) ApplyResourceChange(ctx context.Context, q *tfprotov5.ApplyResourceChangeRequest) (*tfprotov5.ApplyResourceChangeResponse, error) {
	a, err := choose(q.TypeName, func() (*tfprotov5.ApplyResourceChangeResponse, error) { return rawApply(q) }, func() (*tfprotov5.ApplyResourceChangeResponse, error) {
		return s.ProviderServer.ApplyResourceChange(ctx, q)
	})
	if err == nil {
		record("Apply", q.TypeName,
			map[string]any{"config": tree5(q.Config), "prior": tree5(q.PriorState), "planned": tree5(q.PlannedState), "private": private(q.PlannedPrivate)},
			map[string]any{"state": tree5(a.NewState), "private": private(a.Private), "diags": diags5(a.Diagnostics)})
	}
	return a, err
}

func (s server5) ImportResourceState(ctx context.Context, q *tfprotov5.ImportResourceStateRequest) (*tfprotov5.ImportResourceStateResponse, error) {
	a, err := choose(q.TypeName, func() (*tfprotov5.ImportResourceStateResponse, error) { return rawImport(q) }, func() (*tfprotov5.ImportResourceStateResponse, error) {
		return s.ProviderServer.ImportResourceState(ctx, q)
	})
	if err == nil {
		got := []any{}
		for _, r := range a.ImportedResources {
			got = append(got, []any{r.TypeName, tree5(r.State)})
		}
		record("Import", q.TypeName, map[string]any{"id": q.ID}, map[string]any{"imported": got, "diags": diags5(a.Diagnostics)})
	}
	return a, err
}

func (s server5) MoveResourceState(ctx context.Context, q *tfprotov5.MoveResourceStateRequest) (*tfprotov5.MoveResourceStateResponse, error) {
	a, err := s.ProviderServer.MoveResourceState(ctx, q)
	if err == nil {
		record("Move", q.TargetTypeName,
			map[string]any{"from": q.SourceTypeName, "version": q.SourceSchemaVersion, "state": raw5(q.SourceState), "private": private(q.SourcePrivate)},
			map[string]any{"state": tree5(a.TargetState), "private": private(a.TargetPrivate), "diags": diags5(a.Diagnostics)})
	}
	return a, err
}

func (s server5) ReadDataSource(ctx context.Context, q *tfprotov5.ReadDataSourceRequest) (*tfprotov5.ReadDataSourceResponse, error) {
	a, err := s.ProviderServer.ReadDataSource(ctx, q)
	if err == nil {
		record("ReadData", q.TypeName, map[string]any{"config": tree5(q.Config)}, map[string]any{"state": tree5(a.State), "diags": diags5(a.Diagnostics)})
	}
	return a, err
}

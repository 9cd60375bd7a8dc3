package raw

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// This file contains the calls about the provider itself, its functions and its data source.

var capable = &tfprotov6.ServerCapabilities{PlanDestroy: true, MoveResourceState: true}

func (r *rogue) GetMetadata(ctx context.Context, _ *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	sc := &scene{names: []string{"GetMetadata", "Metadata"}}
	return play(ctx, r, sc, func() (*tfprotov6.GetMetadataResponse, error) {
		a := &tfprotov6.GetMetadataResponse{ServerCapabilities: capable}
		for name := range r.schemas.resources {
			a.Resources = append(a.Resources, tfprotov6.ResourceMetadata{TypeName: name})
		}
		for name := range r.schemas.data {
			a.DataSources = append(a.DataSources, tfprotov6.DataSourceMetadata{TypeName: name})
		}
		for name := range r.schemas.ephemeral {
			a.EphemeralResources = append(a.EphemeralResources, tfprotov6.EphemeralResourceMetadata{TypeName: name})
		}
		for name := range r.schemas.lists {
			a.ListResources = append(a.ListResources, tfprotov6.ListResourceMetadata{TypeName: name})
		}
		for name := range r.schemas.actions {
			a.Actions = append(a.Actions, tfprotov6.ActionMetadata{TypeName: name})
		}
		for name := range r.schemas.functions {
			a.Functions = append(a.Functions, tfprotov6.FunctionMetadata{Name: name})
		}
		sc.diags = &a.Diagnostics
		return a, nil
	})
}

func (r *rogue) GetProviderSchema(ctx context.Context, _ *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	sc := &scene{names: []string{"GetProviderSchema", "Schema"}, secret: canary()}
	return play(ctx, r, sc, func() (*tfprotov6.GetProviderSchemaResponse, error) {
		a := &tfprotov6.GetProviderSchemaResponse{
			ServerCapabilities:       capable,
			Provider:                 r.schemas.provider,
			ResourceSchemas:          r.schemas.resources,
			DataSourceSchemas:        r.schemas.data,
			EphemeralResourceSchemas: r.schemas.ephemeral,
			ListResourceSchemas:      r.schemas.lists,
			ActionSchemas:            r.schemas.actions,
			StateStoreSchemas:        r.schemas.stores,
			Functions:                r.schemas.functions,
		}
		sc.diags = &a.Diagnostics
		return a, nil
	})
}

func (r *rogue) GetResourceIdentitySchemas(ctx context.Context, _ *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	sc := &scene{names: []string{"GetResourceIdentitySchemas", "Identities"}}
	return play(ctx, r, sc, func() (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
		a := &tfprotov6.GetResourceIdentitySchemasResponse{IdentitySchemas: map[string]*tfprotov6.ResourceIdentitySchema{
			"rogue_thing": r.schemas.identity,
		}}
		sc.diags = &a.Diagnostics
		return a, nil
	})
}

func (r *rogue) ValidateProviderConfig(ctx context.Context, q *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	sc := r.scene(r.schemas.provider, q.Config, "ValidateProviderConfig", "ValidateProvider")
	return play(ctx, r, sc, func() (*tfprotov6.ValidateProviderConfigResponse, error) {
		a := &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: q.Config}
		sc.diags, sc.value = &a.Diagnostics, &a.PreparedConfig
		return a, nil
	})
}

func (r *rogue) ConfigureProvider(ctx context.Context, q *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	sc := r.scene(r.schemas.provider, q.Config, "ConfigureProvider", "Configure")
	return play(ctx, r, sc, func() (*tfprotov6.ConfigureProviderResponse, error) {
		a := &tfprotov6.ConfigureProviderResponse{}
		sc.diags = &a.Diagnostics
		return a, r.configure(str(look(sc.config), "label"), sc.spec)
	})
}

// configure stores the label, and adds the rules in spec, which apply to every later call. Invalid rules are an error.
func (r *rogue) configure(label, spec string) error {
	own, err := parse(spec)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.label, r.rules = label, append(slices.Clip(r.rules), own...)
	return err
}

// by returns the label for objects in the cloud.
func (r *rogue) by() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.label
}

func (r *rogue) StopProvider(ctx context.Context, _ *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	sc := &scene{names: []string{"StopProvider", "Stop"}}
	return play(ctx, r, sc, func() (*tfprotov6.StopProviderResponse, error) { return &tfprotov6.StopProviderResponse{}, nil })
}

func (r *rogue) GetFunctions(ctx context.Context, _ *tfprotov6.GetFunctionsRequest) (*tfprotov6.GetFunctionsResponse, error) {
	sc := &scene{names: []string{"GetFunctions", "Functions"}}
	return play(ctx, r, sc, func() (*tfprotov6.GetFunctionsResponse, error) {
		a := &tfprotov6.GetFunctionsResponse{Functions: r.functions()}
		sc.diags = &a.Diagnostics
		return a, nil
	})
}

// functions returns the functions of the schema, and LABEL_echo if the provider has a label. It resembles providers
// whose functions depend on a program and are not known before the configuration.
func (r *rogue) functions() map[string]*tfprotov6.Function {
	all := maps.Clone(r.schemas.functions)
	if label := r.by(); label != "" {
		all[label+"_echo"] = all["echo"]
	}
	return all
}

func (r *rogue) CallFunction(ctx context.Context, q *tfprotov6.CallFunctionRequest) (*tfprotov6.CallFunctionResponse, error) {
	sc := &scene{names: []string{"CallFunction", "Call"}, key: q.Name, typ: text, secret: canary()}
	if len(q.Arguments) != 1 {
		return nil, errors.New("wanted one argument")
	}
	if v, err := q.Arguments[0].Unmarshal(text); err == nil && v.IsKnown() {
		_ = v.As(&sc.secret)
	}
	return play(ctx, r, sc, func() (*tfprotov6.CallFunctionResponse, error) {
		if r.functions()[q.Name] == nil {
			return nil, fmt.Errorf("there is no function %q", q.Name)
		}
		a := &tfprotov6.CallFunctionResponse{Result: q.Arguments[0]}
		sc.value = &a.Result
		return a, nil
	})
}

func (r *rogue) ValidateDataResourceConfig(ctx context.Context, q *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	sc := r.scene(r.schemas.data[q.TypeName], q.Config, "ValidateDataResourceConfig", "ValidateData")
	return play(ctx, r, sc, func() (*tfprotov6.ValidateDataResourceConfigResponse, error) {
		a := &tfprotov6.ValidateDataResourceConfigResponse{}
		sc.diags = &a.Diagnostics
		return a, nil
	})
}

func (r *rogue) ReadDataSource(ctx context.Context, q *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	sc := r.scene(r.schemas.data[q.TypeName], q.Config, "ReadDataSource", "ReadData")
	return play(ctx, r, sc, func() (*tfprotov6.ReadDataSourceResponse, error) {
		attrs := look(sc.config)
		name := str(attrs, "name")
		attrs["id"] = tftypes.NewValue(text, "data-"+name)
		attrs["value"] = tftypes.NewValue(text, "value of "+name)
		state, err := tfprotov6.NewDynamicValue(sc.typ, tftypes.NewValue(sc.typ, attrs))
		a := &tfprotov6.ReadDataSourceResponse{State: &state}
		sc.value, sc.diags, sc.deferred = &a.State, &a.Diagnostics, &a.Deferred
		return a, err
	})
}

// scene returns a scene for a call. The configuration contains the key, the rules and the secret. If it is nil or
// cannot be decoded, the scene has no key and no rules, and the secret is the canary.
func (r *rogue) scene(s *tfprotov6.Schema, config *tfprotov6.DynamicValue, names ...string) *scene {
	sc := &scene{names: names, typ: s.ValueType(), secret: canary()}
	if config == nil {
		return sc
	}
	v, err := config.Unmarshal(sc.typ)
	if err != nil {
		return sc
	}
	attrs := look(v)
	sc.config, sc.key, sc.spec = v, str(attrs, "name"), str(attrs, "misbehave")
	for _, name := range []string{"secret_wo", "token"} {
		if s := str(attrs, name); s != "" {
			sc.secret = s
			break
		}
	}
	return sc
}

// look returns the attributes of an object, and none if it is unknown or null.
func look(v tftypes.Value) map[string]tftypes.Value {
	m := map[string]tftypes.Value{}
	if !v.IsNull() && v.IsKnown() {
		_ = v.As(&m)
	}
	return m
}

// str returns an attribute of type string, or "" if it is null, unknown or missing.
func str(m map[string]tftypes.Value, name string) string {
	var s string
	if v, ok := m[name]; ok && v.IsKnown() && !v.IsNull() {
		_ = v.As(&s)
	}
	return s
}

// Package terraform is the built-in provider terraform.io/builtin/terraform. It provides the managed resource
// terraform_data, the data source terraform_remote_state, and functions that write and read values as configuration
// text.
package terraform

import (
	"context"
	"crypto/rand"
	"maps"

	"github.com/google/uuid"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// RemoteState reads the root outputs of another state. It gets the address of the data source (object), the type of the
// backend, the workspace and the settings of the backend. The caller of New provides this function, because this
// package cannot open stores.
type RemoteState func(ctx context.Context, object, backend, workspace string, config cty.Value) (map[string]cty.Value, provider.Diags)

// RemoteCheck checks the settings of a backend without opening the backend. config is null if the settings are unknown.
type RemoteCheck func(backend string, config cty.Value) provider.Diags

// New returns the provider. Without check, the settings of terraform_remote_state are checked only when the state is
// read.
func New(remote RemoteState, check RemoteCheck) *builtin.Provider {
	return &builtin.Provider{
		Address:   addr.Builtin("terraform"),
		Resources: map[string]*builtin.Resource{"terraform_data": data()},
		Data:      map[string]*builtin.Data{"terraform_remote_state": remoteState(remote, check)},
		Functions: functions(),
	}
}

// data returns the resource type terraform_data. Its objects store a value, and are replaced when their triggers
// change.
func data() *builtin.Resource {
	return &builtin.Resource{
		Schema: &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{
			{Name: "id", Type: cty.String, Computed: true},
			{Name: "input", Type: cty.DynamicPseudoType, Optional: true},
			{Name: "output", Type: cty.DynamicPseudoType, Computed: true},
			{Name: "triggers_replace", Type: cty.DynamicPseudoType, Optional: true},
		}}},
		Plan:   builtin.PlanWith(planData),
		Apply:  builtin.ApplyWith(applyData),
		Import: importData,
		Move:   moveData,
	}
}

// planData plans a creation, an update or a replacement. It returns the planned object, and the attributes that need a
// replacement. If the input is changed or removed, the output is unknown until apply, as in Terraform.
func planData(prior, proposed, _ cty.Value) (cty.Value, []cty.Path, provider.Diags) {
	planned := proposed.AsValueMap()
	if prior.IsNull() {
		planned["id"] = cty.UnknownVal(cty.String).RefineNotNull()
		input := proposed.GetAttr("input")
		planned["output"] = cty.NullVal(input.Type())
		if !input.IsNull() {
			planned["output"] = cty.UnknownVal(input.Type())
		}
		return cty.ObjectVal(planned), nil, nil
	}
	var replace []cty.Path
	if !prior.GetAttr("triggers_replace").RawEquals(proposed.GetAttr("triggers_replace")) {
		replace = append(replace, cty.GetAttrPath("triggers_replace"))
	}
	if input := proposed.GetAttr("input"); !prior.GetAttr("input").RawEquals(input) {
		planned["output"] = cty.UnknownVal(input.Type())
	}
	return cty.ObjectVal(planned), replace, nil
}

func applyData(_ context.Context, prior, planned, _ cty.Value) (cty.Value, provider.Diags) {
	if planned.IsNull() {
		return planned, nil
	}
	made := planned.AsValueMap()
	if !planned.GetAttr("id").IsKnown() {
		id, err := uuid.NewRandomFromReader(rand.Reader)
		if err != nil {
			return prior, provider.Diags{diag.Errorf("Failed to generate an identifier", "%s.", err)}
		}
		made["id"] = cty.StringVal(id.String())
	}
	if !planned.GetAttr("output").IsKnown() {
		made["output"] = planned.GetAttr("input")
	}
	return cty.ObjectVal(made), nil
}

func importData(_ context.Context, id string) (cty.Value, provider.Diags) {
	if id == "" {
		return cty.NilVal, provider.Diags{diag.Errorf("Invalid import id", "The id of a terraform_data resource must not be empty.")}
	}
	null := cty.NullVal(cty.DynamicPseudoType)
	return cty.ObjectVal(map[string]cty.Value{
		"id": cty.StringVal(id), "input": null, "output": null, "triggers_replace": null,
	}), nil
}

// moveData converts an object of the type null_resource to terraform_data. Its triggers become triggers_replace. For an
// object of any other type, moveData returns an error.
func moveData(req provider.MoveRequest) (cty.Value, provider.Diags) {
	if req.SourceType != "null_resource" || req.SourceProvider.Type != "null" {
		return cty.NilVal, provider.Diags{diag.Errorf("Unsupported source resource type for terraform_data", "An object of type %s (%s) cannot be moved to terraform_data: only null_resource can.", req.SourceType, req.SourceProvider.ForDisplay())}
	}
	ty := cty.Object(map[string]cty.Type{"id": cty.String, "triggers": cty.Map(cty.String)})
	src, err := ctyjson.Unmarshal(req.SourceJSON, ty)
	if err != nil {
		return cty.NilVal, provider.Diags{diag.Errorf("Invalid source object", "The stored null_resource cannot be read: %s.", err)}
	}
	triggers := src.GetAttr("triggers")
	if triggers.IsNull() {
		triggers = cty.NullVal(cty.DynamicPseudoType)
	} else { // triggers_replace has any type, and an object with these attributes equals { key = value } in the configuration; a map would not
		triggers = cty.ObjectVal(triggers.AsValueMap())
	}
	null := cty.NullVal(cty.DynamicPseudoType)
	return cty.ObjectVal(map[string]cty.Value{
		"id": src.GetAttr("id"), "input": null, "output": null, "triggers_replace": triggers,
	}), nil
}

// secretConfig is the argument of terraform_remote_state for secret settings. They are not stored. Terraform and
// OpenTofu have no such argument: they store the credentials for the other state in the state that has the data source.
const secretConfig = "config_wo"

// remoteState returns the data source terraform_remote_state, which reads the outputs of another state with read. check
// checks the settings of the backend; nil: only read checks them.
func remoteState(read RemoteState, check RemoteCheck) *builtin.Data {
	return &builtin.Data{
		Schema: &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{
			{Name: "backend", Type: cty.String, Required: true, Description: "The type of the backend to read, such as \"local\"."},
			{Name: "config", Type: cty.DynamicPseudoType, Optional: true, Description: "The settings of the backend."},
			{Name: secretConfig, Type: cty.DynamicPseudoType, Optional: true, WriteOnly: true, Unstored: true, Description: "Settings of the backend that are not stored, such as its credentials. They are added to config and take precedence."},
			{Name: "defaults", Type: cty.DynamicPseudoType, Optional: true, Description: "Default values of outputs that are not in the state."},
			{Name: "outputs", Type: cty.DynamicPseudoType, Computed: true, Description: "The root outputs of the state."},
			{Name: "workspace", Type: cty.String, Optional: true, Description: "The workspace to read; default: \"default\"."},
		}}},
		Validate: func(config cty.Value) provider.Diags { return validateRemote(check, config) },
		Read: func(ctx context.Context, object string, config cty.Value) (cty.Value, provider.Diags) {
			return readRemote(ctx, read, object, config)
		},
	}
}

func validateRemote(check RemoteCheck, config cty.Value) provider.Diags {
	for _, name := range []string{"config", secretConfig, "defaults"} {
		v := config.GetAttr(name)
		if ty := v.Type(); v.IsNull() || !v.IsKnown() || ty.IsObjectType() || ty.IsMapType() {
			continue
		}
		return provider.Diags{diag.Errorf("Invalid "+name+" value", "The %s argument must be an object.", name).In(cty.GetAttrPath(name))}
	}
	backend := config.GetAttr("backend")
	if check == nil || !backend.IsKnown() || backend.IsNull() {
		return nil
	}
	if !config.GetAttr("config").IsWhollyKnown() || !config.GetAttr(secretConfig).IsWhollyKnown() {
		return check(backend.AsString(), cty.NullVal(cty.DynamicPseudoType))
	}
	return check(backend.AsString(), settings(config))
}

func readRemote(ctx context.Context, read RemoteState, object string, config cty.Value) (cty.Value, provider.Diags) {
	workspace := "default"
	if w := config.GetAttr("workspace"); !w.IsNull() && w.AsString() != "" { // an empty workspace name means default, as in Terraform and OpenTofu
		workspace = w.AsString()
	}
	if read == nil {
		return cty.NilVal, provider.Diags{diag.Errorf("Remote state cannot be read", "No store can be opened here.")}
	}
	found, ds := read(ctx, object, config.GetAttr("backend").AsString(), workspace, settings(config))
	if ds.HasErrors() {
		return cty.NilVal, ds
	}
	outputs := map[string]cty.Value{}
	if d := config.GetAttr("defaults"); !d.IsNull() {
		for k, v := range d.AsValueMap() {
			outputs[k] = v
		}
	}
	for k, v := range found {
		outputs[k] = v
	}
	result := config.AsValueMap()
	result["outputs"] = cty.ObjectVal(outputs)
	result[secretConfig] = cty.NullVal(cty.DynamicPseudoType)
	return cty.ObjectVal(result), ds
}

// settings returns the settings of the backend: the attributes of config. Attributes of config_wo replace attributes of
// config that have the same name.
func settings(config cty.Value) cty.Value {
	all := map[string]cty.Value{}
	for _, name := range []string{"config", secretConfig} {
		if v := config.GetAttr(name); !v.IsNull() {
			maps.Copy(all, v.AsValueMap())
		}
	}
	return cty.ObjectVal(all)
}

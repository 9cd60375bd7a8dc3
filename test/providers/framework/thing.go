package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/trouble"
)

// forceString and forceBool force replacement when their attribute changes. keepString plans the stored value in place
// of an unknown one.
var (
	forceString = []planmodifier.String{stringplanmodifier.RequiresReplace()}
	forceBool   = []planmodifier.Bool{boolplanmodifier.RequiresReplace()}
	keepString  = []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
)

// knobs adds the attributes of every managed resource that cause failures, delays and warnings to attrs, and returns
// attrs.
func knobs(attrs map[string]schema.Attribute) map[string]schema.Attribute {
	attrs["fail_on"] = schema.StringAttribute{Optional: true,
		Description: "Where to fail: validate, plan, plan-delete, create, create-after, create-lost, read, update, update-after, delete, delete-after."}
	attrs["delay"] = schema.StringAttribute{Optional: true, Description: "How long create, update and delete take."}
	attrs["warn"] = schema.StringAttribute{Optional: true, Description: "A warning to emit at plan and apply."}
	return attrs
}

// thing is the resource with all kinds of nested attributes.
func thing() form {
	return form{
		suffix: "thing",
		schema: schema.Schema{
			Version:     2,
			Description: "A thing to play with.",
			Attributes: knobs(map[string]schema.Attribute{
				"id":          schema.StringAttribute{Computed: true},
				"name":        schema.StringAttribute{Required: true},
				"size":        schema.Int64Attribute{Optional: true},
				"ratio":       schema.Float64Attribute{Optional: true},
				"enabled":     schema.BoolAttribute{Optional: true},
				"tags":        schema.MapAttribute{Optional: true, ElementType: stringType},
				"value":       schema.StringAttribute{Computed: true, Description: "NAME/SIZE."},
				"note":        schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("none")},
				"replace":     schema.StringAttribute{Optional: true, PlanModifiers: forceString},
				"frozen":      schema.BoolAttribute{Optional: true, PlanModifiers: forceBool},
				"secret_note": schema.StringAttribute{Optional: true, Sensitive: true},
				"old_note":    schema.StringAttribute{Optional: true, DeprecationMessage: "Use note."},
				"anything":    schema.DynamicAttribute{Optional: true},
				"settings":    settings(),
				"disks":       disks(),
				"rules":       rules(),
				"labels":      labels(),
				"timeouts":    timeouts.AttributesAll(context.Background()),
			}),
		},
		id: newID("thing"),
		compute: func(w work) map[string]any {
			return map[string]any{"value": fmt.Sprintf("%s/%d", w.plan.str("name"), w.plan.num("size"))}
		},
		derived: map[string][]string{"id": nil, "value": {"name", "size"}},
	}
}

func settings() schema.Attribute {
	return schema.SingleNestedAttribute{Optional: true, Attributes: map[string]schema.Attribute{
		"mode":  schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("basic")},
		"level": schema.Int64Attribute{Optional: true},
		"hint":  schema.StringAttribute{Computed: true, PlanModifiers: keepString},
		"inner": schema.SingleNestedAttribute{Optional: true, Attributes: map[string]schema.Attribute{
			"text": schema.StringAttribute{Required: true},
		}},
	}}
}

func disks() schema.Attribute {
	return schema.ListNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{
		Attributes: map[string]schema.Attribute{
			"name":   schema.StringAttribute{Required: true},
			"size":   schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(10)},
			"device": schema.StringAttribute{Computed: true},
		},
	}}
}

func rules() schema.Attribute {
	return schema.SetNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{
		Attributes: map[string]schema.Attribute{
			"port":  schema.Int64Attribute{Required: true},
			"proto": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("tcp")},
		},
	}}
}

func labels() schema.Attribute {
	return schema.MapNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{
		Attributes: map[string]schema.Attribute{
			"value":  schema.StringAttribute{Required: true},
			"digest": schema.StringAttribute{Computed: true},
		},
	}}
}

// thingKind adds the features of things to the common life: an identity, older schemas, and moves from other types.
type thingKind struct{ life }

func newThing() *thingKind { return &thingKind{life{form: thing()}} }

var (
	_ resource.ResourceWithIdentity       = (*thingKind)(nil)
	_ resource.ResourceWithUpgradeState   = (*thingKind)(nil)
	_ resource.ResourceWithMoveState      = (*thingKind)(nil)
	_ resource.ResourceWithImportState    = (*thingKind)(nil)
	_ resource.ResourceWithModifyPlan     = (*thingKind)(nil)
	_ resource.ResourceWithValidateConfig = (*thingKind)(nil)
	_ resource.ResourceWithConfigure      = (*thingKind)(nil)
)

func (t *thingKind) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"id":    identityschema.StringAttribute{RequiredForImport: true},
		"realm": identityschema.StringAttribute{OptionalForImport: true},
	}}
}

// UpgradeState supports two older schemas. In version 0 a thing had a title and its size was text. In version 1 it had
// a name, and its tags were one string "k=v,k=v".
func (t *thingKind) UpgradeState(context.Context) map[int64]resource.StateUpgrader {
	return map[int64]resource.StateUpgrader{
		0: {StateUpgrader: t.upgrade0},
		1: {PriorSchema: &schema.Schema{
			Version: 1,
			Attributes: map[string]schema.Attribute{
				"id":   schema.StringAttribute{Computed: true},
				"name": schema.StringAttribute{Required: true},
				"size": schema.Int64Attribute{Optional: true},
				"tags": schema.StringAttribute{Optional: true},
			},
		}, StateUpgrader: t.upgrade1},
	}
}

func (t *thingKind) upgrade0(ctx context.Context, req resource.UpgradeStateRequest, resp *resource.UpgradeStateResponse) {
	var old struct{ ID, Title, Size string }
	if err := json.Unmarshal(req.RawState.JSON, &old); err != nil {
		resp.Diagnostics.AddError("Upgrading failed", err.Error())
		return
	}
	calls.Key(ctx, old.Title)
	if err := trouble.Fail("", "upgrade", old.Title); err != nil {
		resp.Diagnostics.AddError("Upgrading failed", err.Error())
		return
	}
	size, err := strconv.ParseInt(old.Size, 10, 64)
	if err != nil {
		resp.Diagnostics.AddError("Upgrading failed", err.Error())
		return
	}
	become(ctx, &resp.State, old.ID, old.Title, types.Int64Value(size), resp)
}

func (t *thingKind) upgrade1(ctx context.Context, req resource.UpgradeStateRequest, resp *resource.UpgradeStateResponse) {
	old := look(req.State.Raw)
	calls.Key(ctx, old.str("name"))
	size := types.Int64Null()
	if old.has("size") {
		size = types.Int64Value(old.num("size"))
	}
	become(ctx, &resp.State, old.str("id"), old.str("name"), size, resp)
	if !old.has("tags") {
		return
	}
	tags := map[string]string{}
	for pair := range strings.SplitSeq(old.str("tags"), ",") {
		k, v, _ := strings.Cut(pair, "=")
		tags[k] = v
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("tags"), tags)...)
}

// become sets a state of the current schema from the values that all older forms of a thing have.
func become(ctx context.Context, state *tfsdk.State, id, name string, size types.Int64, resp *resource.UpgradeStateResponse) {
	state.Raw = tftypes.NewValue(state.Schema.Type().TerraformType(ctx), nil)
	resp.Diagnostics.Append(state.SetAttribute(ctx, path.Root("id"), id)...)
	resp.Diagnostics.Append(state.SetAttribute(ctx, path.Root("name"), name)...)
	resp.Diagnostics.Append(state.SetAttribute(ctx, path.Root("size"), size)...)
	resp.Diagnostics.Append(state.SetAttribute(ctx, path.Root("note"), "none")...)
	resp.Diagnostics.Append(state.SetAttribute(ctx, path.Root("value"), fmt.Sprintf("%s/%d", name, size.ValueInt64()))...)
}

// MoveState accepts a playground_old_thing, and the playground5_thing of the provider of protocol 5. If
// PLAYGROUND_MOVE_FROM is set, it accepts only the provider with that address, as many providers do.
func (t *thingKind) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{StateMover: t.move}}
}

func (t *thingKind) move(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
	if req.SourceTypeName != "playground_old_thing" && req.SourceTypeName != "playground5_thing" {
		return // the framework reports that the move is not supported
	}
	if only := os.Getenv("PLAYGROUND_MOVE_FROM"); only != "" && req.SourceProviderAddress != only {
		return
	}
	var old struct {
		ID   string
		Name string
		Size *int64
	}
	if err := json.Unmarshal(req.SourceRawState.JSON, &old); err != nil {
		resp.Diagnostics.AddError("Moving failed", err.Error())
		return
	}
	calls.Key(ctx, old.Name)
	if err := trouble.Fail("", "move", old.Name); err != nil {
		resp.Diagnostics.AddError("Moving failed", err.Error())
		return
	}
	upgraded := resource.UpgradeStateResponse{State: resp.TargetState}
	become(ctx, &upgraded.State, old.ID, old.Name, types.Int64PointerValue(old.Size), &upgraded)
	resp.TargetState = upgraded.State
	resp.Diagnostics.Append(upgraded.Diagnostics...)
	identify(ctx, resp.TargetIdentity, old.ID, &resp.Diagnostics)
}

// oldThing is the deprecated predecessor of thing, which can be moved to a thing. Both have the same kind of object in
// the cloud.
func oldThing() form {
	f := form{
		suffix: "old_thing",
		kind:   "playground_thing",
		schema: schema.Schema{
			DeprecationMessage: "Use playground_thing instead.",
			Attributes: knobs(map[string]schema.Attribute{
				"id":    schema.StringAttribute{Computed: true},
				"name":  schema.StringAttribute{Required: true},
				"size":  schema.Int64Attribute{Optional: true},
				"value": schema.StringAttribute{Computed: true},
			}),
		},
		id: newID("thing"),
	}
	f.compute, f.derived = thing().compute, thing().derived
	return f
}

package provider

import (
	"context"
	"encoding/json"
	"maps"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/dynamicplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// fwTags are the tags of the provider's configuration. nil means that the configuration has no tags, or that they are
// unknown.
var fwTags map[string]string

// fwPlanned is a type that changes each plan with the function modify, except the plan of a destroy.
type fwPlanned struct {
	fwType
	modify func(context.Context, resource.ModifyPlanRequest, *resource.ModifyPlanResponse)
}

func (t *fwPlanned) ModifyPlan(ctx context.Context, q resource.ModifyPlanRequest, a *resource.ModifyPlanResponse) {
	if !q.Plan.Raw.IsNull() {
		t.modify(ctx, q, a)
	}
}

var keepBool = []planmodifier.Bool{boolplanmodifier.UseStateForUnknown()}

// fwRandom resembles the types of the provider random.
func fwRandom() schema.Schema {
	return schema.Schema{Attributes: attrs{
		"keepers": schema.MapAttribute{Optional: true, ElementType: types.StringType, PlanModifiers: []planmodifier.Map{mapplanmodifier.RequiresReplaceIf(notNull, "", "")}},
		"length":  schema.Int64Attribute{Optional: true, Computed: true, PlanModifiers: []planmodifier.Int64{int64planmodifier.RequiresReplace(), int64planmodifier.UseStateForUnknown()}},
		"special": schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true), PlanModifiers: []planmodifier.Bool{boolplanmodifier.RequiresReplace()}},
		"result":  schema.StringAttribute{Computed: true, Sensitive: true, PlanModifiers: keepString()},
		"hash":    schema.StringAttribute{Computed: true, Sensitive: true, PlanModifiers: keepString()},
		"input":   schema.ListAttribute{Optional: true, ElementType: types.StringType, PlanModifiers: []planmodifier.List{listplanmodifier.RequiresReplaceIfConfigured()}},
		"set":     schema.SetAttribute{Optional: true, Computed: true, ElementType: types.StringType, PlanModifiers: []planmodifier.Set{setplanmodifier.RequiresReplace(), setplanmodifier.UseStateForUnknown()}},
	}}
}

// notNull requests a replacement if a key with a value that is not null changes.
func notNull(_ context.Context, q planmodifier.MapRequest, a *mapplanmodifier.RequiresReplaceIfFuncResponse) {
	if q.StateValue.IsNull() {
		a.RequiresReplace = false
		for _, v := range q.PlanValue.Elements() {
			a.RequiresReplace = a.RequiresReplace || !v.IsNull()
		}
		return
	}
	was, is := q.StateValue.Elements(), q.PlanValue.Elements()
	for k, v := range was {
		if now, ok := is[k]; !ok && !v.IsNull() || ok && !now.Equal(v) {
			a.RequiresReplace = true
		}
	}
	for k, v := range is {
		if _, ok := was[k]; !ok && !v.IsNull() {
			a.RequiresReplace = true
		}
	}
}

// fwCert is a certificate that its plan renews.
func fwCert() schema.Schema {
	return schema.Schema{Attributes: attrs{
		"s":     schema.StringAttribute{Optional: true},
		"early": schema.Int64Attribute{Optional: true},
		"ready": schema.BoolAttribute{Computed: true, Default: booldefault.StaticBool(false)},
		"pem":   schema.StringAttribute{Computed: true, Sensitive: true, PlanModifiers: keepString()},
		"uses":  schema.ListAttribute{Optional: true, ElementType: types.StringType, PlanModifiers: []planmodifier.List{listplanmodifier.RequiresReplace()}},
	}, Blocks: map[string]schema.Block{
		"subject": schema.ListNestedBlock{PlanModifiers: []planmodifier.List{listplanmodifier.RequiresReplace()}, NestedObject: schema.NestedBlockObject{Attributes: attrs{"cn": schema.StringAttribute{Optional: true, PlanModifiers: replaceString()}}}},
	}}
}

// renew plans the replacement of a certificate whose attribute early is more than 1.
func renew(ctx context.Context, q resource.ModifyPlanRequest, a *resource.ModifyPlanResponse) {
	var early types.Int64
	a.Diagnostics.Append(q.Plan.GetAttribute(ctx, path.Root("early"), &early)...)
	if !q.State.Raw.IsNull() && early.ValueInt64() > 1 {
		a.Diagnostics.Append(a.Plan.SetAttribute(ctx, path.Root("ready"), types.BoolUnknown())...)
		a.RequiresReplace = append(a.RequiresReplace, path.Root("ready"))
	}
}

// fwTime has values that its plan computes.
func fwTime() schema.Schema {
	keep := []planmodifier.Int64{int64planmodifier.UseStateForUnknown()}
	return schema.Schema{Attributes: attrs{
		"triggers": schema.MapAttribute{Optional: true, ElementType: types.StringType, PlanModifiers: []planmodifier.Map{mapplanmodifier.RequiresReplace()}},
		"base":     schema.StringAttribute{Optional: true, Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown(), stringplanmodifier.RequiresReplaceIfConfigured()}},
		"days":     schema.Int64Attribute{Optional: true},
		"year":     schema.Int64Attribute{Computed: true, PlanModifiers: keep},
		"at":       schema.StringAttribute{Computed: true, PlanModifiers: keepString()},
	}}
}

// offset plans year and at from base and days, as unknown values if one of these is unknown.
func offset(ctx context.Context, q resource.ModifyPlanRequest, a *resource.ModifyPlanResponse) {
	var base types.String
	var days, was types.Int64
	a.Diagnostics.Append(q.Plan.GetAttribute(ctx, path.Root("base"), &base)...)
	a.Diagnostics.Append(q.Plan.GetAttribute(ctx, path.Root("days"), &days)...)
	if !q.State.Raw.IsNull() {
		a.Diagnostics.Append(q.State.GetAttribute(ctx, path.Root("days"), &was)...)
	}
	switch {
	case base.IsUnknown() || days.IsUnknown():
		a.Diagnostics.Append(a.Plan.SetAttribute(ctx, path.Root("year"), types.Int64Unknown())...)
		a.Diagnostics.Append(a.Plan.SetAttribute(ctx, path.Root("at"), types.StringUnknown())...)
	case q.State.Raw.IsNull() || !was.Equal(days):
		a.Diagnostics.Append(a.Plan.SetAttribute(ctx, path.Root("year"), types.Int64Value(2000+days.ValueInt64()))...)
		a.Diagnostics.Append(a.Plan.SetAttribute(ctx, path.Root("at"), types.StringValue(base.ValueString()+"+"))...)
	}
}

// jsonType is a string type of JSON documents.
type jsonType struct{ basetypes.StringType }

type jsonValue struct{ basetypes.StringValue }

func (jsonType) String() string                       { return "json" }
func (jsonType) Equal(o attr.Type) bool               { _, ok := o.(jsonType); return ok }
func (jsonType) ValueType(context.Context) attr.Value { return jsonValue{} }
func (jsonType) ValueFromString(_ context.Context, v basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return jsonValue{v}, nil
}

func (t jsonType) ValueFromTerraform(ctx context.Context, v tftypes.Value) (attr.Value, error) {
	s, err := t.StringType.ValueFromTerraform(ctx, v)
	if err != nil {
		return nil, err
	}
	return jsonValue{s.(basetypes.StringValue)}, nil
}

func (jsonValue) Type(context.Context) attr.Type { return jsonType{} }

func (v jsonValue) Equal(o attr.Value) bool {
	w, ok := o.(jsonValue)
	return ok && v.StringValue.Equal(w.StringValue)
}

func (v jsonValue) StringSemanticEquals(_ context.Context, o basetypes.StringValuable) (bool, diag.Diagnostics) {
	w, ok := o.(jsonValue)
	return ok && compactJSON(v.ValueString()) == compactJSON(w.ValueString()), nil
}

// fwCloud has blocks, tags and documents, like the framework types of large providers.
func fwCloud() schema.Schema {
	return schema.Schema{Attributes: attrs{
		"label":    schema.StringAttribute{Required: true, PlanModifiers: replaceString()},
		"s":        schema.StringAttribute{Optional: true},
		"arn":      schema.StringAttribute{Computed: true, PlanModifiers: keepString()},
		"updated":  schema.StringAttribute{Computed: true},
		"policy":   schema.StringAttribute{Optional: true, CustomType: jsonType{}},
		"policyc":  schema.StringAttribute{Optional: true, Computed: true, CustomType: jsonType{}, PlanModifiers: keepString()},
		"num":      schema.NumberAttribute{Optional: true},
		"i32":      schema.Int32Attribute{Optional: true, Computed: true},
		"md":       schema.MapAttribute{Optional: true, Computed: true, ElementType: types.StringType, Default: mapdefault.StaticValue(types.MapValueMust(types.StringType, map[string]attr.Value{"k": types.StringValue("default")}))},
		"sd":       schema.SetAttribute{Optional: true, Computed: true, ElementType: types.StringType, Default: setdefault.StaticValue(types.SetValueMust(types.StringType, []attr.Value{types.StringValue("x")}))},
		"ep":       schema.ObjectAttribute{Computed: true, AttributeTypes: map[string]attr.Type{"host": types.StringType, "port": types.Int64Type}, PlanModifiers: []planmodifier.Object{objectplanmodifier.UseStateForUnknown()}},
		"ll":       schema.ListAttribute{Optional: true, ElementType: types.ListType{ElemType: types.StringType}},
		"ms":       schema.MapAttribute{Optional: true, ElementType: types.SetType{ElemType: types.StringType}},
		"tags":     schema.MapAttribute{Optional: true, ElementType: types.StringType},
		"tags_all": schema.MapAttribute{Computed: true, ElementType: types.StringType},
	}, Blocks: map[string]schema.Block{
		"cfg": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{
			Attributes: attrs{
				"k":  schema.StringAttribute{Optional: true},
				"id": schema.StringAttribute{Computed: true, PlanModifiers: keepString()},
				"d":  schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("inner")},
				"on": schema.BoolAttribute{Optional: true, Computed: true, PlanModifiers: keepBool},
			},
			Blocks: map[string]schema.Block{"rule": schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: attrs{"k": schema.StringAttribute{Optional: true}, "id": schema.StringAttribute{Computed: true, PlanModifiers: keepString()}}}}},
		}},
		"timeouts": schema.SingleNestedBlock{Attributes: attrs{"create": schema.StringAttribute{Optional: true}, "update": schema.StringAttribute{Optional: true}}},
	}}
}

// fwAllTags plans tags_all: the tags of the provider and of the object, or unknown if a tag is unknown.
func fwAllTags(ctx context.Context, q resource.ModifyPlanRequest, a *resource.ModifyPlanResponse) {
	var tags types.Map
	a.Diagnostics.Append(q.Plan.GetAttribute(ctx, path.Root("tags"), &tags)...)
	if tags.IsUnknown() {
		a.Diagnostics.Append(a.Plan.SetAttribute(ctx, path.Root("tags_all"), types.MapUnknown(types.StringType))...)
		return
	}
	all := map[string]attr.Value{}
	for k, v := range fwTags {
		all[k] = types.StringValue(v)
	}
	for k, v := range tags.Elements() {
		if v.IsUnknown() {
			a.Diagnostics.Append(a.Plan.SetAttribute(ctx, path.Root("tags_all"), types.MapUnknown(types.StringType))...)
			return
		}
		all[k] = v
	}
	a.Diagnostics.Append(a.Plan.SetAttribute(ctx, path.Root("tags_all"), types.MapValueMust(types.StringType, all))...)
}

// fwDynamic has dynamic attributes of each presence.
func fwDynamic() schema.Schema {
	return schema.Schema{Attributes: attrs{
		"s":     schema.StringAttribute{Optional: true},
		"d":     schema.DynamicAttribute{Optional: true},
		"dc":    schema.DynamicAttribute{Optional: true, Computed: true},
		"dk":    schema.DynamicAttribute{Optional: true, Computed: true, PlanModifiers: []planmodifier.Dynamic{dynamicplanmodifier.UseStateForUnknown()}},
		"force": schema.DynamicAttribute{Optional: true, PlanModifiers: []planmodifier.Dynamic{dynamicplanmodifier.RequiresReplace()}},
		"ro":    schema.DynamicAttribute{Computed: true},
		"sens":  schema.DynamicAttribute{Optional: true, Sensitive: true},
		"in":    schema.SingleNestedAttribute{Optional: true, Attributes: attrs{"d": schema.DynamicAttribute{Optional: true}, "k": schema.StringAttribute{Optional: true}}},
	}}
}

// fwSets has sets of nested objects with computed attributes, defaults and plan modifiers.
func fwSets() schema.Schema {
	nested := func(a attrs) schema.NestedAttributeObject { return schema.NestedAttributeObject{Attributes: a} }
	k := func() schema.Attribute { return schema.StringAttribute{Optional: true} }
	keep := func() schema.Attribute { return schema.StringAttribute{Computed: true, PlanModifiers: keepString()} }
	return schema.Schema{Attributes: attrs{
		"s":  k(),
		"sk": schema.SetNestedAttribute{Optional: true, NestedObject: nested(attrs{"k": k(), "id": keep()})},
		"sc": schema.SetNestedAttribute{Optional: true, NestedObject: nested(attrs{"k": k(), "c": schema.StringAttribute{Computed: true}})},
		"sd": schema.SetNestedAttribute{Optional: true, NestedObject: nested(attrs{"k": k(), "d": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("inner")}})},
		"sf": schema.SetNestedAttribute{Optional: true, NestedObject: nested(attrs{"k": k(), "f": schema.StringAttribute{Optional: true, PlanModifiers: replaceString()}})},
		"ss": schema.SetNestedAttribute{Optional: true, NestedObject: nested(attrs{"k": k(), "in": schema.SetNestedAttribute{Optional: true, NestedObject: nested(attrs{"v": k(), "c": schema.StringAttribute{Optional: true, Computed: true}})}})},
		"so": schema.SetNestedAttribute{Optional: true, Computed: true, NestedObject: nested(attrs{"k": schema.StringAttribute{Optional: true, Computed: true}, "x": schema.StringAttribute{Optional: true, Sensitive: true}}), PlanModifiers: []planmodifier.Set{setplanmodifier.UseStateForUnknown()}},
	}, Blocks: map[string]schema.Block{
		"bk": schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: attrs{"k": k(), "id": keep()}, Blocks: map[string]schema.Block{"in": schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: attrs{"v": k(), "c": schema.StringAttribute{Computed: true}}}}}}},
	}}
}

// fwHelm has lists of settings, including write-only ones, and metadata that each change makes unknown.
func fwHelm() schema.Schema {
	nested := func(a attrs) schema.NestedAttributeObject { return schema.NestedAttributeObject{Attributes: a} }
	return schema.Schema{Attributes: attrs{
		"values":  schema.ListAttribute{Optional: true, ElementType: types.StringType},
		"set":     schema.ListNestedAttribute{Optional: true, NestedObject: nested(attrs{"name": schema.StringAttribute{Required: true}, "value": schema.StringAttribute{Optional: true}, "type": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("auto")}})},
		"secrets": schema.ListNestedAttribute{Optional: true, NestedObject: nested(attrs{"name": schema.StringAttribute{Required: true}, "value": schema.StringAttribute{Optional: true, Sensitive: true}})},
		"set_wo":  schema.ListNestedAttribute{Optional: true, WriteOnly: true, NestedObject: nested(attrs{"name": schema.StringAttribute{Optional: true, WriteOnly: true}, "value": schema.StringAttribute{Optional: true, WriteOnly: true}})},
		"wo_rev":  schema.Int64Attribute{Optional: true},
		"status":  schema.StringAttribute{Computed: true},
		"metadata": schema.SingleNestedAttribute{Computed: true, PlanModifiers: []planmodifier.Object{objectplanmodifier.UseStateForUnknown()}, Attributes: attrs{
			"rev": schema.StringAttribute{Computed: true}, "values": schema.StringAttribute{Computed: true, Sensitive: true}, "notes": schema.StringAttribute{Computed: true},
		}},
		"ns": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("default"), PlanModifiers: replaceString()},
	}}
}

// freshMetadata plans unknown metadata if an existing object changes.
func freshMetadata(ctx context.Context, q resource.ModifyPlanRequest, a *resource.ModifyPlanResponse) {
	if !q.State.Raw.IsNull() && !q.Plan.Raw.Equal(q.State.Raw) {
		ty := map[string]attr.Type{"rev": types.StringType, "values": types.StringType, "notes": types.StringType}
		a.Diagnostics.Append(a.Plan.SetAttribute(ctx, path.Root("metadata"), types.ObjectUnknown(ty))...)
	}
}

// moreTypes returns functions that make the types of this file.
func moreTypes() []func() resource.Resource {
	var all []func() resource.Resource
	nothing := func(context.Context, resource.ModifyPlanRequest, *resource.ModifyPlanResponse) {}
	for name, t := range map[string]fwPlanned{
		"random": {fwType{schema: fwRandom}, nothing}, "cert": {fwType{schema: fwCert}, renew}, "time": {fwType{schema: fwTime}, offset},
		"cloud": {fwType{schema: fwCloud}, fwAllTags}, "dyn": {fwType{schema: fwDynamic}, nothing}, "sets": {fwType{schema: fwSets}, nothing},
		"helm": {fwType{schema: fwHelm}, freshMetadata},
	} {
		t.name = name
		all = append(all, func() resource.Resource { return &fwPlanned{t.fwType, t.modify} })
	}
	return append(all, func() resource.Resource { return &fwChanged{fwType{name: "changed", schema: fwChangedSchema}} })
}

// fwChanged is a type with three schemas, of which SDK_SCHEMA selects one. All have the same schema version, like
// releases of a provider that changes a schema without a new version.
type fwChanged struct{ fwType }

func fwChangedSchema() schema.Schema {
	in := attrs{"k": schema.StringAttribute{Optional: true}}
	s := schema.Schema{Attributes: attrs{"s": schema.StringAttribute{Optional: true}}}
	switch schemaVersion() {
	case 0:
		s.Attributes["gone"] = schema.StringAttribute{Optional: true}
		in["x"] = schema.StringAttribute{Optional: true}
	case 1:
		s.Attributes["sets"] = schema.SetAttribute{Optional: true, ElementType: types.StringType}
	default:
		in["y"] = schema.StringAttribute{Optional: true, Computed: true}
		s.Attributes["more"] = schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("more")}
		s.Attributes["morec"] = schema.StringAttribute{Optional: true, Computed: true, PlanModifiers: keepString()}
	}
	s.Attributes["lb"] = schema.ListNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: in}}
	return s
}

// withoutStrangers returns a stored value without the attributes that a type does not have. Missing attributes are
// null.
func withoutStrangers(v any, t tftypes.Type) any {
	switch v := v.(type) {
	case map[string]any:
		if o, ok := t.(tftypes.Object); ok {
			out := maps.Clone(v)
			for k := range v {
				if at, ok := o.AttributeTypes[k]; ok {
					out[k] = withoutStrangers(v[k], at)
				} else {
					delete(out, k)
				}
			}
			for k := range o.AttributeTypes {
				if _, ok := out[k]; !ok {
					out[k] = nil
				}
			}
			return out
		}
	case []any:
		if l, ok := t.(tftypes.List); ok {
			out := []any{}
			for _, e := range v {
				out = append(out, withoutStrangers(e, l.ElementType))
			}
			return out
		}
	}
	return v
}

// valueOf converts a stored value to a value of a type. It ignores attributes that the type does not have.
func valueOf(v any, t tftypes.Type) (tftypes.Value, error) {
	data, err := json.Marshal(withoutStrangers(v, t))
	if err != nil {
		return tftypes.Value{}, err
	}
	//lint:ignore SA1019 the library has no other reader of JSON with a type
	return tftypes.ValueFromJSON(data, t)
}

// partly returns the remains of a failed creation: unknown attributes are null, except the ID, the name and labels.
func partly(v tftypes.Value) tftypes.Value {
	m := maps.Clone(attributes(v))
	for k, e := range m {
		if k != "id" && k != "name" && !strings.HasPrefix(k, "label") && !e.IsKnown() {
			m[k] = tftypes.NewValue(e.Type(), nil)
		}
	}
	return tftypes.NewValue(v.Type(), m)
}

// withID returns an object with an ID.
func withID(v tftypes.Value, id string) tftypes.Value {
	m := maps.Clone(attributes(v))
	m["id"] = tftypes.NewValue(tftypes.String, id)
	return tftypes.NewValue(v.Type(), m)
}

// half mixes two objects: the result has the attributes of the second object whose names are in the first half of the
// alphabet, and the other attributes of the first object.
func half(was, is tftypes.Value) tftypes.Value {
	m := maps.Clone(attributes(was))
	for k, v := range attributes(is) {
		if k < "m" {
			m[k] = v
		}
	}
	return tftypes.NewValue(is.Type(), m)
}

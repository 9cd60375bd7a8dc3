package provider

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

type attrs = map[string]schema.Attribute

func keepString() []planmodifier.String {
	return []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
}

func replaceString() []planmodifier.String {
	return []planmodifier.String{stringplanmodifier.RequiresReplace()}
}

// grows requests a replacement if the number grows.
func grows(_ context.Context, q planmodifier.Int64Request, a *int64planmodifier.RequiresReplaceIfFuncResponse) {
	a.RequiresReplace = !q.PlanValue.IsUnknown() && q.PlanValue.ValueInt64() > q.StateValue.ValueInt64()
}

// fwPlain has attributes of each type and presence.
func fwPlain() schema.Schema {
	return schema.Schema{Attributes: attrs{
		"s":     schema.StringAttribute{Optional: true},
		"n":     schema.Int64Attribute{Optional: true},
		"f":     schema.Float64Attribute{Optional: true},
		"b":     schema.BoolAttribute{Optional: true},
		"l":     schema.ListAttribute{Optional: true, ElementType: types.StringType},
		"st":    schema.SetAttribute{Optional: true, ElementType: types.StringType},
		"m":     schema.MapAttribute{Optional: true, ElementType: types.StringType},
		"o":     schema.ObjectAttribute{Optional: true, AttributeTypes: map[string]attr.Type{"k": types.StringType, "v": types.Int64Type}},
		"lo":    schema.ListAttribute{Optional: true, ElementType: types.ObjectType{AttrTypes: map[string]attr.Type{"k": types.StringType}}},
		"dyn":   schema.DynamicAttribute{Optional: true},
		"c":     schema.StringAttribute{Optional: true, Computed: true},
		"ck":    schema.StringAttribute{Optional: true, Computed: true, PlanModifiers: keepString()},
		"cl":    schema.ListAttribute{Optional: true, Computed: true, ElementType: types.StringType},
		"d":     schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("default")},
		"dn":    schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(3)},
		"db":    schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true)},
		"dl":    schema.ListAttribute{Optional: true, Computed: true, ElementType: types.StringType, Default: listdefault.StaticValue(types.ListValueMust(types.StringType, []attr.Value{types.StringValue("x")}))},
		"ro":    schema.StringAttribute{Computed: true},
		"rok":   schema.StringAttribute{Computed: true, PlanModifiers: keepString()},
		"force": schema.StringAttribute{Optional: true, PlanModifiers: replaceString()},
		"fc":    schema.StringAttribute{Optional: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplaceIfConfigured()}},
		"fn":    schema.Int64Attribute{Optional: true, PlanModifiers: []planmodifier.Int64{int64planmodifier.RequiresReplaceIf(grows, "", "")}},
		"fl":    schema.ListAttribute{Optional: true, ElementType: types.StringType, PlanModifiers: []planmodifier.List{listplanmodifier.RequiresReplace()}},
		"fcc":   schema.StringAttribute{Optional: true, Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown(), stringplanmodifier.RequiresReplace()}},
		"sens":  schema.StringAttribute{Optional: true, Sensitive: true},
	}}
}

// inner returns the attributes of nested objects, with the attributes in more.
func inner(more attrs) attrs {
	a := attrs{
		"k": schema.StringAttribute{Optional: true},
		"p": schema.Int64Attribute{Optional: true},
		"d": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("inner")},
	}
	for k, v := range more {
		a[k] = v
	}
	return a
}

// innerComputed returns the attributes of nested objects with computed attributes and a nested list.
func innerComputed() attrs {
	return inner(attrs{
		"c":  schema.StringAttribute{Computed: true},
		"oc": schema.StringAttribute{Optional: true, Computed: true, PlanModifiers: keepString()},
		"f":  schema.StringAttribute{Optional: true, PlanModifiers: replaceString()},
		"in": schema.ListNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: inner(nil)}},
	})
}

// fwNest has nested attributes and blocks of each nesting.
func fwNest() schema.Schema {
	return schema.Schema{
		Attributes: attrs{
			"one":  schema.SingleNestedAttribute{Optional: true, Attributes: innerComputed()},
			"onec": schema.SingleNestedAttribute{Optional: true, Computed: true, Attributes: inner(nil)},
			"many": schema.ListNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: innerComputed()}},
			"mc":   schema.ListNestedAttribute{Optional: true, Computed: true, NestedObject: schema.NestedAttributeObject{Attributes: attrs{"k": schema.StringAttribute{Optional: true, Computed: true}}}},
			"any":  schema.SetNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: inner(attrs{"oc": schema.StringAttribute{Optional: true, Computed: true}})}},
			"by":   schema.MapNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: innerComputed()}},
			"sens": schema.SingleNestedAttribute{Optional: true, Attributes: attrs{"x": schema.StringAttribute{Optional: true, Sensitive: true}, "k": schema.StringAttribute{Optional: true}}},
			"ro":   schema.SingleNestedAttribute{Computed: true, Attributes: attrs{"k": schema.StringAttribute{Computed: true}}},
		},
		Blocks: map[string]schema.Block{
			"lb":  schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: innerComputed(), Blocks: map[string]schema.Block{"deep": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: inner(nil)}}}}},
			"sb":  schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: inner(attrs{"oc": schema.StringAttribute{Optional: true, Computed: true}})}},
			"bo":  schema.SingleNestedBlock{Attributes: attrs{"k": schema.StringAttribute{Optional: true}, "c": schema.StringAttribute{Computed: true}, "f": schema.StringAttribute{Optional: true, PlanModifiers: replaceString()}}},
			"bod": schema.SingleNestedBlock{Attributes: attrs{"k": schema.StringAttribute{Optional: true}}},
		},
	}
}

// fold is a string type that ignores case.
type fold struct{ basetypes.StringType }

type folded struct{ basetypes.StringValue }

func (fold) String() string { return "fold" }

func (fold) Equal(o attr.Type) bool { _, ok := o.(fold); return ok }

func (fold) ValueType(context.Context) attr.Value { return folded{} }

func (fold) ValueFromString(_ context.Context, v basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return folded{v}, nil
}

func (f fold) ValueFromTerraform(ctx context.Context, v tftypes.Value) (attr.Value, error) {
	s, err := f.StringType.ValueFromTerraform(ctx, v)
	if err != nil {
		return nil, err
	}
	return folded{s.(basetypes.StringValue)}, nil
}

func (folded) Type(context.Context) attr.Type { return fold{} }

func (v folded) Equal(o attr.Value) bool {
	w, ok := o.(folded)
	return ok && v.StringValue.Equal(w.StringValue)
}

func (v folded) StringSemanticEquals(_ context.Context, o basetypes.StringValuable) (bool, diag.Diagnostics) {
	w, ok := o.(folded)
	return ok && strings.EqualFold(v.ValueString(), w.ValueString()), nil
}

// keepsCase plans the stored value if the planned value differs only in case. A provider must plan the configured value or
// the stored value, so it must not change the case.
type keepsCase struct{}

func (keepsCase) Description(context.Context) string         { return "" }
func (keepsCase) MarkdownDescription(context.Context) string { return "" }
func (keepsCase) PlanModifyString(_ context.Context, q planmodifier.StringRequest, a *planmodifier.StringResponse) {
	if strings.EqualFold(q.StateValue.ValueString(), q.PlanValue.ValueString()) && !q.PlanValue.IsUnknown() && !q.StateValue.IsNull() {
		a.PlanValue = q.StateValue
	}
}

// fwNorm has values that are equal although their text differs.
func fwNorm() schema.Schema {
	return schema.Schema{Attributes: attrs{
		"s":    schema.StringAttribute{Optional: true},
		"ci":   schema.StringAttribute{Optional: true, CustomType: fold{}},
		"cic":  schema.StringAttribute{Optional: true, Computed: true, CustomType: fold{}},
		"cil":  schema.ListAttribute{Optional: true, ElementType: fold{}},
		"keep": schema.StringAttribute{Optional: true, Computed: true, PlanModifiers: []planmodifier.String{keepsCase{}}},
		"ro":   schema.StringAttribute{Computed: true},
	}}
}

func fwMod() schema.Schema {
	return schema.Schema{Attributes: attrs{
		"mode": schema.StringAttribute{Optional: true},
		"s":    schema.StringAttribute{Optional: true},
		"n":    schema.Int64Attribute{Optional: true},
		"calc": schema.StringAttribute{Computed: true, PlanModifiers: keepString()},
		"oc":   schema.StringAttribute{Optional: true, Computed: true, PlanModifiers: keepString()},
	}}
}

func fwWriteOnly() schema.Schema {
	return schema.Schema{Attributes: attrs{
		"s":   schema.StringAttribute{Optional: true},
		"pw":  schema.StringAttribute{Optional: true, WriteOnly: true},
		"v":   schema.Int64Attribute{Optional: true},
		"fv":  schema.Int64Attribute{Optional: true, PlanModifiers: []planmodifier.Int64{int64planmodifier.RequiresReplace()}},
		"one": schema.SingleNestedAttribute{Optional: true, Attributes: attrs{"k": schema.StringAttribute{Optional: true}, "pw": schema.StringAttribute{Optional: true, WriteOnly: true}}},
		"ro":  schema.StringAttribute{Computed: true},
	}}
}

func fwPriv() schema.Schema {
	return schema.Schema{Attributes: attrs{
		"s":     schema.StringAttribute{Optional: true},
		"force": schema.StringAttribute{Optional: true, PlanModifiers: replaceString()},
	}}
}

func fwUp() schema.Schema {
	s := schema.Schema{Version: int64(schemaVersion()), Attributes: attrs{"s": schema.StringAttribute{Optional: true}}}
	switch s.Version {
	case 0:
		s.Attributes["size"] = schema.StringAttribute{Optional: true}
		s.Attributes["tag"] = schema.StringAttribute{Optional: true}
	case 1:
		s.Attributes["size"] = schema.Int64Attribute{Optional: true}
		s.Attributes["tags"] = schema.ListAttribute{Optional: true, ElementType: types.StringType}
	default:
		s.Attributes["size"] = schema.Int64Attribute{Optional: true}
		s.Attributes["tags"] = schema.SetAttribute{Optional: true, ElementType: types.StringType}
		s.Attributes["extra"] = schema.StringAttribute{Optional: true, Computed: true, PlanModifiers: keepString()}
	}
	return s
}

func fwID() schema.Schema {
	return schema.Schema{Attributes: attrs{
		"s":     schema.StringAttribute{Optional: true},
		"force": schema.StringAttribute{Optional: true, PlanModifiers: replaceString()},
	}}
}

func fwMovedSchema() schema.Schema {
	return schema.Schema{Attributes: attrs{
		"s":  schema.StringAttribute{Optional: true},
		"n":  schema.Int64Attribute{Optional: true},
		"ro": schema.StringAttribute{Computed: true, PlanModifiers: keepString()},
	}}
}

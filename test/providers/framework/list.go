package framework

import (
	"sort"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// list has collections of every kind except nested attributes: lists, sets and maps of primitives, of objects and of
// each other.
func list() form {
	member := types.ObjectType{AttrTypes: map[string]attr.Type{"name": stringType, "port": types.Int64Type}}
	return form{
		suffix: "list",
		schema: schema.Schema{
			Description: "Collections of everything, and a computed nested attribute.",
			Attributes: knobs(map[string]schema.Attribute{
				"id":      schema.StringAttribute{Computed: true},
				"name":    schema.StringAttribute{Required: true},
				"items":   schema.ListAttribute{Optional: true, ElementType: stringType},
				"numbers": schema.SetAttribute{Optional: true, ElementType: types.NumberType},
				"members": schema.SetAttribute{Optional: true, ElementType: member},
				"matrix":  schema.ListAttribute{Optional: true, ElementType: types.ListType{ElemType: types.Int64Type}},
				"lookup":  schema.MapAttribute{Optional: true, ElementType: types.ListType{ElemType: stringType}},
				"pair":    schema.ObjectAttribute{Optional: true, AttributeTypes: member.AttrTypes},
				"hidden":  schema.ListAttribute{Optional: true, Sensitive: true, ElementType: stringType},
				"fixed":   schema.ListAttribute{Optional: true, Computed: true, ElementType: stringType},
				"limits":  limits(),
				"sorted":  schema.ListAttribute{Computed: true, ElementType: stringType, Description: "The items, sorted."},
				"total":   schema.Int64Attribute{Computed: true, Description: "Number of items."},
			}),
		},
		id: newID("list"),
		compute: func(w work) map[string]any {
			items := texts(w.plan["items"])
			sort.Strings(items)
			return map[string]any{
				"sorted": values(items),
				"fixed":  values([]string{"fixed"}),
				"limits": map[string]tftypes.Value{
					"cpu":    tftypes.NewValue(tftypes.Number, int64(1)),
					"memory": tftypes.NewValue(tftypes.Number, int64(64)),
				},
				"total": int64(len(items)),
			}
		},
		derived: map[string][]string{"id": nil, "fixed": nil, "limits": nil, "sorted": {"items"}, "total": {"items"}},
	}
}

// limits returns a nested attribute that the provider fills in if it is not configured.
func limits() schema.Attribute {
	return schema.SingleNestedAttribute{Optional: true, Computed: true, Attributes: map[string]schema.Attribute{
		"cpu":    schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(1)},
		"memory": schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(64)},
	}}
}

// texts returns the strings in a list or set. It leaves out unknown elements, and returns nil for null and for an
// unknown list.
func texts(v tftypes.Value) []string {
	var elements []tftypes.Value
	if v.IsNull() || !v.IsKnown() {
		return nil
	}
	_ = v.As(&elements)
	var out []string
	for _, e := range elements {
		var s string
		if e.As(&s) == nil {
			out = append(out, s)
		}
	}
	return out
}

func values(texts []string) []tftypes.Value {
	out := make([]tftypes.Value, 0, len(texts))
	for _, s := range texts {
		out = append(out, tftypes.NewValue(tftypes.String, s))
	}
	return out
}

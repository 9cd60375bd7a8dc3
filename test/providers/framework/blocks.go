package framework

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// blocks has nested blocks: single, list and set, four levels deep, with computed attributes. (The rogue provider has
// map and group blocks.)
func blocks() form {
	flag := schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{
		Attributes: map[string]schema.Attribute{
			"key":   schema.StringAttribute{Required: true},
			"value": schema.StringAttribute{Optional: true},
		},
	}}
	mount := schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{
		Attributes: map[string]schema.Attribute{
			"path":    schema.StringAttribute{Required: true},
			"options": schema.ListAttribute{Optional: true, ElementType: stringType},
		},
		Blocks: map[string]schema.Block{"flag": flag},
	}}
	partition := schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{
		Attributes: map[string]schema.Attribute{"name": schema.StringAttribute{Required: true}},
		Blocks:     map[string]schema.Block{"mount": mount},
	}}
	return form{
		suffix: "blocks",
		schema: schema.Schema{
			Description: "Nested blocks of every kind.",
			Attributes: knobs(map[string]schema.Attribute{
				"id":   schema.StringAttribute{Computed: true},
				"name": schema.StringAttribute{Required: true},
			}),
			Blocks: map[string]schema.Block{
				"network": schema.SingleNestedBlock{Attributes: map[string]schema.Attribute{
					"cidr":    schema.StringAttribute{Optional: true, PlanModifiers: forceString},
					"gateway": schema.StringAttribute{Computed: true},
				}},
				"disk": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{
					Attributes: map[string]schema.Attribute{
						"label":  schema.StringAttribute{Optional: true},
						"size":   schema.Int64Attribute{Optional: true},
						"secret": schema.StringAttribute{Optional: true, Sensitive: true},
						"device": schema.StringAttribute{Computed: true},
					},
					Blocks: map[string]schema.Block{"partition": partition},
				}},
				"rule": schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{
					Attributes: map[string]schema.Attribute{
						"port":  schema.Int64Attribute{Required: true},
						"proto": schema.StringAttribute{Optional: true},
					},
				}},
			},
		},
		id:      newID("blocks"),
		derived: map[string][]string{"id": nil},
	}
}

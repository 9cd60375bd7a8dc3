package main

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

type attributes []*tfprotov6.SchemaAttribute

func (a attributes) optional(name string, t tftypes.Type) attributes {
	return append(a, &tfprotov6.SchemaAttribute{Name: name, Type: t, Optional: true})
}

func (a attributes) computed(names ...string) attributes {
	for _, name := range names {
		a = append(a, &tfprotov6.SchemaAttribute{Name: name, Type: tftypes.String, Computed: true})
	}
	return a
}

func (a attributes) schema(blocks ...*tfprotov6.SchemaNestedBlock) *tfprotov6.Schema {
	return &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{Attributes: a, BlockTypes: blocks}}
}

var (
	texts = tftypes.List{ElementType: tftypes.String}
	tags  = tftypes.Map{ElementType: tftypes.String}
)

// wide returns the schema of a typical type of a cloud: 40 attributes with descriptions, and three nested blocks.
func wide() *tfprotov6.Schema {
	kinds := []tftypes.Type{tftypes.String, tftypes.String, texts, tftypes.Bool, tags, tftypes.String, tftypes.Number, tftypes.String}
	a := attributes{}.computed("id").optional("name", tftypes.String)
	for i := range 38 {
		a = a.optional(fmt.Sprintf("argument_%02d", i), kinds[i%len(kinds)])
		a[len(a)-1].Description = "Some sentences about the argument, as documentation is generated from. The default depends on the region."
	}
	var blocks []*tfprotov6.SchemaNestedBlock
	for _, name := range []string{"network", "storage", "schedule"} {
		inner := attributes{}
		for i := range 6 {
			inner = inner.optional(fmt.Sprintf("option_%d", i), tftypes.String)
		}
		blocks = append(blocks, &tfprotov6.SchemaNestedBlock{
			TypeName: name, Nesting: tfprotov6.SchemaNestedBlockNestingModeList, Block: &tfprotov6.SchemaBlock{Attributes: inner},
		})
	}
	return a.schema(blocks...)
}

// schema returns the schema of the provider: bench_item, bench_wide, a data source, an ephemeral resource, and as many
// large types as large, which no configuration uses. optional announces that calls are possible before
// GetProviderSchema.
func schema(large int, optional bool) *tfprotov6.GetProviderSchemaResponse {
	item := attributes{}.computed("id", "value").
		optional("name", tftypes.String).optional("text", tftypes.String).
		optional("refs", texts).optional("tags", tags).
		optional("secret_wo", tftypes.String).optional("secret_wo_version", tftypes.Number)
	item[6].WriteOnly = true
	out := &tfprotov6.GetProviderSchemaResponse{
		ServerCapabilities: &tfprotov6.ServerCapabilities{GetProviderSchemaOptional: optional},
		Provider:           attributes{}.schema(),
		ResourceSchemas:    map[string]*tfprotov6.Schema{"bench_item": item.schema(), "bench_wide": wide()},
		DataSourceSchemas: map[string]*tfprotov6.Schema{
			"bench_item": attributes{}.computed("id", "value").optional("name", tftypes.String).schema(),
		},
		EphemeralResourceSchemas: map[string]*tfprotov6.Schema{
			"bench_secret": attributes{}.computed("value").optional("name", tftypes.String).schema(),
		},
	}
	for i := range large {
		out.ResourceSchemas[fmt.Sprintf("bench_large_%04d", i)] = wide()
	}
	return out
}

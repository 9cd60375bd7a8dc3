package framework

import (
	"os"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// EnvMatrix names the variable that enables the matrix type if it is "1". Its schema is larger than all others
// together, and each start of a provider would make, send and read it.
const EnvMatrix = "PLAYGROUND_MATRIX"

// Matrix reports whether the playground providers have the matrix type.
func Matrix() bool { return os.Getenv(EnvMatrix) == "1" }

// A role is one combination of the properties of an attribute besides its type. The names of attributes are derived
// from it, such as opt_sensitive_wo_string.
type role struct {
	name                                      string
	optional, computed, preset, sensitive, wo bool
}

// roles returns all combinations that a schema may have.
func roles() []role {
	var out []role
	for _, presence := range []role{
		{name: "opt", optional: true}, {name: "comp", computed: true},
		{name: "both", optional: true, computed: true}, {name: "preset", optional: true, computed: true, preset: true},
	} {
		for _, sensitive := range []bool{false, true} {
			for _, wo := range []bool{false, true} {
				r := presence
				if r.sensitive = sensitive; sensitive {
					r.name += "_sensitive"
				}
				if r.wo = wo; wo {
					r.name += "_wo"
				}
				if !wo || !r.computed { // a write-only attribute cannot be computed
					out = append(out, r)
				}
			}
		}
	}
	return out
}

// inSet reports whether elements of sets may have attributes of this role. Write-only attributes are not allowed,
// because elements could not be distinguished. Attributes with defaults are left out, because the framework loses the
// defaults.
func (r role) inSet() bool { return !r.wo && !r.preset }

var (
	pairTypes = map[string]attr.Type{"left": types.StringType, "right": types.StringType}
	presets   = []attr.Value{types.StringValue("preset")}
)

// inner are the types of leaves in nested attributes and in blocks. One of each kind is enough there, because a schema
// has many.
var inner = []string{"string", "set"}

// leaves returns attributes without nested attributes: one for each type in kinds and each role that suits accepts. If
// kinds is empty, it uses all types.
func leaves(suits func(role) bool, kinds ...string) map[string]schema.Attribute {
	out := map[string]schema.Attribute{}
	for _, r := range roles() {
		if !suits(r) {
			continue
		}
		for kind, a := range r.leaves() {
			if len(kinds) == 0 || slices.Contains(kinds, kind) {
				out[r.name+"_"+kind] = a
			}
		}
	}
	return out
}

func (r role) leaves() map[string]schema.Attribute {
	text := schema.StringAttribute{Optional: r.optional, Computed: r.computed, Sensitive: r.sensitive, WriteOnly: r.wo}
	number := schema.Int64Attribute{Optional: r.optional, Computed: r.computed, Sensitive: r.sensitive, WriteOnly: r.wo}
	truth := schema.BoolAttribute{Optional: r.optional, Computed: r.computed, Sensitive: r.sensitive, WriteOnly: r.wo}
	list := schema.ListAttribute{Optional: r.optional, Computed: r.computed, Sensitive: r.sensitive, WriteOnly: r.wo, ElementType: stringType}
	set := schema.SetAttribute{Optional: r.optional, Computed: r.computed, Sensitive: r.sensitive, ElementType: stringType}
	dict := schema.MapAttribute{Optional: r.optional, Computed: r.computed, Sensitive: r.sensitive, WriteOnly: r.wo, ElementType: stringType}
	pair := schema.ObjectAttribute{Optional: r.optional, Computed: r.computed, Sensitive: r.sensitive, WriteOnly: r.wo, AttributeTypes: pairTypes}
	if r.preset {
		text.Default, number.Default, truth.Default = stringdefault.StaticString("preset"), int64default.StaticInt64(7), booldefault.StaticBool(true)
		list.Default = listdefault.StaticValue(types.ListValueMust(stringType, presets))
		set.Default = setdefault.StaticValue(types.SetValueMust(stringType, presets))
		dict.Default = mapdefault.StaticValue(types.MapValueMust(stringType, map[string]attr.Value{"k": presets[0]}))
		pair.Default = objectdefault.StaticValue(types.ObjectValueMust(pairTypes, map[string]attr.Value{"left": presets[0], "right": presets[0]}))
	}
	out := map[string]schema.Attribute{"string": text, "number": number, "bool": truth, "list": list, "map": dict, "object": pair}
	if !r.wo {
		out["set"] = set
	}
	return out
}

// nests returns nested attributes of every nesting, for all roles without defaults. If deep is true, those that are
// only optional contain further nested attributes. If deep is false, sensitive and computed roles are left out.
func nests(deep bool) map[string]schema.Attribute {
	out := map[string]schema.Attribute{}
	for _, r := range roles() {
		if r.preset || !deep && (r.sensitive || r.computed) {
			continue
		}
		for kind, a := range r.nests(deep) {
			out[r.name+"_"+kind] = a
		}
	}
	return out
}

func (r role) nests(deep bool) map[string]schema.Attribute {
	kinds := inner
	if !deep {
		kinds = inner[:1]
	}
	inside := func(wo bool) map[string]schema.Attribute {
		attrs := leaves(func(in role) bool {
			if r.wo {
				return in.wo
			}
			return (wo || in.inSet()) && (!r.computed || in.computed && !in.preset)
		}, kinds...)
		if deep && wo && r.name == "opt" {
			for name, a := range nests(false) {
				attrs[name] = a
			}
		}
		return attrs
	}
	object := schema.NestedAttributeObject{Attributes: inside(true)}
	out := map[string]schema.Attribute{
		"one":  schema.SingleNestedAttribute{Optional: r.optional, Computed: r.computed, Sensitive: r.sensitive, WriteOnly: r.wo, Attributes: object.Attributes},
		"many": schema.ListNestedAttribute{Optional: r.optional, Computed: r.computed, Sensitive: r.sensitive, WriteOnly: r.wo, NestedObject: object},
		"by":   schema.MapNestedAttribute{Optional: r.optional, Computed: r.computed, Sensitive: r.sensitive, WriteOnly: r.wo, NestedObject: object},
	}
	if !r.wo {
		out["any"] = schema.SetNestedAttribute{Optional: r.optional, Computed: r.computed, Sensitive: r.sensitive,
			NestedObject: schema.NestedAttributeObject{Attributes: inside(false)}}
	}
	return out
}

// nestedBlocks returns blocks of every nesting that contain blocks down to the depth. If wo is false, they contain no
// write-only attributes and no sets of blocks.
func nestedBlocks(depth int, wo bool) map[string]schema.Block {
	if depth == 0 {
		return nil
	}
	object := func(wo bool) schema.NestedBlockObject {
		return schema.NestedBlockObject{
			Attributes: leaves(func(r role) bool { return wo || r.inSet() }, inner[:depth]...),
			Blocks:     nestedBlocks(depth-1, wo),
		}
	}
	in := object(wo)
	out := map[string]schema.Block{
		"block_one":  schema.SingleNestedBlock{Attributes: in.Attributes, Blocks: in.Blocks},
		"block_many": schema.ListNestedBlock{NestedObject: in},
	}
	if wo { // a set of blocks must contain neither write-only attributes nor sets of blocks
		out["block_any"] = schema.SetNestedBlock{NestedObject: object(false)}
	}
	return out
}

// matrix has every combination of roles, types and nestings that a schema permits.
func matrix() form {
	attrs := leaves(func(role) bool { return true })
	for name, a := range nests(true) {
		attrs[name] = a
	}
	attrs["id"] = schema.StringAttribute{Computed: true}
	attrs["name"] = schema.StringAttribute{Required: true}
	attrs["frozen"] = schema.StringAttribute{Optional: true, PlanModifiers: forceString}
	return form{
		suffix: "matrix",
		schema: schema.Schema{
			Description: "Every combination of what attributes and blocks can be.",
			Attributes:  attrs,
			Blocks:      nestedBlocks(2, true),
		},
		id:      newID("matrix"),
		derived: map[string][]string{"id": nil},
	}
}

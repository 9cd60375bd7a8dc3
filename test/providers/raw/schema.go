package raw

import (
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// schemas holds the schemas of everything that the provider declares: its configuration, types, functions and identity.
type schemas struct {
	provider                   *tfprotov6.Schema
	resources, data, ephemeral map[string]*tfprotov6.Schema
	lists                      map[string]*tfprotov6.Schema
	actions                    map[string]*tfprotov6.ActionSchema
	stores                     map[string]*tfprotov6.Schema
	functions                  map[string]*tfprotov6.Function
	identity                   *tfprotov6.ResourceIdentitySchema
}

type (
	attribute = tfprotov6.SchemaAttribute
	block     = tfprotov6.SchemaBlock
)

func required(name string, t tftypes.Type) *attribute {
	return &attribute{Name: name, Type: t, Required: true}
}

func optional(name string, t tftypes.Type) *attribute {
	return &attribute{Name: name, Type: t, Optional: true}
}

func computed(name string, t tftypes.Type) *attribute {
	return &attribute{Name: name, Type: t, Computed: true}
}

func writeOnlyAttr(name string, t tftypes.Type) *attribute {
	return &attribute{Name: name, Type: t, Optional: true, WriteOnly: true}
}

func nested(nesting tfprotov6.SchemaNestedBlockNestingMode, name string, b *block) *tfprotov6.SchemaNestedBlock {
	return &tfprotov6.SchemaNestedBlock{TypeName: name, Nesting: nesting, Block: b}
}

func object(nesting tfprotov6.SchemaObjectNestingMode, name string, attrs ...*attribute) *attribute {
	return &attribute{Name: name, Optional: true, NestedType: &tfprotov6.SchemaObject{Nesting: nesting, Attributes: attrs}}
}

var (
	text    = tftypes.String
	number  = tftypes.Number
	texts   = tftypes.List{ElementType: text}
	textSet = tftypes.Set{ElementType: text}
	textMap = tftypes.Map{ElementType: text}
	member  = tftypes.Object{AttributeTypes: map[string]tftypes.Type{"name": text, "port": number}}
)

// all returns the schemas for a protocol, with the faults in PLAYGROUND_ROGUE_SCHEMA. Protocol 5 has no nested
// attributes.
func all(protocol int) schemas {
	s := schemas{
		provider: &tfprotov6.Schema{Block: &block{Attributes: []*attribute{
			optional("label", text), optional("misbehave", text),
			{Name: "token", Type: text, Optional: true, Sensitive: true},
		}}},
		resources: map[string]*tfprotov6.Schema{
			"rogue_thing":   {Version: 1, Block: thingBlock(protocol)},
			"rogue_nesting": {Block: nestingBlock(protocol)},
		},
		data: map[string]*tfprotov6.Schema{
			"rogue_thing": {Block: &block{Attributes: []*attribute{
				computed("id", text), required("name", text), optional("misbehave", text), computed("value", text),
			}}},
		},
		ephemeral: map[string]*tfprotov6.Schema{
			"rogue_lease": {Block: &block{Attributes: []*attribute{
				computed("id", text), required("name", text), optional("misbehave", text), optional("renew_after", text),
				optional("tags", textMap), computed("value", text),
				{Name: "token", Type: text, Computed: true, Sensitive: true},
			}}},
		},
		lists:   map[string]*tfprotov6.Schema{"rogue_thing": {Block: searchBlock()}},
		actions: map[string]*tfprotov6.ActionSchema{"rogue_act": {Schema: &tfprotov6.Schema{Block: actBlock()}}},
		stores:  map[string]*tfprotov6.Schema{"rogue_store": {Block: storeBlock()}},
		functions: map[string]*tfprotov6.Function{
			"echo": {
				Parameters: []*tfprotov6.FunctionParameter{{Name: "text", Type: text}},
				Return:     &tfprotov6.FunctionReturn{Type: text},
			},
		},
		identity: &tfprotov6.ResourceIdentitySchema{IdentityAttributes: []*tfprotov6.ResourceIdentitySchemaAttribute{
			{Name: identityName, Type: text, RequiredForImport: true},
		}},
	}
	s.spoil()
	return s
}

func thingBlock(protocol int) *block {
	b := &block{
		Attributes: []*attribute{
			computed("id", text), required("name", text), optional("misbehave", text),
			optional("size", number), optional("tags", textMap),
			{Name: "note", Type: text, Optional: true, Computed: true},
			optional("members", tftypes.Set{ElementType: member}), optional("items", texts), optional("words", textSet),
			computed("value", text), computed("leaked", text),
			writeOnlyAttr("secret_wo", text), optional("secret_wo_version", number), writeOnlyAttr("codes_wo", textSet),
		},
		BlockTypes: []*tfprotov6.SchemaNestedBlock{
			nested(tfprotov6.SchemaNestedBlockNestingModeList, "disk", &block{Attributes: []*attribute{
				optional("label", text), writeOnlyAttr("pin_wo", text), computed("device", text),
			}}),
		},
	}
	if protocol > 5 {
		b.Attributes = append(b.Attributes, object(tfprotov6.SchemaObjectNestingModeSingle, "login",
			optional("user", text), writeOnlyAttr("password_wo", text)))
	}
	return b
}

// nestingBlock has every kind of nested block, also map and group, which no library above the protocol supports.
func nestingBlock(protocol int) *block {
	b := &block{Attributes: []*attribute{computed("id", text), required("name", text), optional("misbehave", text)}}
	for _, n := range []struct {
		name    string
		nesting tfprotov6.SchemaNestedBlockNestingMode
	}{
		{"single", tfprotov6.SchemaNestedBlockNestingModeSingle},
		{"group", tfprotov6.SchemaNestedBlockNestingModeGroup},
		{"list", tfprotov6.SchemaNestedBlockNestingModeList},
		{"set", tfprotov6.SchemaNestedBlockNestingModeSet},
		{"map", tfprotov6.SchemaNestedBlockNestingModeMap},
	} {
		inner := &block{Attributes: []*attribute{optional("a", text), optional("b", number)}}
		if n.name != "set" {
			inner.Attributes = append(inner.Attributes, writeOnlyAttr("c_wo", text), computed("d", text))
		}
		inner.BlockTypes = []*tfprotov6.SchemaNestedBlock{
			nested(tfprotov6.SchemaNestedBlockNestingModeList, "deep", &block{Attributes: []*attribute{optional("x", text)}}),
		}
		b.BlockTypes = append(b.BlockTypes, nested(n.nesting, n.name, inner))
	}
	few := nested(tfprotov6.SchemaNestedBlockNestingModeList, "few", &block{Attributes: []*attribute{optional("a", text)}})
	few.MinItems, few.MaxItems = 0, 2
	b.BlockTypes = append(b.BlockTypes, few)
	if protocol > 5 {
		b.Attributes = append(b.Attributes,
			object(tfprotov6.SchemaObjectNestingModeSingle, "one", optional("a", text), computed("d", text)),
			object(tfprotov6.SchemaObjectNestingModeList, "many", optional("a", text), computed("d", text)),
			object(tfprotov6.SchemaObjectNestingModeSet, "bag", optional("a", text)),
			object(tfprotov6.SchemaObjectNestingModeMap, "by", optional("a", text), computed("d", text)),
		)
	}
	return b
}

// spoil adds the faults in PLAYGROUND_ROGUE_SCHEMA, separated by commas. Each fault of a resource schema is a separate
// type, rogue_ and the name of the fault, so that the other types stay unchanged. "identity:N" sets the version of the
// identity, and "many:N" adds that many types. It ignores unknown names.
func (s *schemas) spoil() {
	for name := range strings.SplitSeq(os.Getenv(EnvSchema), ",") {
		name, count, _ := strings.Cut(name, ":")
		if b := faulty[name]; b != nil {
			s.resources["rogue_"+strings.ReplaceAll(name, "-", "_")] = &tfprotov6.Schema{Block: b()}
			continue
		}
		secret := &tfprotov6.Schema{Block: &block{Attributes: []*attribute{writeOnlyAttr("secret_wo", text)}}}
		switch name {
		case "wo-provider":
			s.provider.Block.Attributes = append(s.provider.Block.Attributes, writeOnlyAttr("secret_wo", text))
		case "wo-data":
			s.data["rogue_wo_data"] = secret
		case "wo-ephemeral":
			s.ephemeral["rogue_wo_ephemeral"] = secret
		case "identity":
			s.identity.Version = int64(whole(count, 0))
		case "many":
			for i := range whole(count, 1000) {
				s.resources[fmt.Sprintf("rogue_many_%04d", i)] = s.resources["rogue_nesting"]
			}
		}
	}
}

// with returns a block with the attributes id and name and further attributes.
func with(attrs ...*attribute) *block {
	return &block{Attributes: append([]*attribute{computed("id", text), optional("name", text)}, attrs...)}
}

// faulty has invalid resource schemas, by the name of the fault. An engine must refuse all of them except reserved-name
// and bad-name.
var faulty = map[string]func() *block{
	"wo-set-block": func() *block {
		b := with()
		b.BlockTypes = []*tfprotov6.SchemaNestedBlock{nested(tfprotov6.SchemaNestedBlockNestingModeSet, "rule", &block{
			Attributes: []*attribute{optional("a", text), writeOnlyAttr("secret_wo", text)},
		})}
		return b
	},
	"wo-deep-set-block": func() *block {
		inner := nested(tfprotov6.SchemaNestedBlockNestingModeList, "inner", &block{
			Attributes: []*attribute{writeOnlyAttr("secret_wo", text)},
		})
		b := with()
		b.BlockTypes = []*tfprotov6.SchemaNestedBlock{nested(tfprotov6.SchemaNestedBlockNestingModeSet, "rule", &block{
			BlockTypes: []*tfprotov6.SchemaNestedBlock{inner},
		})}
		return b
	},
	"wo-set-nested": func() *block {
		return with(object(tfprotov6.SchemaObjectNestingModeSet, "rules", writeOnlyAttr("secret_wo", text)))
	},
	"wo-computed": func() *block {
		return with(&attribute{Name: "secret_wo", Type: text, Optional: true, Computed: true, WriteOnly: true})
	},
	"wo-partial": func() *block {
		outer := object(tfprotov6.SchemaObjectNestingModeSingle, "login_wo", writeOnlyAttr("password_wo", text), optional("user", text))
		outer.WriteOnly = true
		return with(outer)
	},
	"no-flags":       func() *block { return with(&attribute{Name: "lost", Type: text}) },
	"reserved-name":  func() *block { return with(optional("count", text)) },
	"bad-name":       func() *block { return with(optional("Bad-Name!", text)) },
	"required-extra": func() *block { return with(&attribute{Name: "odd", Type: text, Required: true, Computed: true}) },
}

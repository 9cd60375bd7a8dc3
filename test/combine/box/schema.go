package box

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// how holds the flags of an attribute.
type how uint

const (
	required how = 1 << iota
	optional
	computed
	sensitive
	writeOnly
)

type attr struct {
	name string
	typ  cty.Type
	how  how
}

var (
	texts   = cty.List(cty.String)
	textSet = cty.Set(cty.String)
	textMap = cty.Map(cty.String)
	limits  = cty.Object(map[string]cty.Type{"low": cty.Number, "high": cty.Number})
	part    = typeOf(partAttrs)
	rule    = cty.Object(map[string]cty.Type{"label": cty.String})
)

// boxAttrs are the attributes of the resource types box and crate.
var boxAttrs = []attr{
	{"id", cty.String, computed},
	{"name", cty.String, required},                             // a change replaces the object
	{"kind", cty.String, optional},                             // a change replaces the object
	{"content", cty.String, optional},                          //
	{"note", cty.String, optional | computed},                  // the provider computes it if it is not set
	{"size", cty.Number, optional | computed},                  // 1 by default
	{"etag", cty.String, computed},                             // depends on all other attributes: unknown if one of them changes
	{"uses", texts, optional},                                  // IDs of objects that must exist
	{"tags", textMap, optional},                                //
	{"labels", textSet, optional},                              //
	{"any", cty.DynamicPseudoType, optional},                   //
	{"secret", cty.String, optional | sensitive},               // stored, but hidden in output
	{"password", cty.String, optional | sensitive | writeOnly}, // neither stored nor shown in output
	{"password_wo", cty.String, optional | writeOnly},          //
	{"password_version", cty.Number, optional},                 // a change sends both passwords to the provider
}

// partAttrs are the attributes of part, a block of the resources.
var partAttrs = []attr{
	{"label", cty.String, optional},
	{"code", cty.String, computed},
	{"pin", cty.String, optional | writeOnly},
}

// WriteOnly reports whether an attribute of boxes and crates, or of their parts, is never stored.
func WriteOnly(name string) bool {
	return slices.ContainsFunc(slices.Concat(boxAttrs, partAttrs), func(a attr) bool { return a.name == name && a.how&writeOnly != 0 })
}

// Unordered reports whether an attribute or block of boxes and crates is a set.
func Unordered(name string) bool {
	return boxType.HasAttribute(name) && boxType.AttributeType(name).IsSetType()
}

var dataLook = []attr{
	{"id", cty.String, required}, {"name", cty.String, computed}, {"content", cty.String, computed},
	{"etag", cty.String, computed}, {"region", cty.String, computed},
}

var dataCalc = []attr{
	{"id", cty.String, computed}, {"input", cty.String, optional}, {"any", cty.DynamicPseudoType, optional},
	{"output", cty.String, computed}, {"names", texts, computed}, {"same", cty.DynamicPseudoType, computed},
}

var ephemeralLease = []attr{
	{"id", cty.String, computed}, {"name", cty.String, required}, {"input", cty.String, optional},
	{"text", cty.String, computed}, {"token", cty.String, computed | sensitive},
}

var settings = []attr{
	{"region", cty.String, optional}, {"label", cty.String, optional}, {"token", cty.String, optional | sensitive},
}

// wire returns a type in the form of the protocol's library.
func wire(t cty.Type) tftypes.Type {
	text, err := ctyjson.MarshalType(t)
	if err != nil {
		panic(err) // cannot occur: all types of this file have a JSON form
	}
	//lint:ignore SA1019 the way from one library to the other
	w, err := tftypes.ParseJSONType(text)
	if err != nil {
		panic(err)
	}
	return w
}

func (a attr) wire() *tfprotov6.SchemaAttribute {
	is := func(h how) bool { return a.how&h != 0 }
	return &tfprotov6.SchemaAttribute{
		Name: a.name, Type: wire(a.typ), Required: is(required), Optional: is(optional), Computed: is(computed),
		Sensitive: is(sensitive), WriteOnly: is(writeOnly),
	}
}

func schemaOf(attrs []attr) *tfprotov6.Schema {
	b := &tfprotov6.SchemaBlock{}
	for _, a := range attrs {
		b.Attributes = append(b.Attributes, a.wire())
	}
	return &tfprotov6.Schema{Block: b}
}

// boxSchema returns the schema of boxes, or of crates if hidden is true. The password of crates is also sensitive, as
// with most real providers, and that of boxes is only write-only.
func boxSchema(hidden bool) *tfprotov6.Schema {
	s := schemaOf(boxAttrs)
	for _, a := range s.Block.Attributes {
		if a.Name == "password" {
			a.Sensitive = hidden
		}
	}
	s.Block.Attributes = append(s.Block.Attributes, &tfprotov6.SchemaAttribute{
		Name: "limits", Optional: true,
		NestedType: &tfprotov6.SchemaObject{Nesting: tfprotov6.SchemaObjectNestingModeSingle, Attributes: []*tfprotov6.SchemaAttribute{
			attr{"low", cty.Number, optional}.wire(), attr{"high", cty.Number, optional | computed}.wire(),
		}},
	})
	nested := func(name string, n tfprotov6.SchemaNestedBlockNestingMode, attrs ...attr) *tfprotov6.SchemaNestedBlock {
		return &tfprotov6.SchemaNestedBlock{TypeName: name, Nesting: n, Block: schemaOf(attrs).Block}
	}
	s.Block.BlockTypes = []*tfprotov6.SchemaNestedBlock{
		nested("part", tfprotov6.SchemaNestedBlockNestingModeList, partAttrs...),
		nested("rule", tfprotov6.SchemaNestedBlockNestingModeSet, attr{"label", cty.String, optional}),
	}
	return s
}

func typeOf(attrs []attr) cty.Type {
	m := map[string]cty.Type{}
	for _, a := range attrs {
		m[a.name] = a.typ
	}
	return cty.Object(m)
}

var (
	boxType = func() cty.Type {
		m := typeOf(boxAttrs).AttributeTypes()
		m["limits"], m["part"], m["rule"] = limits, cty.List(part), cty.Set(rule)
		return cty.Object(m)
	}()
	lookType, calcType, leaseType, settingsType = typeOf(dataLook), typeOf(dataCalc), typeOf(ephemeralLease), typeOf(settings)
)

func (p *Provider) GetProviderSchema(context, *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	return &tfprotov6.GetProviderSchemaResponse{
		ServerCapabilities: &tfprotov6.ServerCapabilities{MoveResourceState: true},
		Provider:           schemaOf(settings),
		ResourceSchemas:    map[string]*tfprotov6.Schema{"combine_box": boxSchema(false), "combine_crate": boxSchema(true)},
		DataSourceSchemas:  map[string]*tfprotov6.Schema{"combine_look": schemaOf(dataLook), "combine_calc": schemaOf(dataCalc)},
		EphemeralResourceSchemas: map[string]*tfprotov6.Schema{
			"combine_lease": schemaOf(ephemeralLease),
		},
	}, nil
}

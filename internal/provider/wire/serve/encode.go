package serve

import (
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"google.golang.org/protobuf/proto"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
	"github.com/lethe-iac/lethe/internal/schema"
)

func value(v *wirepb.DynamicValue) provider.Dynamic {
	return provider.Dynamic{Msgpack: v.GetMsgpack(), JSON: v.GetJson()}
}

func message(d provider.Dynamic) *wirepb.DynamicValue {
	if d.Msgpack == nil && d.JSON == nil {
		return nil
	}
	return &wirepb.DynamicValue{Msgpack: d.Msgpack, Json: d.JSON}
}

func identity(d provider.Dynamic) *wirepb.ResourceIdentityData {
	if v := message(d); v != nil {
		return &wirepb.ResourceIdentityData{IdentityData: v}
	}
	return nil
}

func allow(c *wirepb.ClientCapabilities) provider.Allow {
	return provider.Allow{Deferral: c.GetDeferralAllowed()}
}

var reasons = map[provider.Deferred]wirepb.Deferred_Reason{
	"unknown":                 wirepb.Deferred_UNKNOWN,
	"resource_config_unknown": wirepb.Deferred_RESOURCE_CONFIG_UNKNOWN,
	"provider_config_unknown": wirepb.Deferred_PROVIDER_CONFIG_UNKNOWN,
	"absent_prereq":           wirepb.Deferred_ABSENT_PREREQ,
}

func deferred(d provider.Deferred) *wirepb.Deferred {
	if d == "" {
		return nil
	}
	return &wirepb.Deferred{Reason: reasons[d]}
}

func diagnostics(ds provider.Diags) []*wirepb.Diagnostic {
	var out []*wirepb.Diagnostic
	for _, d := range ds {
		m := &wirepb.Diagnostic{Severity: wirepb.Diagnostic_ERROR, Summary: d.Summary, Detail: d.Detail, Attribute: attributePath(d.Path)}
		if d.Severity == diag.Warning {
			m.Severity = wirepb.Diagnostic_WARNING
		}
		out = append(out, m)
	}
	return out
}

func attributePath(p cty.Path) *wirepb.AttributePath {
	if len(p) == 0 {
		return nil
	}
	out := &wirepb.AttributePath{}
	for _, s := range p {
		step := &wirepb.AttributePath_Step{}
		switch s := s.(type) {
		case cty.GetAttrStep:
			step.Selector = &wirepb.AttributePath_Step_AttributeName{AttributeName: s.Name}
		case cty.IndexStep:
			if s.Key.Type() == cty.String {
				step.Selector = &wirepb.AttributePath_Step_ElementKeyString{ElementKeyString: s.Key.AsString()}
			} else {
				n, _ := s.Key.AsBigFloat().Int64()
				step.Selector = &wirepb.AttributePath_Step_ElementKeyInt{ElementKeyInt: n}
			}
		}
		out.Steps = append(out.Steps, step)
	}
	return out
}

func paths(ps []cty.Path) []*wirepb.AttributePath {
	var out []*wirepb.AttributePath
	for _, p := range ps {
		out = append(out, attributePath(p))
	}
	return out
}

// SchemaAnswer returns the answer to GetProviderSchema for these schemas. major is the major version of the protocol.
// If schemas is nil, the answer is empty. SchemaAnswer returns an error if the schema of a type cannot be decoded. It
// panics if major is 5 and a schema has nested attributes.
func SchemaAnswer(major int, schemas *provider.Schemas) (*wirepb.GetProviderSchema_Response, error) {
	a := &wirepb.GetProviderSchema_Response{}
	if schemas == nil {
		return a, nil
	}
	a.Provider = schemaMessage(major, schemas.Config)
	if schemas.Meta != nil {
		a.ProviderMeta = schemaMessage(major, schemas.Meta)
	}
	a.ServerCapabilities = &wirepb.ServerCapabilities{
		PlanDestroy:               schemas.Capabilities.PlanDestroy,
		GetProviderSchemaOptional: schemas.Capabilities.SchemaOptional,
		MoveResourceState:         schemas.Capabilities.Move,
	}
	var err error
	types := func(m addr.Mode) map[string]*wirepb.Schema {
		out := map[string]*wirepb.Schema{}
		for _, name := range schemas.Types(m) {
			s, e := schemas.Type(m, name)
			if e != nil {
				err = e
				continue
			}
			out[name] = schemaMessage(major, s)
		}
		return out
	}
	a.ResourceSchemas = types(addr.Managed)
	a.DataSourceSchemas = types(addr.Data)
	a.EphemeralResourceSchemas = types(addr.Ephemeral)
	a.ListResourceSchemas = types(addr.List)
	a.StateStoreSchemas = types(addr.StateStore)
	a.ActionSchemas = map[string]*wirepb.ActionSchema{}
	for name, s := range types(addr.Action) {
		a.ActionSchemas[name] = &wirepb.ActionSchema{Schema: s}
	}
	a.Functions = map[string]*wirepb.Function{}
	for name, f := range schemas.Functions {
		a.Functions[name] = function(f)
	}
	return a, err
}

func schemaMessage(major int, s *schema.Schema) *wirepb.Schema {
	return &wirepb.Schema{Version: s.Version, Block: block(major, s.Block)}
}

func block(major int, b *schema.Block) *wirepb.Schema_Block {
	m := &wirepb.Schema_Block{
		Attributes:         attributes(major, b.Attrs),
		Description:        b.Description,
		DescriptionKind:    kind(b.Markdown),
		Deprecated:         b.Deprecated,
		DeprecationMessage: b.Deprecation,
	}
	nesting := map[schema.Nesting]wirepb.Schema_NestedBlock_NestingMode{schema.Single: 1, schema.List: 2, schema.Set: 3, schema.Map: 4, schema.Group: 5}
	for _, n := range b.Blocks {
		m.BlockTypes = append(m.BlockTypes, &wirepb.Schema_NestedBlock{
			TypeName: n.Name, Block: block(major, n.Block), Nesting: nesting[n.Nesting], MinItems: int64(n.Min), MaxItems: int64(n.Max),
		})
	}
	return m
}

func attributes(major int, attrs []*schema.Attr) []*wirepb.Schema_Attribute {
	var out []*wirepb.Schema_Attribute
	for _, a := range attrs {
		m := &wirepb.Schema_Attribute{
			Name: a.Name, Description: a.Description, DescriptionKind: kind(a.Markdown),
			Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive, Deprecated: a.Deprecated,
		}
		switch {
		case a.Object == nil:
			m.Type = typeJSON(a.Type)
		case major == 5:
			panic("protocol 5 has no nested attributes")
		default:
			nesting := map[schema.Nesting]wirepb.Schema_Object_NestingMode{schema.Single: 1, schema.List: 2, schema.Set: 3, schema.Map: 4}
			m.NestedType = &wirepb.Schema_Object{Nesting: nesting[a.Object.Nesting], Attributes: attributes(major, a.Object.Attrs)}
		}
		if major == 5 {
			rest, _ := proto.Marshal(&wirepb.Attribute5{WriteOnly: a.WriteOnly, DeprecationMessage: a.Deprecation})
			m.ProtoReflect().SetUnknown(rest)
		} else {
			m.WriteOnly, m.DeprecationMessage = a.WriteOnly, a.Deprecation
		}
		out = append(out, m)
	}
	return out
}

func kind(markdown bool) wirepb.StringKind {
	if markdown {
		return wirepb.StringKind_MARKDOWN
	}
	return wirepb.StringKind_PLAIN
}

func typeJSON(ty cty.Type) []byte {
	b, err := ctyjson.MarshalType(ty)
	if err != nil {
		panic(err)
	}
	return b
}

func function(f *provider.Function) *wirepb.Function {
	m := &wirepb.Function{
		Return:             &wirepb.Function_Return{Type: typeJSON(f.Return)},
		Summary:            f.Summary,
		Description:        f.Description,
		DescriptionKind:    kind(f.Markdown),
		DeprecationMessage: f.DeprecationMessage,
	}
	for _, p := range f.Params {
		m.Parameters = append(m.Parameters, parameter(&p))
	}
	if f.Variadic != nil {
		m.VariadicParameter = parameter(f.Variadic)
	}
	return m
}

func parameter(p *provider.Param) *wirepb.Function_Parameter {
	return &wirepb.Function_Parameter{
		Name: p.Name, Type: typeJSON(p.Type), AllowNullValue: p.AllowNull, AllowUnknownValues: p.AllowUnknown,
		Description: p.Description, DescriptionKind: kind(p.Markdown),
	}
}

func identitySchema(id *provider.Identity) *wirepb.ResourceIdentitySchema {
	m := &wirepb.ResourceIdentitySchema{Version: id.Version}
	for _, a := range id.Attrs {
		m.IdentityAttributes = append(m.IdentityAttributes, &wirepb.ResourceIdentitySchema_IdentityAttribute{
			Name: a.Name, Type: typeJSON(a.Type), RequiredForImport: a.Required, OptionalForImport: a.Optional, Description: a.Description,
		})
	}
	return m
}

package wire

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"google.golang.org/protobuf/proto"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
	"github.com/lethe-iac/lethe/internal/schema"
)

// decodeBlock converts a message to a block. For a nil message it returns an empty block.
func (c *client) decodeBlock(m *wirepb.Schema_Block) (*schema.Block, error) {
	b := &schema.Block{
		Description: m.GetDescription(),
		Markdown:    m.GetDescriptionKind() == wirepb.StringKind_MARKDOWN,
		Deprecated:  m.GetDeprecated(),
		Deprecation: m.GetDeprecationMessage(),
	}
	var err error
	if b.Attrs, err = c.decodeAttrs(m.GetAttributes()); err != nil {
		return nil, err
	}
	if b.Blocks, err = c.decodeNested(m.GetBlockTypes()); err != nil {
		return nil, err
	}
	return b, nil
}

func (c *client) decodeAttrs(ms []*wirepb.Schema_Attribute) ([]*schema.Attr, error) {
	if len(ms) == 0 {
		return nil, nil
	}
	attrs := make([]schema.Attr, len(ms))
	out := make([]*schema.Attr, len(ms))
	for i, m := range ms {
		out[i] = &attrs[i]
		if err := c.decodeAttr(out[i], m); err != nil {
			return nil, fmt.Errorf("attribute %q: %w", m.GetName(), err)
		}
	}
	return out, sortNames("attribute", out, func(a *schema.Attr) string { return a.Name })
}

// sortNames sorts the parts of a schema by name, and returns an error if a name occurs twice.
func sortNames[T any](what string, list []T, name func(T) string) error {
	slices.SortFunc(list, func(a, b T) int { return strings.Compare(name(a), name(b)) })
	for i := 1; i < len(list); i++ {
		if name(list[i]) == name(list[i-1]) {
			return fmt.Errorf("%s %q: described twice", what, name(list[i]))
		}
	}
	return nil
}

func (c *client) decodeAttr(a *schema.Attr, m *wirepb.Schema_Attribute) (err error) {
	*a = schema.Attr{
		Name:        m.GetName(),
		Description: m.GetDescription(),
		Markdown:    m.GetDescriptionKind() == wirepb.StringKind_MARKDOWN,
		Required:    m.GetRequired(),
		Optional:    m.GetOptional(),
		Computed:    m.GetComputed(),
		Sensitive:   m.GetSensitive(),
		WriteOnly:   m.GetWriteOnly(),
		Deprecated:  m.GetDeprecated(),
		Deprecation: m.GetDeprecationMessage(),
	}
	if c.major == 5 {
		if err := five(a, m); err != nil {
			return err
		}
	} else if m.GetNestedType() != nil {
		if a.Object, err = c.decodeObject(m.GetNestedType()); err != nil {
			return err
		}
		a.Type = objectType(a.Object)
		return nil
	}
	a.Type, err = decodeType(m.GetType())
	return err
}

// five sets the fields of a whose field numbers differ in protocol 5. The decoder for protocol 6 has stored such a
// field as unknown if its wire type does not match.
func five(a *schema.Attr, m *wirepb.Schema_Attribute) error {
	a.WriteOnly, a.Deprecation = false, ""
	unknown := m.ProtoReflect().GetUnknown()
	if len(unknown) == 0 {
		return nil
	}
	var more wirepb.Attribute5
	if err := proto.Unmarshal(unknown, &more); err != nil {
		return err
	}
	a.WriteOnly, a.Deprecation = more.WriteOnly, more.DeprecationMessage
	return nil
}

var objectNesting = map[wirepb.Schema_Object_NestingMode]schema.Nesting{
	wirepb.Schema_Object_SINGLE: schema.Single,
	wirepb.Schema_Object_LIST:   schema.List,
	wirepb.Schema_Object_SET:    schema.Set,
	wirepb.Schema_Object_MAP:    schema.Map,
}

func (c *client) decodeObject(m *wirepb.Schema_Object) (*schema.Object, error) {
	o := &schema.Object{Nesting: objectNesting[m.Nesting]}
	if o.Nesting == 0 {
		return nil, fmt.Errorf("unknown nesting mode %d", m.Nesting)
	}
	var err error
	o.Attrs, err = c.decodeAttrs(m.Attributes)
	return o, err
}

// objectType returns the type of a nested attribute.
func objectType(o *schema.Object) cty.Type {
	atys := make(map[string]cty.Type, len(o.Attrs))
	for _, a := range o.Attrs {
		atys[a.Name] = a.Type
	}
	return o.Nesting.Of(cty.Object(atys))
}

var blockNesting = map[wirepb.Schema_NestedBlock_NestingMode]schema.Nesting{
	wirepb.Schema_NestedBlock_SINGLE: schema.Single,
	wirepb.Schema_NestedBlock_GROUP:  schema.Group,
	wirepb.Schema_NestedBlock_LIST:   schema.List,
	wirepb.Schema_NestedBlock_SET:    schema.Set,
	wirepb.Schema_NestedBlock_MAP:    schema.Map,
}

func (c *client) decodeNested(ms []*wirepb.Schema_NestedBlock) ([]*schema.Nested, error) {
	if len(ms) == 0 {
		return nil, nil
	}
	out := make([]*schema.Nested, len(ms))
	for i, m := range ms {
		b, err := c.decodeBlock(m.GetBlock())
		n := &schema.Nested{Name: m.GetTypeName(), Block: b, Nesting: blockNesting[m.GetNesting()], Min: count(m.GetMinItems()), Max: count(m.GetMaxItems())}
		if err == nil && n.Nesting == 0 {
			err = fmt.Errorf("unknown nesting mode %d", m.GetNesting())
		}
		if err != nil {
			return nil, fmt.Errorf("block %q: %w", n.Name, err)
		}
		out[i] = n
	}
	return out, sortNames("block", out, func(n *schema.Nested) string { return n.Name })
}

// count converts a number of blocks. It changes negative numbers to 0, and limits large numbers to 32 bits.
func count(n int64) int { return int(min(max(n, 0), math.MaxInt32)) }

// commonTypes has the types of most attributes, by their encoding.
var commonTypes = map[string]cty.Type{
	`"string"`:           cty.String,
	`"number"`:           cty.Number,
	`"bool"`:             cty.Bool,
	`"dynamic"`:          cty.DynamicPseudoType,
	`["list","string"]`:  cty.List(cty.String),
	`["set","string"]`:   cty.Set(cty.String),
	`["map","string"]`:   cty.Map(cty.String),
	`["list","number"]`:  cty.List(cty.Number),
	`["set","number"]`:   cty.Set(cty.Number),
	`["map","number"]`:   cty.Map(cty.Number),
	`["map","bool"]`:     cty.Map(cty.Bool),
	`["list","dynamic"]`: cty.List(cty.DynamicPseudoType),
}

// decodeType decodes a type from its JSON form.
func decodeType(raw []byte) (cty.Type, error) {
	if ty, ok := commonTypes[string(raw)]; ok {
		return ty, nil
	}
	if len(raw) == 0 {
		return cty.NilType, errors.New("no type")
	}
	ty, err := ctyjson.UnmarshalType(raw)
	if err != nil {
		return cty.NilType, fmt.Errorf("bad type: %w", err)
	}
	return ty.WithoutOptionalAttributesDeep(), nil
}

func (c *client) decodeFunction(raw []byte) (*provider.Function, error) {
	var m wirepb.Function
	if err := proto.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	return functionOf(&m)
}

func functionOf(m *wirepb.Function) (*provider.Function, error) {
	f := &provider.Function{
		Summary:            m.Summary,
		Description:        m.Description,
		Markdown:           m.DescriptionKind == wirepb.StringKind_MARKDOWN,
		DeprecationMessage: m.DeprecationMessage,
	}
	for _, p := range m.Parameters {
		param, err := decodeParam(p)
		if err != nil {
			return nil, err
		}
		f.Params = append(f.Params, param)
	}
	if m.VariadicParameter != nil {
		param, err := decodeParam(m.VariadicParameter)
		if err != nil {
			return nil, err
		}
		f.Variadic = &param
	}
	var err error
	if f.Return, err = decodeType(m.GetReturn().GetType()); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return f, nil
}

func decodeParam(m *wirepb.Function_Parameter) (provider.Param, error) {
	ty, err := decodeType(m.Type)
	if err != nil {
		return provider.Param{}, fmt.Errorf("parameter %q: %w", m.Name, err)
	}
	return provider.Param{
		Name:         m.Name,
		Type:         ty,
		AllowNull:    m.AllowNullValue,
		AllowUnknown: m.AllowUnknownValues,
		Description:  m.Description,
		Markdown:     m.DescriptionKind == wirepb.StringKind_MARKDOWN,
	}, nil
}

func decodeIdentity(m *wirepb.ResourceIdentitySchema) (*provider.Identity, error) {
	id := &provider.Identity{Version: m.GetVersion()}
	for _, a := range m.GetIdentityAttributes() {
		ty, err := decodeType(a.Type)
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", a.Name, err)
		}
		id.Attrs = append(id.Attrs, provider.IdentityAttr{
			Name:        a.Name,
			Type:        ty,
			Required:    a.RequiredForImport,
			Optional:    a.OptionalForImport,
			Description: a.Description,
		})
	}
	return id, nil
}

package jsondoc

import (
	"io"
	"iter"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/funcs"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// These are the versions of the documents.
const (
	formatSchemas   = "1.0"
	formatFunctions = "1.0"
)

// schemasDocument has the schemas of providers.
type schemasDocument struct {
	Format    string                             `json:"format_version"`
	Providers iter.Seq2[string, providerSchemas] `json:"provider_schemas,omitempty"`
}

// providerSchemas has the schemas of one provider.
type providerSchemas struct {
	Provider   typeSchema                        `json:"provider"`
	Resources  iter.Seq2[string, typeSchema]     `json:"resource_schemas,omitempty"`
	Data       iter.Seq2[string, typeSchema]     `json:"data_source_schemas,omitempty"`
	Ephemeral  iter.Seq2[string, typeSchema]     `json:"ephemeral_resource_schemas,omitempty"`
	Lists      iter.Seq2[string, typeSchema]     `json:"list_resource_schemas,omitempty"`
	Functions  iter.Seq2[string, Function]       `json:"functions,omitempty"`
	Identities iter.Seq2[string, identitySchema] `json:"resource_identity_schemas,omitempty"`
	Actions    iter.Seq2[string, typeSchema]     `json:"action_schemas,omitempty"`
	Stores     iter.Seq2[string, typeSchema]     `json:"state_store_schemas,omitempty"`
}

// typeSchema is the schema of a provider's configuration or of a type.
type typeSchema struct {
	Version int64        `json:"version"`
	Block   *blockSchema `json:"block,omitempty"`
}

type blockSchema struct {
	Attributes iter.Seq2[string, attrSchema]   `json:"attributes,omitempty"`
	Blocks     iter.Seq2[string, nestedSchema] `json:"block_types,omitempty"`
	described
	deprecated
}

type attrSchema struct {
	Nested *nestedType `json:"nested_type,omitempty"` // set instead of Type if the attribute has nested attributes
	Type   Type        `json:"type,omitzero"`
	described
	deprecated
	Required  bool `json:"required,omitempty"`
	Optional  bool `json:"optional,omitempty"`
	Computed  bool `json:"computed,omitempty"`
	Sensitive bool `json:"sensitive,omitempty"`
	WriteOnly bool `json:"write_only,omitempty"`
}

type nestedType struct {
	Attributes iter.Seq2[string, attrSchema] `json:"attributes"`
	Nesting    string                        `json:"nesting_mode"`
}

type nestedSchema struct {
	Nesting string       `json:"nesting_mode"`
	Block   *blockSchema `json:"block"`
	Min     int          `json:"min_items,omitempty"`
	Max     int          `json:"max_items,omitempty"`
}

type described struct {
	Description string `json:"description,omitempty"`
	Kind        string `json:"description_kind"` // "plain" or "markdown"
}

type deprecated struct {
	Deprecated  bool   `json:"deprecated,omitempty"`
	Deprecation string `json:"deprecation_message,omitempty"`
}

// identitySchema describes the identity of objects of a type.
type identitySchema struct {
	Version    int64                           `json:"version"`
	Attributes iter.Seq2[string, identityAttr] `json:"attributes"`
}

type identityAttr struct {
	Type        Type   `json:"type"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required_for_import,omitempty"`
	Optional    bool   `json:"optional_for_import,omitempty"`
}

// Function is a function of a provider, or a built-in function.
type Function struct {
	Description string      `json:"description,omitempty"`
	Summary     string      `json:"summary,omitempty"`
	Deprecation string      `json:"deprecation_message,omitempty"`
	Returns     Type        `json:"return_type"`
	Parameters  []Parameter `json:"parameters,omitempty"`
	Variadic    *Parameter  `json:"variadic_parameter,omitempty"`
}

// Parameter is a parameter of a function.
type Parameter struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Nullable    bool   `json:"is_nullable,omitempty"`
	Type        Type   `json:"type"`
}

// WriteSchemas writes the schemas of providers in the form of `providers schema -json`, sorted by provider. It omits a
// provider whose schemas are not available. It also omits a type with a broken schema, and returns that error after it
// has written the rest.
func WriteSchemas(w io.Writer, ps []addr.Provider, s provider.Lookup, hosts Hosts) error {
	ps = slices.Clone(ps)
	slices.SortFunc(ps, addr.Provider.Compare)
	ps = slices.Compact(ps)
	var failed error
	doc := schemasDocument{Format: formatSchemas}
	if len(ps) > 0 {
		doc.Providers = func(yield func(string, providerSchemas) bool) {
			for _, p := range ps {
				if all := s(p); all != nil && !yield(hosts.Of(p), schemasOf(all, &failed)) {
					return
				}
			}
		}
	}
	if err := Write(w, doc, OneLine); err != nil {
		return err
	}
	return failed
}

// schemasOf returns the schemas of one provider. It omits a type with a broken schema, and reports that in failed.
func schemasOf(s *provider.Schemas, failed *error) providerSchemas {
	types := func(mode addr.Mode) iter.Seq2[string, typeSchema] {
		return readable(s.Types(mode), func(name string) (*schema.Schema, error) { return s.Type(mode, name) }, typeSchemaOf, failed)
	}
	doc := providerSchemas{
		Resources: types(addr.Managed), Data: types(addr.Data), Ephemeral: types(addr.Ephemeral), Lists: types(addr.List), Actions: types(addr.Action), Stores: types(addr.StateStore),
		Functions:  Members(s.Functions, providerFunction),
		Identities: readable(s.Identities(), s.Identity, identityOf, failed),
	}
	if s.Config != nil {
		doc.Provider = typeSchemaOf(s.Config)
	}
	return doc
}

// readable returns the schemas with these names as members of an object. get returns a schema, and document converts
// it. If get returns an error, readable omits the schema and sets *failed.
func readable[S, D any](names []string, get func(string) (*S, error), document func(*S) D, failed *error) iter.Seq2[string, D] {
	if len(names) == 0 {
		return nil
	}
	return func(yield func(string, D) bool) {
		for _, name := range names {
			s, err := get(name)
			if err != nil {
				*failed = err
			}
			if err == nil && s != nil && !yield(name, document(s)) {
				return
			}
		}
	}
}

func typeSchemaOf(s *schema.Schema) typeSchema { return typeSchema{s.Version, blockSchemaOf(s.Block)} }

func blockSchemaOf(b *schema.Block) *blockSchema {
	if b == nil {
		return nil
	}
	return &blockSchema{
		Attributes: EachNamed(b.Attrs, attrSchemaOf),
		Blocks: EachNamed(b.Blocks, func(n *schema.Nested) (string, nestedSchema) {
			return n.Name, nestedSchema{n.Nesting.String(), blockSchemaOf(n.Block), n.Min, n.Max}
		}),
		described: describedAs(b.Description, b.Markdown), deprecated: deprecated{b.Deprecated, b.Deprecation},
	}
}

func describedAs(text string, markdown bool) described {
	if markdown {
		return described{text, "markdown"}
	}
	return described{text, "plain"}
}

func attrSchemaOf(a *schema.Attr) (string, attrSchema) {
	doc := attrSchema{
		described: describedAs(a.Description, a.Markdown), deprecated: deprecated{a.Deprecated, a.Deprecation},
		Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive, WriteOnly: a.WriteOnly,
	}
	if a.Object != nil {
		doc.Nested = &nestedType{EachNamed(a.Object.Attrs, attrSchemaOf), a.Object.Nesting.String()}
	} else {
		doc.Type = Type(a.Type)
	}
	return a.Name, doc
}

func identityOf(id *provider.Identity) identitySchema {
	return identitySchema{id.Version, EachNamed(id.Attrs, func(a provider.IdentityAttr) (string, identityAttr) {
		return a.Name, identityAttr{Type(a.Type), a.Description, a.Required, a.Optional}
	})}
}

func providerFunction(f *provider.Function) Function {
	parameter := func(p provider.Param) Parameter {
		return Parameter{p.Name, p.Description, p.AllowNull, Type(p.Type)}
	}
	return SignatureOf(Function{Description: f.Description, Summary: f.Summary, Deprecation: f.DeprecationMessage}, f.Return, f.Params, f.Variadic, parameter)
}

// SignatureOf adds the parameters, of type P, and the result type of a function to a document. variadic is the
// parameter for further arguments, or nil. parameter converts a parameter.
func SignatureOf[P any](doc Function, returns cty.Type, params []P, variadic *P, parameter func(P) Parameter) Function {
	doc.Returns = Type(returns)
	for _, p := range params {
		doc.Parameters = append(doc.Parameters, parameter(p))
	}
	if variadic != nil {
		doc.Variadic = new(parameter(*variadic))
	}
	return doc
}

// functionsDocument has the built-in functions, by plain name and by core:: name.
type functionsDocument struct {
	Format    string                      `json:"format_version"`
	Functions iter.Seq2[string, Function] `json:"function_signatures"`
}

// WriteFunctions writes the built-in functions in the form of `metadata functions -json`.
func WriteFunctions(w io.Writer) error {
	parameter := func(p funcs.Param) Parameter {
		return Parameter{p.Name, p.Doc, p.Nullable, Type(p.Type)}
	}
	return Write(w, functionsDocument{formatFunctions, func(yield func(string, Function) bool) {
		for _, prefix := range []string{"", "core::"} {
			for _, name := range funcs.Names() {
				sig, ok := funcs.SignatureOf(name)
				doc := Function{Description: sig.Doc}
				if ok && !yield(prefix+name, SignatureOf(doc, sig.Returns, sig.Params, sig.Variadic, parameter)) {
					return
				}
			}
		}
	}}, OneLine)
}

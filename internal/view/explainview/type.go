package explainview

import (
	"io"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/explain"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
	"github.com/zclconf/go-cty/cty"
)

// Type writes a text about a type of a provider, or about an attribute or block of the type. It returns the first error
// of w.
func Type(w io.Writer, t *explain.Type) error {
	p := &printer{w: w}
	p.line(0, strings.ToUpper(t.Kind()[:1])+t.Kind()[1:]+": "+t.Name)
	p.line(0, from(t.Provider, t.Version))
	if len(t.Others) > 0 {
		p.line(0, "See also: "+strings.Join(t.Others, ", "))
	}
	description, deprecation, deprecated := "", "", false
	switch {
	case t.Attr != nil:
		p.line(0, "Attribute: "+property(strings.Join(t.Path, "."), typeText(t.Attr), explain.Facts(t.Attr)))
		description, deprecation, deprecated = t.Attr.Description, t.Attr.Deprecation, t.Attr.Deprecated
	case t.Of != nil:
		p.line(0, "Block: "+property(strings.Join(t.Path, "."), blockText(t.Of), explain.BlockFacts(t.Of)))
		fallthrough
	default:
		description, deprecation, deprecated = t.Block.Description, t.Block.Deprecation, t.Block.Deprecated
	}
	if deprecated {
		p.line(0, "")
		p.paragraph(0, strings.TrimSuffix("Deprecated: "+deprecation, ": "))
	}
	if description != "" {
		p.line(0, "")
		p.paragraph(0, description)
	}
	attrs, blocks := t.Parts()
	p.attributes("Arguments", attrs, func(a *schema.Attr) bool { return a.Required || a.Optional })
	p.blocks(blocks)
	p.attributes("Computed attributes", attrs, func(a *schema.Attr) bool { return !a.Required && !a.Optional })
	if t.Attr == nil || t.Attr.Required || t.Attr.Optional {
		p.line(0, "")
		p.line(0, "Example:")
		p.line(0, "")
		p.paragraph(1, t.Example())
	}
	return p.err
}

// from returns the line that names a provider and its version.
func from(a addr.Provider, version string) string {
	text := "Provider: " + a.ForDisplay()
	if version != "" {
		text += " " + version
	}
	return text
}

func property(name, typ string, facts []string) string {
	return name + " <" + typ + "> " + strings.Join(facts, ", ")
}

// attributes writes the attributes for which want returns true, required attributes first, below the heading head. It
// writes no heading if head is "" or no attribute is wanted.
func (p *printer) attributes(head string, attrs []*schema.Attr, want func(*schema.Attr) bool) {
	for _, required := range []bool{true, false} {
		for _, a := range attrs {
			if !want(a) || a.Required != required {
				continue
			}
			if head != "" {
				p.line(0, "")
				p.line(0, head+":")
				head = ""
			}
			p.line(1, property(a.Name, typeText(a), explain.Facts(a)))
			if a.Deprecated && a.Deprecation != "" {
				p.paragraph(2, "Deprecated: "+a.Deprecation)
			}
			p.paragraph(2, a.Description)
		}
	}
}

func (p *printer) blocks(blocks []*schema.Nested) {
	for i, n := range blocks {
		if i == 0 {
			p.line(0, "")
			p.line(0, "Blocks:")
		}
		p.line(1, property(n.Name, blockText(n), explain.BlockFacts(n)))
		p.paragraph(2, n.Block.Description)
	}
}

// typeText returns the type of an attribute.
func typeText(a *schema.Attr) string {
	if a.Object != nil {
		switch a.Object.Nesting {
		case schema.List, schema.Set, schema.Map:
			return a.Object.Nesting.String() + " of objects"
		}
		return "object"
	}
	return Friendly(a.Type)
}

func blockText(n *schema.Nested) string {
	switch n.Nesting {
	case schema.List, schema.Set, schema.Map:
		return n.Nesting.String() + " of blocks"
	}
	return "block"
}

// Friendly returns a type in the notation of type constraints, but without the attributes of objects and the elements
// of tuples: object and tuple.
func Friendly(ty cty.Type) string {
	switch {
	case ty == cty.DynamicPseudoType:
		return "any"
	case ty.IsCollectionType():
		name := "list"
		if ty.IsSetType() {
			name = "set"
		}
		if ty.IsMapType() {
			name = "map"
		}
		return name + "(" + Friendly(ty.ElementType()) + ")"
	case ty.IsObjectType(), ty.IsTupleType():
		return strings.Fields(ty.FriendlyName())[0]
	case ty == cty.Bool:
		return "bool"
	}
	return ty.FriendlyName()
}

// Function writes a text about a function. It returns the first error of w.
func Function(w io.Writer, f *explain.Function) error {
	p := &printer{w: w}
	p.line(0, "Function: "+signature(f))
	p.line(0, from(f.Provider, f.Version))
	if f.DeprecationMessage != "" {
		p.line(0, "")
		p.paragraph(0, "Deprecated: "+f.DeprecationMessage)
	}
	for _, text := range []string{f.Summary, f.Description} {
		if text != "" {
			p.line(0, "")
			p.paragraph(0, text)
		}
	}
	params := f.Params
	if f.Variadic != nil {
		params = append(params[:len(params):len(params)], *f.Variadic)
	}
	for i, a := range params {
		if i == 0 {
			p.line(0, "")
			p.line(0, "Parameters:")
		}
		var facts []string
		if a.AllowNull {
			facts = append(facts, "may be null")
		}
		p.line(1, property(a.Name, Friendly(a.Type), facts))
		p.paragraph(2, a.Description)
	}
	return p.err
}

// signature returns a call of a function, with the types of its parameters.
func signature(f *explain.Function) string {
	var params []string
	for _, a := range f.Params {
		params = append(params, a.Name+" "+Friendly(a.Type))
	}
	if f.Variadic != nil {
		params = append(params, f.Variadic.Name+" "+Friendly(f.Variadic.Type)+"...")
	}
	return f.Name + "(" + strings.Join(params, ", ") + ") " + Friendly(f.Return)
}

type typeDocument struct {
	Format      string         `json:"format_version"`
	Kind        string         `json:"kind"`
	Type        string         `json:"type"`
	Path        []string       `json:"path,omitempty"`
	Provider    string         `json:"provider"`
	Version     string         `json:"provider_version,omitempty"`
	Others      []string       `json:"see_also,omitempty"`
	Itself      *partDocument  `json:"part,omitempty"`
	Description string         `json:"description,omitempty"`
	Deprecated  bool           `json:"deprecated"`
	Deprecation string         `json:"deprecation_message,omitempty"`
	Attributes  []partDocument `json:"attributes"`
	Blocks      []partDocument `json:"blocks"`
	Example     string         `json:"example"`
}

// partDocument is an attribute or a type of block.
type partDocument struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Nesting     string `json:"nesting,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
	Optional    bool   `json:"optional"`
	Computed    bool   `json:"computed"`
	Sensitive   bool   `json:"sensitive"`
	WriteOnly   bool   `json:"write_only"`
	Deprecated  bool   `json:"deprecated"`
	Deprecation string `json:"deprecation_message,omitempty"`
	Min         int    `json:"min_items,omitempty"`
	Max         int    `json:"max_items,omitempty"`
}

func attrDocument(a *schema.Attr) partDocument {
	d := partDocument{
		Name: a.Name, Type: typeText(a), Description: a.Description, Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive,
		WriteOnly: a.WriteOnly, Deprecated: a.Deprecated, Deprecation: a.Deprecation,
	}
	if a.Object != nil {
		d.Nesting = a.Object.Nesting.String()
	}
	return d
}

func blockDocument(n *schema.Nested) partDocument {
	return partDocument{
		Name: n.Name, Type: blockText(n), Nesting: n.Nesting.String(), Description: n.Block.Description, Required: n.Min > 0, Optional: n.Min == 0,
		Deprecated: n.Block.Deprecated, Deprecation: n.Block.Deprecation, Min: n.Min, Max: n.Max,
	}
}

// TypeJSON writes a type as one line of JSON, in the form of typeDocument, and returns the error of w.
func TypeJSON(w io.Writer, t *explain.Type) error {
	doc := typeDocument{
		Format: "1.0", Kind: t.Kind(), Type: t.Name, Path: t.Path, Provider: t.Provider.String(), Version: t.Version, Others: t.Others,
		Attributes: []partDocument{}, Blocks: []partDocument{}, Example: t.Example(),
	}
	if t.Block != nil {
		doc.Description, doc.Deprecated, doc.Deprecation = t.Block.Description, t.Block.Deprecated, t.Block.Deprecation
	}
	switch {
	case t.Attr != nil:
		d := attrDocument(t.Attr)
		doc.Itself, doc.Description, doc.Deprecated, doc.Deprecation = &d, d.Description, d.Deprecated, d.Deprecation
	case t.Of != nil:
		d := blockDocument(t.Of)
		doc.Itself = &d
	}
	attrs, blocks := t.Parts()
	for _, a := range attrs {
		doc.Attributes = append(doc.Attributes, attrDocument(a))
	}
	for _, n := range blocks {
		doc.Blocks = append(doc.Blocks, blockDocument(n))
	}
	return jsondoc.Write(w, doc, jsondoc.OneLine)
}

type functionDocument struct {
	Format      string              `json:"format_version"`
	Kind        string              `json:"kind"`
	Name        string              `json:"name"`
	Signature   string              `json:"signature"`
	Provider    string              `json:"provider"`
	Version     string              `json:"provider_version,omitempty"`
	Summary     string              `json:"summary,omitempty"`
	Description string              `json:"description,omitempty"`
	Deprecation string              `json:"deprecation_message,omitempty"`
	Parameters  []parameterDocument `json:"parameters"`
	Returns     string              `json:"return_type"`
}

type parameterDocument struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Null        bool   `json:"is_nullable"`
	Variadic    bool   `json:"is_variadic"`
	Description string `json:"description,omitempty"`
}

// FunctionJSON writes a function as one line of JSON, in the form of functionDocument, and returns the error of w.
func FunctionJSON(w io.Writer, f *explain.Function) error {
	doc := functionDocument{
		Format: "1.0", Kind: "function", Name: f.Name, Signature: signature(f), Provider: f.Provider.String(), Version: f.Version, Summary: f.Summary,
		Description: f.Description, Deprecation: f.DeprecationMessage, Parameters: []parameterDocument{}, Returns: Friendly(f.Return),
	}
	add := func(p provider.Param, variadic bool) {
		doc.Parameters = append(doc.Parameters, parameterDocument{p.Name, Friendly(p.Type), p.AllowNull, variadic, p.Description})
	}
	for _, p := range f.Params {
		add(p, false)
	}
	if f.Variadic != nil {
		add(*f.Variadic, true)
	}
	return jsondoc.Write(w, doc, jsondoc.OneLine)
}

package style

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/syntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Generation describes an object without configuration, for which Generate writes a block.
type Generation struct {
	Type, Name string
	ID         string        // the ID with which the object is imported, for the comment; "": the comment names no ID
	Provider   string        // the value of the argument provider (ProviderOf); "" if the type implies the provider
	Schema     *schema.Block // the schema of the resource type
	Value      cty.Value     // the object that the provider returned: a value of the schema, without marks
	// Omit reports whether an attribute or block is omitted, because the provider rejects it in combination with others.
	// The method Settle sets it. It may be nil.
	Omit func(cty.Path) bool
	// Exact is true if the block must have exactly the values of the object. Otherwise an argument with JSON becomes a call
	// of jsonencode even if it changes spaces and the order of keys.
	Exact bool
	// Refer returns an expression to write instead of a string, or "" to write the string. nil means that every string
	// is written.
	Refer func(text string) string
}

// Generate returns a resource block that describes an existing object, for a person to complete. Of the attributes, it
// omits:
//
//   - attributes that are only computed, and a computed attribute called id;
//   - optional computed attributes with an empty value, if the value may mean that they are not set;
//   - optional attributes that are null or deprecated;
//   - attributes for which Omit returns true.
//
// It writes null with a comment for values that it may not show or does not know: sensitive values, write-only
// arguments, and required arguments without a value. Strings with a JSON object or array become calls of jsonencode. In
// the elements of a value they do so only if the call returns the same text.
func Generate(g Generation) string {
	w := &writer{omit: g.Omit, refer: g.Refer, exact: g.Exact, zeros: zeros(g.Schema)}
	if g.ID != "" {
		w.line("# __generated__ by Lethe from %s", config.Quoted(g.ID))
	}
	w.line("resource %s %s {", config.Quoted(g.Type), config.Quoted(g.Name))
	if g.Provider != "" {
		w.line("provider = %s", g.Provider)
	}
	w.body(g.Schema, g.Value, nil)
	w.line("}")
	return string(hclwrite.Format([]byte(w.b.String())))
}

// ProviderOf returns the value of the argument provider of a generated block, such as aws.west or aws.by_region["eu"].
// It returns "" if name is the default configuration that the type implies, and key is NoKey.
func ProviderOf(typ string, name config.ProviderName, key addr.Key) string {
	switch {
	case key != addr.NoKey:
		return name.String() + key.String()
	case name.Alias == "" && name.Local == config.ImpliedProvider(typ):
		return ""
	}
	return name.String()
}

// Import returns an import block for an object with an identity. provider is the value of the argument provider; "" if
// the type implies the provider.
func Import(to addr.Resource, provider string, identity cty.Value) string {
	w := &writer{}
	w.line("import {")
	w.line("to = %s", to)
	if provider != "" {
		w.line("provider = %s", provider)
	}
	w.b.WriteString("identity = {\n")
	for it := identity.ElementIterator(); it.Next(); {
		if k, v := it.Element(); !v.IsNull() {
			w.b.WriteString(key(k.AsString()) + " = ")
			w.expression(&w.b, v)
			w.b.WriteString("\n")
		}
	}
	w.line("}\n}")
	return string(hclwrite.Format([]byte(w.b.String())))
}

// Settle sets g.Omit so that the block omits the arguments that a provider rejects. objections returns the rejected
// paths of a configuration. If some of them have empty values, only these are omitted at first: the others are then
// often accepted. Settle calls objections at most three times.
func (g *Generation) Settle(objections func(config cty.Value) []cty.Path) {
	var omitted []cty.Path
	g.Omit = func(path cty.Path) bool { return slices.ContainsFunc(omitted, path.Equals) }
	for range 3 { // empty values, then other rejected values, then values that are rejected without the others
		rejected := slices.DeleteFunc(objections(g.Config()), g.Omit)
		unneeded := slices.DeleteFunc(slices.Clone(rejected), func(p cty.Path) bool {
			v, err := p.Apply(g.Value)
			return err != nil || !empty(v)
		})
		if len(unneeded) > 0 {
			rejected = unneeded
		}
		if len(rejected) == 0 {
			return
		}
		omitted = append(omitted, rejected...)
	}
}

// Config returns the value of the generated block, so that the provider can validate it. Unlike the block, it contains
// sensitive values.
func (g Generation) Config() cty.Value {
	zeros := zeros(g.Schema)
	v, err := cty.Transform(g.Value, func(path cty.Path, v cty.Value) (cty.Value, error) {
		a := g.Schema.Attribute(path)
		if a == nil || a.Required {
			return v, nil
		}
		if last, ok := path[len(path)-1].(cty.GetAttrStep); !ok || last.Name != a.Name {
			return v, nil // the path leads into the value of an attribute, which stays unchanged
		}
		id := len(path) == 1 && a.Name == "id"
		if a.Computed && (!a.Optional || id || unset(a, v, zeros)) || a.Deprecated || a.WriteOnly || g.Omit != nil && g.Omit(path) {
			return cty.NullVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		panic(err) // the function for Transform returns no errors
	}
	return v
}

// writer writes a generated block. omit, refer and exact are the fields of Generation with these names.
type writer struct {
	b     strings.Builder
	omit  func(cty.Path) bool
	refer func(string) string
	exact bool
	zeros bool // optional computed arguments that are not set have zero values (see the function zeros)
}

// zeros reports whether the provider returns zero values for optional computed arguments that are not set. The SDK of
// older providers does so, and declares id as an optional computed argument.
func zeros(b *schema.Block) bool {
	return slices.ContainsFunc(b.Attrs, func(a *schema.Attr) bool { return a.Name == "id" && a.Optional && a.Computed })
}

// unset reports whether an argument is not set in the configuration of an object: its value is null, or it is an
// optional computed argument with an empty value. If zeros is true, an empty value counts for each such argument, and
// otherwise only for sensitive arguments, because nothing is known about an empty sensitive value.
func unset(a *schema.Attr, v cty.Value, zeros bool) bool {
	return v.IsNull() || a.Computed && (zeros || a.Sensitive) && empty(v)
}

func (w *writer) line(format string, a ...any) { fmt.Fprintf(&w.b, format+"\n", a...) }

func (w *writer) body(b *schema.Block, v cty.Value, at cty.Path) {
	for _, a := range b.Attrs {
		path := append(at[:len(at):len(at)], cty.GetAttrStep{Name: a.Name})
		if len(at) == 0 && a.Name == "id" && a.Optional && a.Computed {
			continue // older providers declare id as optional, but users cannot set it
		}
		if text, ok := w.attr(a, get(v, a.Name), path); ok {
			w.line("%s = %s", a.Name, text)
		}
	}
	for _, n := range b.Blocks {
		w.blocks(n, get(v, n.Name), append(at[:len(at):len(at)], cty.GetAttrStep{Name: n.Name}))
	}
}

// get returns an attribute of an object, and null if the object is null or unknown or does not have the attribute.
func get(v cty.Value, name string) cty.Value {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() || !v.Type().IsObjectType() || !v.Type().HasAttribute(name) {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return v.GetAttr(name)
}

// attr returns the text for the value of an attribute: null with a comment for a write-only, sensitive or unknown
// value, and for a required value that is null. It returns false if the block omits the attribute.
func (w *writer) attr(a *schema.Attr, v cty.Value, path cty.Path) (string, bool) {
	optional := a.Optional && !a.Required
	switch {
	case a.Computed && !optional && !a.Required, w.omit != nil && w.omit(path):
		return "", false
	case optional && a.Deprecated:
		return "", false
	case a.WriteOnly:
		return "null # write-only", true
	case a.Sensitive && (a.Required || !empty(v)):
		return "null # sensitive", true
	case optional && unset(a, v, w.zeros):
		return "", false
	case v.IsNull():
		return "null # required: set a value", true
	case !v.IsKnown():
		return "null # not known", true
	}
	var b strings.Builder
	if a.Object != nil {
		w.object(&b, a.Object, v, path)
	} else {
		w.expression(&b, v)
	}
	return b.String(), true
}

// empty reports whether a value is null, zero, false or an empty string or collection. Providers return such values for
// arguments that are not set.
func empty(v cty.Value) bool {
	switch {
	case v.IsNull():
		return true
	case !v.IsKnown():
		return false
	case v.Type() == cty.String:
		return v.AsString() == ""
	case v.Type() == cty.Number:
		return v.AsBigFloat().Sign() == 0
	case v.Type() == cty.Bool:
		return v.False()
	case v.CanIterateElements():
		return v.LengthInt() == 0
	}
	return false
}

// object writes a nested attribute.
func (w *writer) object(b *strings.Builder, o *schema.Object, v cty.Value, path cty.Path) {
	switch o.Nesting {
	case schema.List, schema.Set:
		b.WriteString("[")
		for k, e := range v.Elements() {
			b.WriteString("\n")
			w.fields(b, o, e, append(path[:len(path):len(path)], cty.IndexStep{Key: k}))
			b.WriteString(",")
		}
		b.WriteString("\n]")
	case schema.Map:
		b.WriteString("{\n")
		for k, e := range v.Elements() {
			b.WriteString(key(k.AsString()) + " = ")
			w.fields(b, o, e, append(path[:len(path):len(path)], cty.IndexStep{Key: k}))
			b.WriteString("\n")
		}
		b.WriteString("}")
	default:
		w.fields(b, o, v, path)
	}
}

func (w *writer) fields(b *strings.Builder, o *schema.Object, v cty.Value, path cty.Path) {
	if v.IsNull() {
		b.WriteString("null")
		return
	}
	b.WriteString("{\n")
	for _, a := range o.Attrs {
		if text, ok := w.attr(a, get(v, a.Name), append(path[:len(path):len(path)], cty.GetAttrStep{Name: a.Name})); ok {
			b.WriteString(key(a.Name) + " = " + text + "\n")
		}
	}
	b.WriteString("}")
}

// blocks writes the nested blocks of one type. It writes none if v is null or unknown, if the type is deprecated and
// not required, or if w.omit omits it.
func (w *writer) blocks(n *schema.Nested, v cty.Value, path cty.Path) {
	if v.IsNull() || !v.IsKnown() || n.Block.Deprecated && n.Min == 0 || w.omit != nil && w.omit(path) {
		return
	}
	if n.Nesting == schema.Single || n.Nesting == schema.Group {
		w.block(n, "", v, path, n.Nesting == schema.Single || n.Min > 0)
		return
	}
	for k, e := range v.Elements() {
		label := ""
		if n.Nesting == schema.Map {
			label = " " + config.Quoted(k.AsString())
		}
		w.block(n, label, e, append(path[:len(path):len(path)], cty.IndexStep{Key: k}), true)
	}
}

// block writes one nested block. It writes a block without content only if always is true.
func (w *writer) block(n *schema.Nested, label string, v cty.Value, path cty.Path, always bool) {
	inner := &writer{omit: w.omit, refer: w.refer, exact: w.exact, zeros: w.zeros}
	inner.body(n.Block, v, path)
	if text := inner.b.String(); text != "" || always {
		w.line("%s%s {\n%s}", n.Name, label, text)
	}
}

// key returns the text of a key of an object or map. An object that begins with the word "for" would be an expression,
// and a byte order mark does not belong to an identifier.
func key(s string) string {
	if hclsyntax.ValidIdentifier(s) && s != "for" && !strings.HasPrefix(s, "\ufeff") {
		return s
	}
	return config.Quoted(s)
}

// expression writes a value as an expression. An unknown value becomes null.
func (w *writer) expression(b *strings.Builder, v cty.Value) {
	switch t := v.Type(); {
	case v.IsNull() || !v.IsKnown():
		b.WriteString("null")
	case t == cty.String:
		w.stringExpression(b, v.AsString())
	case t.IsObjectType() || t.IsMapType():
		w.elements().mapExpression(b, v)
	case v.CanIterateElements():
		w.elements().listExpression(b, v)
	default:
		b.Write(hclwrite.TokensForValue(v).Bytes())
	}
}

// elements returns a writer for the elements of a value, in which exact is true: only for whole arguments do providers
// ignore changes of spaces in JSON.
func (w *writer) elements() *writer {
	return &writer{omit: w.omit, refer: w.refer, exact: true, zeros: w.zeros}
}

func (w *writer) mapExpression(b *strings.Builder, v cty.Value) {
	if v.LengthInt() == 0 {
		b.WriteString("{}")
		return
	}
	b.WriteString("{\n")
	for k, e := range v.Elements() {
		b.WriteString(key(k.AsString()) + " = ")
		w.expression(b, e)
		b.WriteString("\n")
	}
	b.WriteString("}")
}

// listExpression writes a list on one line, or with one line for each element if an element is a collection.
func (w *writer) listExpression(b *strings.Builder, v cty.Value) {
	before, between, after := "", ", ", ""
	for _, e := range v.Elements() {
		if !e.IsNull() && e.IsKnown() && e.CanIterateElements() {
			before, between, after = "\n", ",\n", ",\n"
		}
	}
	b.WriteString("[" + before)
	first := true
	for _, e := range v.Elements() {
		if !first {
			b.WriteString(between)
		}
		w.expression(b, e)
		first = false
	}
	if !first {
		b.WriteString(after)
	}
	b.WriteString("]")
}

// stringExpression writes a string: the reference that refer returns for it, a call of jsonencode if the string is a
// JSON object or array, or otherwise a quoted string. If exact is set, it uses jsonencode only if the call returns s.
func (w *writer) stringExpression(b *strings.Builder, s string) {
	if w.refer != nil {
		if ref := w.refer(s); ref != "" {
			b.WriteString(ref)
			return
		}
	}
	if text := strings.TrimSpace(s); strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		if v, ok := fromJSON(text); ok && (!w.exact || encodes(v, s)) {
			b.WriteString("jsonencode(")
			w.expression(b, v)
			b.WriteString(")")
			return
		}
	}
	b.WriteString(config.Quoted(s))
}

// encodes reports whether jsonencode of v returns exactly text.
func encodes(v cty.Value, text string) bool {
	got, err := stdlib.JSONEncode(v)
	return err == nil && got.AsString() == text
}

func fromJSON(text string) (cty.Value, bool) {
	if p := syntax.CheckJSON([]byte(text), limits.Limits{}.Filled()); p.Kind != syntax.None {
		return cty.NilVal, false
	}
	var v ctyjson.SimpleJSONValue
	err := v.UnmarshalJSON([]byte(text))
	return v.Value, err == nil
}

package funcs

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// typeOf is the console's function type. Its result is no value of the language, so that it can be shown
// but not used: TypeText gives its text.
var typeOf = &builtin{
	name: "type", doc: "Shows the type of a value.",
	params:  []param{{name: "value", typ: cty.DynamicPseudoType, doc: "The value.", mode: anything}},
	returns: cty.DynamicPseudoType,
	run: func(c *call) (cty.Value, error) {
		var b strings.Builder
		writeType(&b, c.args[0].Type(), 0)
		text := b.String()
		return cty.CapsuleVal(typeText, &text), nil
	},
}

var typeText = cty.Capsule("type", reflect.TypeFor[string]())

// TypeText is what to print for a result of the function type; false for any other value.
func TypeText(v cty.Value) (string, bool) {
	if v == cty.NilVal || v.Type() != typeText || v.IsNull() || !v.IsKnown() {
		return "", false
	}
	return *v.EncapsulatedValue().(*string), true
}

// writeType writes a type the way it is written in configuration, one part of a structure to a line.
func writeType(b *strings.Builder, ty cty.Type, depth int) {
	switch {
	case ty.IsTupleType():
		if ty.Length() == 0 {
			b.WriteString("tuple([])")
			return
		}
		b.WriteString("tuple([\n")
		for _, ety := range ty.TupleElementTypes() {
			margin(b, depth+1)
			writeType(b, ety, depth+1)
			b.WriteString(",\n")
		}
		margin(b, depth)
		b.WriteString("])")
	case ty.IsObjectType():
		writeObjectType(b, ty, depth)
	case ty.IsCollectionType():
		writeCollectionType(b, ty, depth)
	default:
		b.WriteString(ty.FriendlyName())
	}
}

func writeObjectType(b *strings.Builder, ty cty.Type, depth int) {
	attrs := ty.AttributeTypes()
	if len(attrs) == 0 {
		b.WriteString("object({})")
		return
	}
	b.WriteString("object({\n")
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		margin(b, depth+1)
		b.WriteString(name + ": ")
		writeType(b, attrs[name], depth+1)
		b.WriteString(",\n")
	}
	margin(b, depth)
	b.WriteString("})")
}

// writeCollectionType puts an element type that takes several lines on lines of its own.
func writeCollectionType(b *strings.Builder, ty cty.Type, depth int) {
	kind := "map"
	switch {
	case ty.IsListType():
		kind = "list"
	case ty.IsSetType():
		kind = "set"
	}
	ety := ty.ElementType()
	b.WriteString(kind + "(")
	if ety.IsPrimitiveType() || ety.IsCollectionType() || ety == cty.DynamicPseudoType {
		writeType(b, ety, depth)
		b.WriteString(")")
		return
	}
	b.WriteString("\n")
	margin(b, depth+1)
	writeType(b, ety, depth+1)
	b.WriteString(",\n")
	margin(b, depth)
	b.WriteString(")")
}

func margin(b *strings.Builder, depth int) {
	b.WriteString(strings.Repeat("    ", depth))
}

package funcs

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// typeOf is the function type of the console. Its result is not a value of the language, so a call cannot be used
// inside another expression. TypeText returns the text of the result.
var typeOf = &builtin{
	name: "type", doc: "Shows the type of a value.",
	params:  []param{{name: "value", typ: cty.DynamicPseudoType, doc: "The value.", mode: anything}},
	returns: cty.DynamicPseudoType,
	run: func(c *call) (cty.Value, error) {
		ty := c.args[0].Type()
		return cty.CapsuleVal(typeText, &ty), nil
	},
}

var typeText = cty.Capsule("type", reflect.TypeFor[cty.Type]())

// TypeText returns the text of v, a known result of the function type. It returns false for any other value. It hides
// the attribute names for which hidden returns true.
func TypeText(v cty.Value, hidden func(name string) bool) (string, bool) {
	if v == cty.NilVal || v.Type() != typeText || v.IsNull() || !v.IsKnown() {
		return "", false
	}
	t := typeWriter{hidden: hidden}
	t.write(*v.EncapsulatedValue().(*cty.Type), 0)
	return t.String(), true
}

// typeWriter writes types in the syntax of the configuration, with each attribute or element on a separate line.
type typeWriter struct {
	strings.Builder
	hidden func(name string) bool // reports whether the name of an attribute must be hidden
}

func (b *typeWriter) write(ty cty.Type, depth int) {
	switch {
	case ty.IsTupleType():
		if ty.Length() == 0 {
			b.WriteString("tuple([])")
			return
		}
		b.WriteString("tuple([\n")
		for _, ety := range ty.TupleElementTypes() {
			b.margin(depth + 1)
			b.write(ety, depth+1)
			b.WriteString(",\n")
		}
		b.margin(depth)
		b.WriteString("])")
	case ty.IsObjectType():
		b.object(ty, depth)
	case ty.IsCollectionType():
		b.collection(ty, depth)
	default:
		b.WriteString(ty.FriendlyName())
	}
}

func (b *typeWriter) object(ty cty.Type, depth int) {
	attrs := ty.AttributeTypes()
	if len(attrs) == 0 {
		b.WriteString("object({})")
		return
	}
	b.WriteString("object({\n")
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		b.margin(depth + 1)
		shown := name
		if b.hidden(name) {
			shown = mark.Ephemeral.Mask()
		}
		b.WriteString(shown + ": ")
		b.write(attrs[name], depth+1)
		b.WriteString(",\n")
	}
	b.margin(depth)
	b.WriteString("})")
}

// collection writes a list, set or map type. If the element type takes several lines, it is on separate lines. depth is
// the number of indentation steps.
func (b *typeWriter) collection(ty cty.Type, depth int) {
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
		b.write(ety, depth)
		b.WriteString(")")
		return
	}
	b.WriteString("\n")
	b.margin(depth + 1)
	b.write(ety, depth+1)
	b.WriteString(",\n")
	b.margin(depth)
	b.WriteString(")")
}

func (b *typeWriter) margin(depth int) {
	b.WriteString(strings.Repeat("    ", depth))
}

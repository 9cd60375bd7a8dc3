// Package converttest draws random types and values.
package converttest

import (
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"pgregory.net/rapid"
)

// Type draws type constraints, which may contain optional attributes and dynamic types. depth is the maximum nesting
// depth: at 0, Type draws only primitive and dynamic types.
func Type(depth int) *rapid.Generator[cty.Type] {
	return rapid.Custom(func(t *rapid.T) cty.Type {
		kinds := 4
		if depth > 0 {
			kinds = 9
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return cty.String
		case 1:
			return cty.Number
		case 2:
			return cty.Bool
		case 3:
			return cty.DynamicPseudoType
		case 4:
			return cty.List(Type(depth-1).Draw(t, "element"))
		case 5:
			return cty.Set(Type(depth-1).Draw(t, "element"))
		case 6:
			return cty.Map(Type(depth-1).Draw(t, "element"))
		case 7:
			return cty.Tuple(rapid.SliceOfN(Type(depth-1), 0, 3).Draw(t, "elements"))
		}
		attrs := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), Type(depth-1), 0, 3).Draw(t, "attributes")
		var optional []string
		for _, name := range []string{"a", "b", "c"} {
			if _, ok := attrs[name]; ok && rapid.IntRange(0, 3).Draw(t, "optional") == 0 {
				optional = append(optional, name)
			}
		}
		return cty.ObjectWithOptionalAttrs(attrs, optional)
	})
}

// Known draws values as they occur in configurations: null, primitive values, tuples, objects, and collections that
// were converted from tuples and objects. The values contain neither unknown parts nor marks. depth is the maximum
// depth of nested collections, tuples and objects.
func Known(depth int) *rapid.Generator[cty.Value] {
	return rapid.Custom(func(t *rapid.T) cty.Value { return drawValue(t, depth, false) })
}

// Value draws values like Known, which may also contain typed nulls, unknown values and the mark sensitive, at any
// depth. It does not draw ephemeral values. depth is the maximum depth of nested collections, tuples and objects.
func Value(depth int) *rapid.Generator[cty.Value] {
	return rapid.Custom(func(t *rapid.T) cty.Value { return drawValue(t, depth, true) })
}

// drawValue draws a value. If rich is true, the value may contain typed nulls, unknown values and sensitive marks.
func drawValue(t *rapid.T, depth int, rich bool) cty.Value {
	kinds := 4
	if depth > 0 {
		kinds = 8
	}
	v := cty.NullVal(cty.DynamicPseudoType)
	switch kind := rapid.IntRange(0, kinds-1).Draw(t, "kind"); kind {
	case 0:
		v = cty.StringVal(rapid.SampledFrom([]string{"", "a", "1", "true", "ä"}).Draw(t, "string"))
	case 1:
		v = rapid.SampledFrom(someNumbers).Draw(t, "number")
	case 2:
		v = cty.BoolVal(rapid.Bool().Draw(t, "bool"))
	case 3:
		if rich {
			v = drawOdd(t)
		}
	default:
		v = drawStructure(t, depth, rich, kind)
	}
	if rich && rapid.IntRange(0, 9).Draw(t, "mark") == 0 {
		v = mark.With(v, mark.Sensitive, nil)
	}
	return v
}

// someNumbers contains numbers that are equal despite different precision, and numbers that differ despite equal first
// digits.
var someNumbers = []cty.Value{
	cty.Zero, cty.NumberIntVal(1), cty.NumberIntVal(-1), cty.NumberFloatVal(1.5), cty.MustParseNumberVal("1.5"), cty.NumberFloatVal(0.1),
	cty.MustParseNumberVal("0.1"), cty.MustParseNumberVal("1").Divide(cty.MustParseNumberVal("3")), cty.NumberFloatVal(1e20), cty.MustParseNumberVal("1e20"),
	cty.NumberIntVal(12345678901), cty.NumberIntVal(12345678902), cty.Zero.Negate(), cty.MustParseNumberVal("12345678901.000000000000001"),
}

// drawOdd draws a null or an unknown value of a type.
func drawOdd(t *rapid.T) cty.Value {
	ty := Type(1).Draw(t, "type").WithoutOptionalAttributesDeep()
	if rapid.Bool().Draw(t, "null") {
		return cty.NullVal(ty)
	}
	return cty.UnknownVal(ty)
}

// drawStructure draws an object for kind 4, a map for kind 5, and otherwise a tuple, a list or a set. If the elements
// have no common type, the result is an object instead of a map, and a tuple instead of a list or a set.
func drawStructure(t *rapid.T, depth int, rich bool, kind int) cty.Value {
	n := rapid.IntRange(0, 3).Draw(t, "length")
	vals := make([]cty.Value, n)
	for i := range vals {
		vals[i] = drawValue(t, depth-1, rich)
	}
	if kind == 4 || kind == 5 {
		attrs := map[string]cty.Value{}
		for i, v := range vals {
			attrs[string(rune('a'+i))] = v
		}
		obj := cty.ObjectVal(attrs)
		if m, err := convert.Convert(obj, cty.Map(cty.DynamicPseudoType)); err == nil && kind == 5 {
			return m
		}
		return obj
	}
	tuple := cty.TupleVal(vals)
	want := rapid.SampledFrom([]cty.Type{cty.DynamicPseudoType, cty.List(cty.DynamicPseudoType), cty.Set(cty.DynamicPseudoType)}).Draw(t, "as")
	if v, err := convert.Convert(tuple, want); err == nil {
		return v
	}
	return tuple
}

package funcs

import (
	"fmt"
	"testing"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"pgregory.net/rapid"
)

// Whatever is converted here in linear work comes out as cty's own conversion has it.
func TestConvertIsThatOfCty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genValue(3).Draw(t, "value")
		want := genType(3).Draw(t, "want")
		got, err := Convert(v, want)
		expect, expectErr := byCty(v, want)
		if (err == nil) != (expectErr == nil) {
			t.Fatalf("%#v to %#v:\n got  %#v, %v\n want %#v, %v", v, want, got, err, expect, expectErr)
		}
		if err == nil && !(got.RawEquals(expect) || losesMarks(got, expect)) {
			t.Fatalf("%#v to %#v:\n got  %#v\n want %#v", v, want, got, expect)
		}
	})
}

// losesMarks: cty makes nulls in collections anew, without the marks they had. We keep them.
func losesMarks(ours, theirs cty.Value) bool {
	a, b := mark.Split(ours), mark.Split(theirs)
	return a.Raw.RawEquals(b.Raw) && len(a.Marks) > len(b.Marks)
}

// The path for many types is the one that must agree with cty's, so it is taken for few here.
func TestUnifyIsThatOfCty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := rapid.SliceOfN(rapid.Map(genValue(3), cty.Value.Type), 1, 5).Draw(t, "types")
		expect, _ := convert.UnifyUnsafe(types)
		if got := Unify(types); got != cty.NilType && expect != cty.NilType && !got.Equals(expect) || (got == cty.NilType) != (expect == cty.NilType) {
			t.Fatalf("Unify %#v:\n got  %#v\n want %#v", types, got, expect)
		}
		ds := distinct(types).types
		if len(ds) == 1 {
			return
		}
		if got := unifyMany(ds); got != cty.NilType && expect != cty.NilType && !got.Equals(expect) || (got == cty.NilType) != (expect == cty.NilType) {
			t.Fatalf("unifyMany %#v:\n got  %#v\n want %#v", ds, got, expect)
		}
	})
}

func TestDistinctTypes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := rapid.SliceOfN(genType(2), 0, 60).Draw(t, "types")
		ks := distinct(types)
		for i, ty := range types {
			if !ks.types[ks.of[i]].Equals(ty) {
				t.Fatalf("%#v counted as %#v", ty, ks.types[ks.of[i]])
			}
		}
		for i, a := range ks.types {
			for _, b := range ks.types[:i] {
				if a.Equals(b) {
					t.Fatalf("%#v twice", a)
				}
			}
		}
	})
}

// Two values of one type have one key if and only if they are equal.
func TestKeysOfValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := genKnown(3).Draw(t, "a")
		b, err := convert.Convert(genKnown(3).Draw(t, "b"), a.Type())
		if err != nil || !b.Type().Equals(a.Type()) {
			return
		}
		equal := a.Equals(b).True()
		if got := string(appendKey(nil, a)) == string(appendKey(nil, b)); got != equal {
			t.Fatalf("%#v and %#v: equal %v, keys equal %v", a, b, equal, got)
		}
	})
}

func genType(depth int) *rapid.Generator[cty.Type] {
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
			return cty.List(genType(depth-1).Draw(t, "element"))
		case 5:
			return cty.Set(genType(depth-1).Draw(t, "element"))
		case 6:
			return cty.Map(genType(depth-1).Draw(t, "element"))
		case 7:
			return cty.Tuple(rapid.SliceOfN(genType(depth-1), 0, 3).Draw(t, "elements"))
		}
		attrs := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), genType(depth-1), 0, 3).Draw(t, "attributes")
		var optional []string
		for _, name := range []string{"a", "b", "c"} {
			if _, ok := attrs[name]; ok && rapid.IntRange(0, 3).Draw(t, "optional") == 0 {
				optional = append(optional, name)
			}
		}
		return cty.ObjectWithOptionalAttrs(attrs, optional)
	})
}

// genKnown makes values as configurations have them: of tuples, objects and what comes of converting
// them.
func genKnown(depth int) *rapid.Generator[cty.Value] {
	return rapid.Custom(func(t *rapid.T) cty.Value { return drawValue(t, depth, false) })
}

// genValue makes values with nulls, unknown parts and marks in them.
func genValue(depth int) *rapid.Generator[cty.Value] {
	return rapid.Custom(func(t *rapid.T) cty.Value { return drawValue(t, depth, true) })
}

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

// someNumbers are equal in spite of different precision, or different in spite of the same first digits.
var someNumbers = []cty.Value{
	cty.Zero, cty.NumberIntVal(1), cty.NumberIntVal(-1), cty.NumberFloatVal(1.5), cty.MustParseNumberVal("1.5"), cty.NumberFloatVal(0.1),
	cty.MustParseNumberVal("0.1"), cty.MustParseNumberVal("1").Divide(cty.MustParseNumberVal("3")), cty.NumberFloatVal(1e20), cty.MustParseNumberVal("1e20"),
	cty.NumberIntVal(12345678901), cty.NumberIntVal(12345678902), cty.Zero.Negate(), cty.MustParseNumberVal("12345678901.000000000000001"),
}

func drawOdd(t *rapid.T) cty.Value {
	ty := genType(1).Draw(t, "type").WithoutOptionalAttributesDeep()
	if rapid.Bool().Draw(t, "null") {
		return cty.NullVal(ty)
	}
	return cty.UnknownVal(ty)
}

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

func TestConvertRefusesLongNumbers(t *testing.T) {
	huge := cty.MustParseNumberVal("1e600000000")
	for _, c := range []struct {
		v    cty.Value
		want cty.Type
	}{
		{huge, cty.String},
		{cty.NumberVal(huge.AsBigFloat().Neg(huge.AsBigFloat())), cty.String},
		{cty.MustParseNumberVal("1e-600000000"), cty.String},
		{cty.TupleVal([]cty.Value{huge}), cty.List(cty.String)},
		{cty.ObjectVal(map[string]cty.Value{"a": huge}), cty.Map(cty.String)},
	} {
		if v, err := Convert(c.v, c.want); err == nil {
			t.Errorf("%s: no error", fmt.Sprint(v.Type().FriendlyName()))
		}
	}
}

// Messages are those of cty, except where a type leaves something open.
func TestConvertErrors(t *testing.T) {
	for _, c := range []struct {
		v    cty.Value
		want cty.Type
		text string
	}{
		{cty.StringVal("x"), cty.Number, "a number is required"},
		{cty.EmptyTupleVal, cty.String, "string required, but have tuple"},
		{cty.StringVal("x"), anyList, "list of any single type required, but have string"},
		{cty.TupleVal([]cty.Value{cty.True, cty.Zero}), anyList, "all list elements must have the same type"},
		{cty.TupleVal([]cty.Value{cty.True, cty.EmptyObjectVal}), cty.List(cty.Bool), "element 1: bool required, but have object"},
		{cty.EmptyObjectVal, cty.Object(map[string]cty.Type{"a": cty.Bool}), `attribute "a" is required`},
	} {
		_, err := Convert(c.v, c.want)
		if err == nil || err.Error() != c.text {
			t.Errorf("%#v to %s: %v, want %s", c.v, c.want.FriendlyName(), err, c.text)
		}
	}
}

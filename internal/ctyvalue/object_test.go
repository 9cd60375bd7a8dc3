package ctyvalue_test

import (
	"reflect"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/convert/converttest"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// TestObjectBuilder checks that a builder returns the same object as cty, regardless of the objects that it made
// before.
func TestObjectBuilder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var one ctyvalue.ObjectBuilder
		var many ctyvalue.ObjectBuilders
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "é", "e\u0301", ""}), 0, 4)
		value := rapid.OneOf(converttest.Value(2), rapid.SampledFrom([]cty.Value{
			cty.StringVal("x"), cty.StringVal("y").Mark("m"), cty.NullVal(cty.String), cty.UnknownVal(cty.String), cty.DynamicVal,
			cty.NullVal(cty.DynamicPseudoType), cty.EmptyObjectVal, object(1), object(2),
		}))
		row := names.Draw(t, "names")
		for range 12 {
			if rapid.IntRange(0, 2).Draw(t, "others") == 0 {
				row = names.Draw(t, "names")
			}
			vals := make([]cty.Value, len(row))
			for i := range vals {
				vals[i] = value.Draw(t, "value")
			}
			attrs := map[string]cty.Value{}
			for i, name := range row {
				attrs[cty.NormalizeString(name)] = vals[i]
			}
			want := cty.ObjectVal(attrs)
			for _, got := range []cty.Value{one.Object(row, vals), many.Object(row, vals)} {
				if !got.RawEquals(want) || !got.Type().Equals(want.Type()) || !reflect.DeepEqual(got, want) {
					t.Fatalf("%q of %#v: %#v, not %#v", row, vals, got, want)
				}
			}
		}
	})
}

// TestObjectBuilderShares checks that equal objects share a type, even if other objects are made between them.
func TestObjectBuilderShares(t *testing.T) {
	var one ctyvalue.ObjectBuilder
	var many ctyvalue.ObjectBuilders
	names := []string{"id", "tags"}
	var made []cty.Value
	for i := range 10 {
		vals := []cty.Value{cty.NumberIntVal(int64(i)), object(i)}
		made = append(made, one.Object(names, vals), many.Object(names, vals))
		many.Object(names[:1], vals[:1])
	}
	if n := types(made); n != 2 {
		t.Errorf("%d types", n)
	}
}

func TestObjectBuilderAtOnce(t *testing.T) {
	var m ctyvalue.ObjectBuilder
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			v := []cty.Value{cty.StringVal("x"), cty.NumberIntVal(int64(i))}[i%2]
			for range 100 {
				got := m.Object([]string{"a"}, []cty.Value{v})
				if !got.GetAttr("a").RawEquals(v) || got.Type().AttributeType("a") != v.Type() {
					t.Errorf("%#v is not of %#v", got, v)
				}
			}
		})
	}
	wg.Wait()
}

// object returns an object with a new type. The types of all results are equal.
func object(i int) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"a": cty.NumberIntVal(int64(i)), "b": cty.StringVal("x")})
}

// types counts the object types that are not identical in memory.
func types(vals []cty.Value) int {
	seen := map[uintptr]bool{}
	for _, v := range vals {
		seen[reflect.ValueOf(v.Type().AttributeTypes()).Pointer()] = true
	}
	return len(seen)
}

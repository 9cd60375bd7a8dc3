package funcs

import (
	"reflect"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// Whatever objects a mould had to make before, the next is what cty makes.
func TestMould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var one Mould
		var many moulds
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "é", "e\u0301", ""}), 0, 4)
		value := rapid.OneOf(genValue(2), rapid.SampledFrom([]cty.Value{
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
			want := objectVal(row, vals)
			for _, got := range []cty.Value{one.Object(row, vals), many.object(row, vals)} {
				if !got.RawEquals(want) || !got.Type().Equals(want.Type()) || !reflect.DeepEqual(got, want) {
					t.Fatalf("%q of %#v: %#v, not %#v", row, vals, got, want)
				}
			}
		}
	})
}

// Objects that come one after the other have one type, also where others come in between.
func TestMouldShares(t *testing.T) {
	var one Mould
	var many moulds
	names := []string{"id", "tags"}
	var made []cty.Value
	for i := range 10 {
		vals := []cty.Value{cty.NumberIntVal(int64(i)), object(i)}
		made = append(made, one.Object(names, vals), many.object(names, vals))
		many.object(names[:1], vals[:1])
	}
	if n := types(made); n != 2 {
		t.Errorf("%d types", n)
	}
}

func TestMouldAtOnce(t *testing.T) {
	var m Mould
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

package ctyvalue_test

import (
	"slices"
	"testing"

	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/convert/converttest"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// bothWays runs a test twice: with direct access to values, and with cty's methods.
func bothWays(t *testing.T, test func(t *testing.T)) {
	if !ctyvalue.Direct {
		t.Error("this version of cty lays values out in another way: the package does nothing any more")
	}
	t.Run("direct", test)
	defer func(was bool) { ctyvalue.Direct = was }(ctyvalue.Direct)
	ctyvalue.Direct = false
	t.Run("methods", test)
}

// TestElements compares the elements and their order with cty. jsonencode of a set depends on the order.
func TestElements(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			v := converttest.Value(3).Draw(t, "value")
			if set, err := convert.To(v, cty.Set(cty.DynamicPseudoType)); err == nil && rapid.Bool().Draw(t, "set") {
				v = set
			}
			if v.IsMarked() || !v.IsKnown() || v.IsNull() || !v.CanIterateElements() {
				return
			}
			var keys, want []cty.Value
			for it := v.ElementIterator(); it.Next(); {
				k, e := it.Element()
				keys, want = append(keys, k), append(want, e)
			}
			sameValues(t, ctyvalue.Elements(v), want)
			if ty := v.Type(); ty.IsMapType() || ty.IsObjectType() {
				for i, k := range keys {
					if e, ok := ctyvalue.Attribute(v, k.AsString()); ok != ty.IsObjectType() || ok && !e.RawEquals(want[i]) {
						t.Fatalf("%#v has %#v at %#v", v, e, k)
					}
				}
			}
			some := slices.Collect(ctyvalue.Unordered(v))
			for _, e := range want {
				i := slices.IndexFunc(some, e.RawEquals)
				if i < 0 {
					t.Fatalf("%#v is not in %#v", e, some)
				}
				some = slices.Delete(some, i, i+1)
			}
			if len(some) > 0 {
				t.Fatalf("too many: %#v", some)
			}
		})
	})
}

func sameValues(t rapid.TB, got, want []cty.Value) {
	if !slices.EqualFunc(got, want, cty.Value.RawEquals) {
		t.Fatalf("got  %#v\nwant %#v", got, want)
	}
}

func TestSets(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			v, err := convert.To(cty.TupleVal(rapid.SliceOfN(converttest.Value(2), 1, 12).Draw(t, "elements")), cty.Set(cty.DynamicPseudoType))
			if err != nil || v.IsMarked() {
				return
			}
			if ctyvalue.SetOpen(v) != !v.IsWhollyKnown() {
				t.Fatalf("SetOpen(%#v)", v)
			}
			if ctyvalue.Sized(v) != v.Length().IsKnown() {
				t.Fatalf("Sized(%#v)", v)
			}
			for _, e := range v.AsValueSlice() {
				if e.IsWhollyKnown() && !ctyvalue.SetHas(v, e) {
					t.Fatalf("%#v does not have %#v", v, e)
				}
			}
			other := converttest.Known(1).Draw(t, "other")
			if v.IsWhollyKnown() && other.Type().Equals(v.Type().ElementType()) && ctyvalue.SetHas(v, other) != v.HasElement(other).True() {
				t.Fatalf("%#v has %#v", v, other)
			}
		})
	})
}

func TestTextsAndNumbers(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		for _, s := range []string{"", "plain", "e\u0301", "\u4e16"} {
			v := ctyvalue.String(s)
			list := cty.TupleVal([]cty.Value{cty.StringVal("before"), v})
			if at, all := ctyvalue.FindText(list, v.AsString()); !v.RawEquals(cty.StringVal(s)) || all != ctyvalue.Direct || all && at != 1 {
				t.Errorf("%q is %#v, at %d", s, v, at)
			}
		}
		for _, v := range []cty.Value{cty.Zero, cty.NullVal(cty.String), cty.UnknownVal(cty.String), cty.StringVal("x").Mark("m"), cty.EmptyTupleVal} {
			if _, all := ctyvalue.FindText(cty.TupleVal([]cty.Value{cty.StringVal("x"), v}), "x"); all {
				t.Errorf("%#v is text", v)
			}
		}
		if n := cty.NumberFloatVal(1.5); ctyvalue.Number(n).Cmp(n.AsBigFloat()) != 0 {
			t.Error("another number")
		}
	})
}

package funcs

import (
	"math/big"
	"slices"
	"testing"

	yaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	"pgregory.net/rapid"
)

// What is taken from where cty keeps it is what cty gives.
func TestPayloads(t *testing.T) {
	if !layout.ok || !layout.hashes {
		t.Fatal("package cty keeps its values elsewhere now: see findLayout")
	}
	rapid.Check(t, func(t *rapid.T) {
		v := genValue(3).Draw(t, "value")
		if v.IsMarked() || !v.IsKnown() || v.IsNull() || !v.CanIterateElements() {
			return
		}
		var want []cty.Value
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			want = append(want, e)
		}
		if raw, ok := inRow(v); ok {
			sameValues(t, elementsInRow(v.Type(), raw), want)
		}
		if raw, ok := byName(v); ok {
			sameValues(t, elementsByName(v.Type(), raw), want)
		}
		some := slices.Collect(Elements(v))
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
}

func sameValues(t rapid.TB, got, want []cty.Value) {
	if !slices.EqualFunc(got, want, cty.Value.RawEquals) {
		t.Fatalf("got  %#v\nwant %#v", got, want)
	}
}

func TestSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := genValue(3).Draw(t, "a")
		b := rapid.OneOf(rapid.Just(a), genValue(3)).Draw(t, "b")
		if rapid.Bool().Draw(t, "tuples") {
			row := rapid.SliceOfN(genValue(1), 0, 3)
			a, b = cty.TupleVal(row.Draw(t, "a")), cty.TupleVal(row.Draw(t, "b"))
		} else if converted, err := Convert(b, a.Type()); err == nil {
			b = converted
		}
		same, sure := Same(a, b)
		if !sure {
			return
		}
		if want := a.Equals(b); !want.RawEquals(cty.BoolVal(same)) {
			t.Fatalf("%#v and %#v: %t, not %#v", a, b, same, want)
		}
	})
}

func TestFind(t *testing.T) {
	s := &scope{limits: Limits{MaxElements: 100, MaxBytes: 100}}
	texts := rapid.Map(rapid.SampledFrom([]string{"", "a", "b", "1"}), cty.StringVal)
	numbers := rapid.Map(rapid.Int64Range(-2, 2), cty.NumberIntVal)
	rapid.Check(t, func(t *rapid.T) {
		elem := rapid.SampledFrom([]*rapid.Generator[cty.Value]{texts, numbers, rapid.OneOf(texts, numbers, genValue(1))}).Draw(t, "kind")
		vals := rapid.SliceOfN(elem, 0, 6).Draw(t, "elements")
		v := elem.Draw(t, "value")
		at, sure := s.find(cty.TupleVal(vals), v)
		if !sure {
			return
		}
		want := slices.IndexFunc(vals, func(e cty.Value) bool { return e.Type().Equals(v.Type()) && e.Equals(v).True() })
		if at != want {
			t.Fatalf("%#v in %#v: %d, not %d", v, vals, at, want)
		}
	})
}

func TestSetVal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a", "b"})), 1, 20).Draw(t, "texts")
		vals := make([]cty.Value, len(texts))
		for i, text := range texts {
			vals[i] = cty.StringVal(text)
		}
		got, want := SetVal(vals), cty.SetVal(vals)
		if !got.RawEquals(want) || got.LengthInt() != want.LengthInt() || !got.HasElement(vals[0]).True() {
			t.Fatalf("got  %#v\nwant %#v", got, want)
		}
		sameValues(t, got.AsValueSlice(), want.AsValueSlice())
	})
}

func TestSumWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(
			rapid.Map(rapid.Int64(), cty.NumberIntVal),
			rapid.Map(rapid.Int64Range(-5, 5), cty.NumberIntVal),
			rapid.Map(rapid.Float64(), cty.NumberFloatVal),
			rapid.Map(rapid.SampledFrom([]string{"1", "1e30", "0.5", "9223372036854775807"}), cty.MustParseNumberVal),
			rapid.Map(rapid.Uint64(), func(n uint64) cty.Value { return cty.NumberVal(new(big.Float).SetUint64(n)) }),
		)
		vals := rapid.SliceOfN(number, 1, 6).Draw(t, "numbers")
		got, ok := sumWhole(cty.TupleVal(vals))
		if !ok {
			return
		}
		want := cty.Zero
		for _, v := range vals {
			want = want.Add(v)
		}
		if g, w := got.AsBigFloat(), want.AsBigFloat(); g.Cmp(w) != 0 || g.Prec() != w.Prec() {
			t.Fatalf("the sum of %#v: %s with %d bits, not %s with %d", vals, g, g.Prec(), w, w.Prec())
		}
	})
}

// What is written in short is what the library writes.
func TestQuickFormat(t *testing.T) {
	s := &scope{env: &Env{}, limits: Limits{}.filled()}
	b := &builtin{params: make([]param, 1), rest: &param{}}
	quick := 0
	rapid.Check(t, func(t *rapid.T) {
		format := rapid.StringOf(rapid.SampledFrom([]rune{'%', '%', 's', 'd', 'v', 'q', '2', ' ', 'e', '\u0301'})).Draw(t, "format")
		arg := rapid.OneOf(rapid.Map(rapid.StringN(0, 3, -1), cty.StringVal), rapid.Map(rapid.Int64(), cty.NumberIntVal), rapid.Map(rapid.Int64Range(-2e6, 2e10), cty.NumberIntVal), rapid.Map(rapid.Float64(), cty.NumberFloatVal), genValue(1))
		args := append([]cty.Value{cty.StringVal(format)}, rapid.SliceOfN(arg, 0, 3).Draw(t, "arguments")...)
		got, ok := quickFormat(&call{builtin: b, scope: s, given: args})
		if !ok {
			return
		}
		quick++
		if want, err := stdlib.FormatFunc.Call(args); err != nil || !got.RawEquals(want) {
			t.Fatalf("%#v: %#v, not %#v, %v", args, got, want, err)
		}
	})
	if quick == 0 {
		t.Error("nothing was written in short")
	}
}

func TestUpTo(t *testing.T) {
	for _, limit := range []string{"0", "1", "2", "1023", "1024", "1025", "-1", "-0", "0.5", "1e30", "2e0"} {
		v := cty.MustParseNumberVal(limit)
		got, err := count(&call{args: []cty.Value{v}})
		want, wantErr := stdlib.RangeFunc.Call([]cty.Value{v})
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("range(%s): %v, not %v", limit, err, wantErr)
		}
		if err != nil {
			continue
		}
		sameValues(t, got.AsValueSlice(), want.AsValueSlice())
		for i, e := range got.AsValueSlice() {
			if w := want.Index(cty.NumberIntVal(int64(i))); e.AsBigFloat().Prec() != w.AsBigFloat().Prec() {
				t.Fatalf("range(%s)[%d] has another precision", limit, i)
			}
		}
	}
}

// What is written of a value does not depend on how it is kept.
func TestNarrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genKnown(3).Draw(t, "value")
		got, err := yaml.Standard.Marshal(narrow(v))
		want, wantErr := yaml.Standard.Marshal(v)
		if (err == nil) != (wantErr == nil) || string(got) != string(want) {
			t.Fatalf("%#v: %s, not %s", v, got, want)
		}
	})
	for _, n := range []string{"0", "-0", "1", "-7", "9007199254740992", "9007199254740993", "123456789012345678", "1e20", "1e100", "0.1", "1.5", "100", "1000000"} {
		v := cty.MustParseNumberVal(n)
		got, _ := yaml.Standard.Marshal(narrow(v))
		if want, _ := yaml.Standard.Marshal(v); string(got) != string(want) {
			t.Errorf("%s: %s, not %s", n, got, want)
		}
	}
}

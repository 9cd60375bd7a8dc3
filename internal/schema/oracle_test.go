//go:build oracle

package schema

import (
	"bytes"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	ctymsgpack "github.com/zclconf/go-cty/cty/msgpack"
	"pgregory.net/rapid"
)

// This file compares the codec with the packages cty/msgpack and cty/json: same bytes, same values.

func TestMsgpackLikeLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := anything.typ(t, 3)
		v := anything.value(t, ty)
		want, err := ctymsgpack.Marshal(v, ty)
		if err != nil {
			t.Fatalf("library: %s", err)
		}
		got, err := Encode(v, ty)
		if err != nil {
			t.Fatalf("encode: %s\n%#v", err, v)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%#v of %#v\n got %x\nwant %x", v, ty, got, want)
		}
		back, err := Decode(got, ty)
		if err != nil {
			t.Fatalf("decode: %s\n%#v", err, v)
		}
		wantBack, err := ctymsgpack.Unmarshal(want, ty)
		if err != nil {
			t.Fatalf("library: %s", err)
		}
		if !back.RawEquals(wantBack) {
			t.Fatalf(" got %#v\nwant %#v", back, wantBack)
		}
	})
}

func TestJSONLikeLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := certain.typ(t, 3)
		v := certain.value(t, ty)
		want, err := ctyjson.Marshal(v, ty)
		if err != nil {
			t.Fatalf("library: %s", err)
		}
		got, err := EncodeJSON(v, ty)
		if err != nil {
			t.Fatalf("encode: %s\n%#v", err, v)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%#v of %#v\n got %s\nwant %s", v, ty, got, want)
		}
		back, err := DecodeJSON(got, ty)
		if err != nil {
			t.Fatalf("decode: %s\n%s\n%#v", err, got, v)
		}
		wantBack, err := ctyjson.Unmarshal(want, ty)
		if err != nil {
			t.Fatalf("library: %s", err)
		}
		if !back.RawEquals(wantBack) {
			t.Fatalf(" got %#v\nwant %#v", back, wantBack)
		}
	})
}

// TestConversionLikeLibrary checks that values of a similar type are converted.
func TestConversionLikeLibrary(t *testing.T) {
	ty := cty.Object(map[string]cty.Type{"a": cty.String, "l": cty.List(cty.String), "m": cty.Map(cty.Number)})
	for _, v := range []cty.Value{
		cty.ObjectVal(map[string]cty.Value{"a": cty.Zero, "l": cty.TupleVal([]cty.Value{cty.True, cty.StringVal("x")}), "m": cty.EmptyObjectVal}),
		cty.ObjectVal(map[string]cty.Value{"a": cty.NullVal(cty.DynamicPseudoType), "l": cty.ListValEmpty(cty.DynamicPseudoType), "m": cty.DynamicVal}),
		cty.ObjectVal(map[string]cty.Value{"a": cty.UnknownVal(cty.Number).RefineNotNull(), "l": cty.SetVal([]cty.Value{cty.StringVal("b"), cty.StringVal("a")}), "m": cty.NullVal(cty.Map(cty.Bool)), "extra": cty.True}),
	} {
		want, err := ctymsgpack.Marshal(v, ty)
		got, gotErr := Encode(v, ty)
		if (err == nil) != (gotErr == nil) || !bytes.Equal(got, want) {
			t.Errorf("%#v\n got %x %v\nwant %x %v", v, got, gotErr, want, err)
		}
	}
}

func FuzzMsgpackLikeLibrary(f *testing.F) {
	ty := fuzzType
	for _, seed := range msgpackSeeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := Decode(b, ty)
		if err != nil {
			return
		}
		want, err := ctymsgpack.Unmarshal(b, ty)
		if err != nil {
			t.Skip("the library is stricter: it cannot skip")
		}
		if !got.RawEquals(want) && got.IsWhollyKnown() {
			t.Fatalf("%x\n got %#v\nwant %#v", b, got, want)
		}
	})
}

func FuzzJSONLikeLibrary(f *testing.F) {
	for _, seed := range jsonSeeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := DecodeJSON(b, fuzzType)
		if err != nil {
			return
		}
		want, err := ctyjson.Unmarshal(b, fuzzType)
		if err != nil {
			t.Fatalf("the library refuses %q: %s", b, err)
		}
		if !got.RawEquals(want) {
			t.Fatalf("%q\n got %#v\nwant %#v", b, got, want)
		}
	})
}

var (
	anything = gen{dynamic: true, unknown: true, refined: true, null: true}
	certain  = gen{dynamic: true, null: true}
)

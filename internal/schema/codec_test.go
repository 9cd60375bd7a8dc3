package schema

import (
	"bytes"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
)

// fuzzType contains every kind of type that a schema can describe.
var fuzzType = cty.Object(map[string]cty.Type{
	"any":    cty.DynamicPseudoType,
	"bool":   cty.Bool,
	"list":   cty.List(cty.Object(map[string]cty.Type{"n": cty.Number, "s": cty.String})),
	"map":    cty.Map(cty.List(cty.String)),
	"number": cty.Number,
	"set":    cty.Set(cty.Object(map[string]cty.Type{"b": cty.Bool, "s": cty.String})),
	"string": cty.String,
	"tuple":  cty.Tuple([]cty.Type{cty.String, cty.Number}),
})

func fuzzValue(s cty.Value) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"any":    cty.ObjectVal(map[string]cty.Value{"x": cty.True, "y": cty.DynamicVal}),
		"bool":   cty.UnknownVal(cty.Bool),
		"list":   cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"n": cty.NumberIntVal(3), "s": s})}),
		"map":    cty.MapVal(map[string]cty.Value{"k": cty.ListVal([]cty.Value{s})}),
		"number": cty.NumberFloatVal(1.5),
		"set":    cty.SetVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"b": cty.False, "s": s}), cty.NullVal(cty.Object(map[string]cty.Type{"b": cty.Bool, "s": cty.String}))}),
		"string": s,
		"tuple":  cty.TupleVal([]cty.Value{s, cty.NumberIntVal(-70000)}),
	})
}

func msgpackSeeds() (seeds [][]byte) {
	for _, s := range []cty.Value{
		cty.StringVal("text"), cty.NullVal(cty.String), cty.UnknownVal(cty.String),
		cty.UnknownVal(cty.String).Refine().NotNull().StringPrefix("arn:aws:").NewValue(),
	} {
		b, err := Encode(fuzzValue(s), fuzzType)
		if err != nil {
			panic(err)
		}
		seeds = append(seeds, b)
	}
	return append(seeds, nil, []byte{0xc0}, []byte{0x88}, []byte{0xdf, 0xff, 0xff, 0xff, 0xff})
}

func jsonSeeds() (seeds [][]byte) {
	for _, s := range []string{
		`{"any":{"value":{"x":[1,true]},"type":["object",{"x":["tuple",["number","bool"]]}]},"bool":true,"list":[{"n":1,"s":"x"}],"map":{"k":["a"]},"number":1.5e3,"set":[{"b":null,"s":"t"}],"string":"a\nbé\ud800","tuple":["a",-0]}`,
		`{"bool":"1","number":"12","string":12.50,"list":null,"map":{},"set":[]}`,
		` { "tuple" : [ "a" , 1 ] } `, `{}`, `null`, `[`, `{"any":{"type":"dynamic","value":{"type":"string","value":"x"}}}`,
	} {
		seeds = append(seeds, []byte(s))
	}
	return seeds
}

func FuzzDecode(f *testing.F) {
	for _, seed := range msgpackSeeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		start := time.Now()
		v, err := Decode(b, fuzzType)
		if took := time.Since(start); took > time.Minute {
			t.Fatalf("%d bytes took %s", len(b), took)
		}
		if err != nil {
			return
		}
		again, err := Encode(v, fuzzType)
		if err != nil {
			t.Fatalf("decoded but not encoded: %s\n%#v", err, v)
		}
		w, err := Decode(again, fuzzType)
		if err != nil {
			t.Fatalf("%x: %s\n%#v", again, err, v)
		}
		// Numbers beyond 64 bits are encoded as decimal text, which is not exactly the float. So w may differ from v,
		// but its encoding must equal the encoding of v.
		if third, err := Encode(w, fuzzType); err != nil || !bytes.Equal(again, third) {
			t.Fatalf("%v\n got %x\nwant %x", err, third, again)
		}
	})
}

func FuzzDecodeJSON(f *testing.F) {
	for _, seed := range jsonSeeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		start := time.Now()
		v, err := DecodeJSON(b, fuzzType)
		if took := time.Since(start); took > time.Minute {
			t.Fatalf("%d bytes took %s", len(b), took)
		}
		if err != nil {
			return
		}
		again, err := EncodeJSON(v, fuzzType)
		if err != nil {
			t.Fatalf("decoded but not encoded: %s\n%#v", err, v)
		}
		w, err := DecodeJSON(again, fuzzType)
		if err != nil || !w.RawEquals(v) {
			t.Fatalf("%q: %v\n got %#v\nwant %#v", b, err, w, v)
		}
	})
}

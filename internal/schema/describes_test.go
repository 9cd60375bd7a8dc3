package schema

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func TestDescribes(t *testing.T) {
	b := &Block{
		Attrs: []*Attr{
			{Name: "text", Type: cty.String}, {Name: "any", Type: cty.DynamicPseudoType},
			{Name: "map", Type: cty.Map(cty.String)},
			{Name: "list", Type: cty.List(cty.Object(map[string]cty.Type{"a": cty.Map(cty.Object(map[string]cty.Type{"b": cty.Bool}))}))},
		},
	}
	for json, want := range map[string]bool{
		`{}`:                               true,
		`{"text": "x", "map": {"k": "v"}}`: true,
		`{"any": {"type": "string", "value": 1}}`:                          true,
		`{"list": [{"a": {"k": {"b": true}}}, {"a": null}], "text": null}`: true,
		`{"text": "x", "later": 1}`:                                        false,
		`{"later": {"a": [1]}, "text": "x"}`:                               false,
		`{"list": [{"a": {"k": {"b": true}}, "c": 1}]}`:                    false,
		`{"list": [{"a": {"k": {"c": true}}}]}`:                            false,
		`{"list": null}`:                                                   true,
		`{"text": `:                                                        false,
	} {
		if got := b.Describes([]byte(json)); got != want {
			t.Errorf("%s: %t", json, got)
		}
	}
}

// TestDescribesBlocks checks that Describes requires all types of blocks, and not null, at any depth.
func TestDescribesBlocks(t *testing.T) {
	deep := &Block{Attrs: []*Attr{{Name: "x", Type: cty.String, Optional: true}}}
	inner := &Block{Blocks: []*Nested{{Name: "deep", Block: deep, Nesting: Set}}}
	b := &Block{
		Attrs: []*Attr{{Name: "a", Type: cty.String, Optional: true}},
		Blocks: []*Nested{
			{Name: "group", Block: deep, Nesting: Group}, {Name: "list", Block: inner, Nesting: List},
			{Name: "map", Block: inner, Nesting: Map}, {Name: "one", Block: inner, Nesting: Single},
		},
	}
	for json, want := range map[string]bool{
		`{"group":{"x":null},"list":[],"map":{},"one":null}`:                                           true,
		`{"a":"n","group":{},"list":[{"deep":[{"x":"n"}]}],"map":{"k":{"deep":[]}},"one":{"deep":[]}}`: true,
		`{"group":{},"list":[{"deep":[{"gone":1}]}],"map":{},"one":null}`:                              false,
		`{"group":{},"list":null,"map":{},"one":null}`:                                                 false,
		`{"group":null,"list":[],"map":{},"one":null}`:                                                 false,
		`{"group":{},"list":[],"map":null,"one":null}`:                                                 false,
		`{"group":{},"list":[],"map":{}}`:                                                              false,
		`{"group":{},"list":[{"deep":null}],"map":{},"one":null}`:                                      false,
		`{"group":{},"list":[{}],"map":{},"one":null}`:                                                 false,
		`{"group":{},"list":[],"map":{"k":{"deep":null}},"one":null}`:                                  false,
		`{"group":{},"list":[],"map":{},"one":{"deep":null}}`:                                          false,
	} {
		if got := b.Describes([]byte(json)); got != want {
			t.Errorf("%s: %v", json, got)
		}
		v, err := (&Schema{Block: b}).DecodeJSON(b.Strip([]byte(json)))
		if err != nil {
			t.Fatalf("%s: %v", json, err)
		}
		wire, err := b.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		full := b.FillBlocks(v)
		if has := b.HasNullBlocks(wire); has == v.RawEquals(full) {
			t.Errorf("%s: has null blocks: %v", json, has)
		}
		wire, err = b.Encode(full)
		if err != nil {
			t.Fatal(err)
		}
		text, err := b.EncodeJSON(full)
		if err != nil || b.HasNullBlocks(wire) || !b.Describes(text) {
			t.Errorf("%s: still not in form: %s (%v)", json, text, err)
		}
	}
}

// TestNullBlocksInMalformed checks that malformed bytes have no null blocks and do not make HasNullBlocks panic.
func TestNullBlocksInMalformed(t *testing.T) {
	b := &Block{Blocks: []*Nested{{Name: "list", Block: &Block{Blocks: []*Nested{{Name: "deep", Block: &Block{}, Nesting: List}}}, Nesting: List}}}
	good := "\x81\xa4list\x91\x81\xa4deep\xc0"
	if !b.HasNullBlocks([]byte(good)) {
		t.Error("null is not seen")
	}
	for i := range good {
		if b.HasNullBlocks([]byte(good[:i])) {
			t.Errorf("%q has null blocks", good[:i])
		}
	}
	for _, text := range []string{"\x81\xa4list\xd4\x00\x00", "\x81\xa4list\x91\xd4\x00\x00", "\x81\xa4list\xa1x", "\xdf\xff\xff\xff\xff", "\x81\xa4list\xdd\xff\xff\xff\xff"} {
		if b.HasNullBlocks([]byte(text)) {
			t.Errorf("%q has null blocks", text)
		}
	}
}

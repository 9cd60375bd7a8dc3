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

package terraform

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
)

// TestOutputOfNullInput creates terraform_data with a null input that has a type. The output has that type, too.
func TestOutputOfNullInput(t *testing.T) {
	dynamic := cty.NullVal(cty.DynamicPseudoType)
	for _, input := range []cty.Value{cty.NullVal(cty.String), dynamic} {
		object := cty.Object(map[string]cty.Type{"id": cty.String, "input": cty.DynamicPseudoType, "output": cty.DynamicPseudoType, "triggers_replace": cty.DynamicPseudoType})
		proposed := cty.ObjectVal(map[string]cty.Value{"id": cty.NullVal(cty.String), "input": input, "output": dynamic, "triggers_replace": dynamic})
		planned, _, diags := planData(cty.NullVal(object), proposed, proposed)
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		if got := planned.GetAttr("output"); !got.RawEquals(input) {
			t.Errorf("the output is planned as %#v, want %#v", got, input)
		}
	}
}

// TestMovedTriggers moves null_resource objects with various triggers to terraform_data. A plan replaces the moved
// object only if triggers_replace differs from the triggers.
func TestMovedTriggers(t *testing.T) {
	text, null := cty.StringVal, cty.NullVal(cty.DynamicPseudoType)
	for _, c := range []struct {
		stored string
		config cty.Value
		same   bool
	}{
		{`{"a":"x","n":"1"}`, cty.ObjectVal(map[string]cty.Value{"a": text("x"), "n": text("1")}), true},
		{`{"a":"x"}`, cty.ObjectVal(map[string]cty.Value{"a": text("y")}), false},
		{`{}`, cty.EmptyObjectVal, true},
		{`null`, null, true},
		{`null`, cty.EmptyObjectVal, false},
	} {
		got, diags := moveData(provider.MoveRequest{SourceType: "null_resource", SourceProvider: addr.Default("null"), SourceJSON: []byte(`{"id":"7","triggers":` + c.stored + `}`)})
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		proposed := got.AsValueMap()
		proposed["triggers_replace"] = c.config
		_, replace, _ := planData(got, cty.ObjectVal(proposed), cty.ObjectVal(proposed))
		if (len(replace) == 0) != c.same {
			t.Errorf("triggers %s and %#v: replaced because of %v", c.stored, c.config, replace)
		}
	}
}

package terraform

import (
	"testing"

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

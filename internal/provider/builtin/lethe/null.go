package lethe

import (
	"context"
	"math/rand/v2"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// null is the data source lethe_null.
func null() *builtin.Data {
	return &builtin.Data{
		Schema: describe("Gives back what it was given. It is here for trying things out: it depends on nothing outside.",
			schema.Optional("inputs", cty.Map(cty.String), "Any values."),
			computed("outputs", cty.Map(cty.String), "The inputs."),
			computed("rand", cty.Number, "A random number, another one each time."),
			optionalComputed("has_computed_default", cty.String, `The value that is set, or "default".`),
		),
		Read: readNull,
	}
}

func readNull(_ context.Context, _ string, config cty.Value) (cty.Value, provider.Diags) {
	out := config.AsValueMap()
	out["outputs"] = config.GetAttr("inputs")
	out["rand"] = cty.NumberIntVal(rand.Int64N(1_000_000_000))
	if config.GetAttr("has_computed_default").IsNull() {
		out["has_computed_default"] = cty.StringVal("default")
	}
	return cty.ObjectVal(out), nil
}

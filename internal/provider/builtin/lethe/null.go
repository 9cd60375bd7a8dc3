package lethe

import (
	"context"
	"math/rand/v2"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// null returns the data source lethe_null, which returns its arguments and a random number.
func null() *builtin.Data {
	return &builtin.Data{
		Schema: describe("Returns its argument. Use it for experiments: it needs no external system.",
			schema.Optional("inputs", cty.Map(cty.String), "Any values."),
			computed("outputs", cty.Map(cty.String), "The inputs."),
			computed("rand", cty.Number, "A random number, different each time."),
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

package lang

import (
	"github.com/lethe-iac/lethe/internal/lang/funcs"
	"github.com/zclconf/go-cty/cty"
)

// convertValue converts a value, in work linear in its size.
func convertValue(v cty.Value, want cty.Type) (cty.Value, error) {
	if want == cty.DynamicPseudoType {
		return v, nil
	}
	return funcs.Convert(v, want)
}

// unify is the type that all types convert to, NilType if there is none.
func unify(types []cty.Type) cty.Type { return funcs.Unify(types) }

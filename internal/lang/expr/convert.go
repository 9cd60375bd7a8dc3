package expr

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/zclconf/go-cty/cty"
)

// ConvertValue converts a value, in work linear in its size.
func ConvertValue(v cty.Value, want cty.Type) (cty.Value, error) {
	if want == cty.DynamicPseudoType {
		return v, nil
	}
	return convert.To(v, want)
}

// unify is the type that all types convert to, NilType if there is none.
func unify(types []cty.Type) cty.Type { return convert.Unify(types) }

// writable is an error for a known number with more digits than can be written down.
func writable(v cty.Value) error { return convert.Writable(v) }

// Sorted are the keys of a map in their order.
func Sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

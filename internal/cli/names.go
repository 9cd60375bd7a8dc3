package cli

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// nilType is the type of no value at all.
var nilType = cty.NilType

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

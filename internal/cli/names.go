package cli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// nilType is the type of no value at all.
var nilType = cty.NilType

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// counted is a number with the words for one and for many.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

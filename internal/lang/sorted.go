package lang

import (
	"cmp"
	"maps"
	"slices"
)

func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

package config

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// byPlace lists attributes in the order of the source.
func byPlace(attrs hcl.Attributes) []*hcl.Attribute {
	out := make([]*hcl.Attribute, 0, len(attrs))
	for _, a := range attrs {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b *hcl.Attribute) int {
		return cmp.Or(cmp.Compare(a.Range.Filename, b.Range.Filename), cmp.Compare(a.Range.Start.Byte, b.Range.Start.Byte))
	})
	return out
}

// sortedNames lists provider configurations by their names.
func sortedNames(m map[ProviderName]*Provider) []ProviderName {
	return slices.SortedFunc(maps.Keys(m), func(a, b ProviderName) int {
		return cmp.Or(cmp.Compare(a.Local, b.Local), cmp.Compare(a.Alias, b.Alias))
	})
}

package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// WriteValue is the text of an expression that evaluates to v, which is wholly known and unmarked.
func WriteValue(v cty.Value) string {
	return string(hclwrite.Format(hclwrite.TokensForValue(v).Bytes()))
}

// WriteValues is the text of a file of values (see LoadValues), in the order of their names. A name
// that no variable can have is an error.
func WriteValues(values map[string]cty.Value) (string, error) {
	f := hclwrite.NewEmptyFile()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !hclsyntax.ValidIdentifier(name) {
			return "", fmt.Errorf("invalid variable name %q: must be a name that a variable can have", name)
		}
		f.Body().SetAttributeValue(name, values[name])
	}
	return string(hclwrite.Format(f.Bytes())), nil
}

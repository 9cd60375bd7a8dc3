package config

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// WriteValue is the text of an expression that evaluates to v, which is wholly known and unmarked.
func WriteValue(v cty.Value) string {
	return apart(hclwrite.Format(hclwrite.TokensForValue(v).Bytes()))
}

// afterEscape are combining marks behind an escape sequence. All text of the language is normalized, and
// the letter that ends the sequence would become one with the mark.
var afterEscape = regexp.MustCompile(`(\\(?:[nrt]|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}))(\p{M}+)`)

// apart writes such marks as escape sequences of their own.
func apart(text []byte) string {
	return string(afterEscape.ReplaceAllFunc(text, func(m []byte) []byte {
		parts := afterEscape.FindSubmatch(m)
		out := bytes.Clone(parts[1])
		for _, r := range string(parts[2]) {
			out = fmt.Appendf(out, `\U%08x`, r)
		}
		return out
	}))
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
	return apart(hclwrite.Format(f.Bytes())), nil
}

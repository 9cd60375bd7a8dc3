package config

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// WriteValue is the text of an expression that evaluates to v, which is wholly known and unmarked.
func WriteValue(v cty.Value) string {
	return string(apart(hclwrite.Format(hclwrite.TokensForValue(v).Bytes())))
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
	return string(apart(hclwrite.Format(f.Bytes()))), nil
}

// markAfterEscape is a combining mark right behind an escape sequence in a string.
var markAfterEscape = regexp.MustCompile(`(\\(?:[nrt"\\]|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}))(\p{M})`)

// apart escapes combining marks that would become one character with the last letter of an escape
// sequence, when the text is normalized.
func apart(text []byte) []byte {
	for {
		next := markAfterEscape.ReplaceAllFunc(text, func(m []byte) []byte {
			r, n := utf8.DecodeLastRune(m)
			return fmt.Appendf(bytes.Clone(m[:len(m)-n]), `\U%08x`, r)
		})
		if bytes.Equal(next, text) {
			return text
		}
		text = next
	}
}

package style

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// WriteValue returns the text of an expression that evaluates to v. v must be wholly known and unmarked.
func WriteValue(v cty.Value) string {
	return string(apart(hclwrite.Format(hclwrite.TokensForValue(v).Bytes())))
}

// WriteValues returns the text of a file of values for variables, sorted by name. It returns an error for a name that
// no variable can have.
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

// markAfterEscape matches a combining mark immediately after an escape sequence in a string.
var markAfterEscape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(\\(?:[nrt"\\]|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}))(\p{M})`)
})

// apart replaces combining marks after escape sequences by escape sequences. Without this, normalization would combine
// the mark with the last letter of the sequence before it.
func apart(text []byte) []byte {
	for {
		next := markAfterEscape().ReplaceAllFunc(text, func(m []byte) []byte {
			r, n := utf8.DecodeLastRune(m)
			return fmt.Appendf(bytes.Clone(m[:len(m)-n]), `\U%08x`, r)
		})
		if bytes.Equal(next, text) {
			return text
		}
		text = next
	}
}

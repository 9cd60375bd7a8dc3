package syntax

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Uses lists the parts of a text on which the result of an expression may depend, in addition to declarations.
type Uses struct {
	Known     bool     // the text was read completely
	Functions []string // functions that the text may call, with their namespaces, once for each call
	Cwd       bool     // the text may refer to path.cwd
}

// UsesOf returns the uses in text, a part of a configuration file. If the name of the file ends with .json, the text is
// JSON, and otherwise native syntax. In native syntax, the part need not begin or end with a block.
func UsesOf(file, text string) Uses {
	if !strings.HasSuffix(file, ".json") {
		tokens, _ := hclsyntax.LexConfig([]byte(text), file, hcl.InitialPos)
		out := Uses{Known: true}
		out.collect(tokens)
		return out
	}
	var out Uses
	d := json.NewDecoder(strings.NewReader(text))
	for {
		t, err := d.Token()
		if err != nil {
			out.Known = errors.Is(err, io.EOF)
			return out
		}
		if s, ok := t.(string); ok && strings.Contains(s, "{") { // any string with a brace may be a template
			tokens, _ := hclsyntax.LexTemplate([]byte(s), file, hcl.InitialPos)
			out.collect(tokens)
		}
	}
}

// collect adds names before parentheses, and references to path.cwd. HCL permits space and comments between the tokens.
func (u *Uses) collect(tokens hclsyntax.Tokens) {
	tokens = slices.DeleteFunc(tokens, func(t hclsyntax.Token) bool {
		return t.Type == hclsyntax.TokenComment || t.Type == hclsyntax.TokenNewline
	})
	is := func(i int, t hclsyntax.TokenType) bool { return i >= 0 && i < len(tokens) && tokens[i].Type == t }
	for i, t := range tokens {
		if t.Type != hclsyntax.TokenIdent {
			continue
		}
		name := string(t.Bytes)
		if name == "path" && (is(i+1, hclsyntax.TokenOBrack) || is(i+1, hclsyntax.TokenDot) && is(i+2, hclsyntax.TokenIdent) && string(tokens[i+2].Bytes) == "cwd") {
			u.Cwd = true
		}
		if !is(i+1, hclsyntax.TokenOParen) {
			continue
		}
		for j := i; is(j-1, hclsyntax.TokenDoubleColon) && is(j-2, hclsyntax.TokenIdent); j -= 2 {
			name = string(tokens[j-2].Bytes) + "::" + name
		}
		u.Functions = append(u.Functions, name)
	}
}

package cliconfig

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// modern makes of the older syntax of CLI configuration files, which programs still write, the syntax of
// today. Names of arguments and blocks may be quoted there, a block with quoted names of arguments becomes
// an object, and there is nothing in strings that would be evaluated.
func modern(src []byte, filename string) []byte {
	tokens, _ := hclsyntax.LexConfig(src, filename, hcl.InitialPos)
	src = slices.Clone(src)
	for i := len(tokens) - 1; i >= 0; i-- {
		switch t := tokens[i]; t.Type {
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			src = slices.Insert(src, t.Range.Start.Byte, t.Bytes[0])
		case hclsyntax.TokenIdent:
			if name := string(t.Bytes); (name == "dev_overrides" || name == "services") && i+1 < len(tokens) && tokens[i+1].Type == hclsyntax.TokenOBrace {
				src = slices.Insert(src, t.Range.End.Byte, ' ', '=')
			}
		case hclsyntax.TokenOQuote:
			if !namesSomething(tokens, i) {
				continue
			}
			if name := string(tokens[i+1].Bytes); (name == "dev_overrides" || name == "services") && tokens[i+3].Type == hclsyntax.TokenOBrace {
				src = slices.Insert(src, tokens[i+2].Range.End.Byte, '=')
			}
			src[t.Range.Start.Byte], src[tokens[i+2].Range.Start.Byte] = ' ', ' '
		}
	}
	return src
}

// namesSomething reports whether the quote at i begins the quoted name of an argument or a block.
func namesSomething(tokens hclsyntax.Tokens, i int) bool {
	if i+3 >= len(tokens) || tokens[i+1].Type != hclsyntax.TokenQuotedLit || tokens[i+2].Type != hclsyntax.TokenCQuote || !hclsyntax.ValidIdentifier(string(tokens[i+1].Bytes)) {
		return false
	}
	begins := i == 0 || tokens[i-1].Type == hclsyntax.TokenNewline || tokens[i-1].Type == hclsyntax.TokenOBrace || tokens[i-1].Type == hclsyntax.TokenComment
	next := tokens[i+3].Type
	return begins && (next == hclsyntax.TokenEqual || next == hclsyntax.TokenOBrace || next == hclsyntax.TokenOQuote)
}

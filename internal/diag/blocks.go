package diag

import (
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// topBlock is a block at the top of a source file: its header, such as `resource "a" "b"`, and where
// it begins and ends, in bytes.
type topBlock struct {
	header     string
	start, end int
}

// topBlocks finds the blocks of a file in native syntax, in order, without understanding what is in
// them. Where a file is not well-formed, it finds what it can; in one of many megabytes, nothing: its tokens
// would take a hundred times as much.
func topBlocks(src []byte) []topBlock {
	if len(src) > 8<<20 {
		return nil
	}
	tokens, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos) // what is wrong was reported by the parser
	var out []topBlock
	for len(tokens) > 0 {
		start := tokens[0].Range.Start.Byte
		header, rest := blockHeader(src, tokens)
		if header == "" {
			tokens = afterLine(tokens)
			continue
		}
		end := len(src)
		tokens = nil
		for i, depth := 0, 1; i < len(rest); i++ {
			switch rest[i].Type {
			case hclsyntax.TokenOBrace:
				depth++
			case hclsyntax.TokenCBrace:
				depth--
			}
			if depth == 0 {
				end, tokens = rest[i].Range.End.Byte, rest[i+1:]
				break
			}
		}
		out = append(out, topBlock{header, start, end})
	}
	return out
}

// blockHeader reads a block's type and labels up to its brace, and gives what follows that; "" if no
// block begins here.
func blockHeader(src []byte, tokens hclsyntax.Tokens) (string, hclsyntax.Tokens) {
	var parts []string
	for i := 0; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.Type == hclsyntax.TokenOBrace && len(parts) > 0:
			return strings.Join(parts, " "), tokens[i+1:]
		case t.Type == hclsyntax.TokenIdent && len(parts) == 0:
			parts = append(parts, string(t.Bytes))
		case t.Type == hclsyntax.TokenIdent:
			parts = append(parts, strconv.Quote(string(t.Bytes)))
		case t.Type == hclsyntax.TokenOQuote && len(parts) > 0:
			for i < len(tokens) && tokens[i].Type != hclsyntax.TokenCQuote {
				i++
			}
			if i == len(tokens) {
				return "", nil
			}
			parts = append(parts, string(src[t.Range.Start.Byte:tokens[i].Range.End.Byte]))
		default:
			return "", nil
		}
	}
	return "", nil
}

// afterLine is what follows the next end of a line.
func afterLine(tokens hclsyntax.Tokens) hclsyntax.Tokens {
	for i, t := range tokens {
		if t.Type == hclsyntax.TokenNewline || t.Type == hclsyntax.TokenComment {
			return tokens[i+1:]
		}
	}
	return nil
}

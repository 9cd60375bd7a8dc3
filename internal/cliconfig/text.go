package cliconfig

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
)

// harmless has the names whose text is not secret. All other text is masked, because an unknown name may be the
// misspelt name of an argument with a secret.
var harmless = diag.Harmless{Values: []string{
	"plugin_cache_dir", "vendor_dir", "default_registry", "plugin_cache_may_break_dependency_lock_file", "defer_ephemerals", "close_timeout", "forget_data", "silence",
	"skip_deposed_provisioners", "backend_without_init", "language_version", "disable_checkpoint", "disable_checkpoint_signature", "path", "url", "include", "exclude", "repository_template", "download_retry_count", "trust_all_hashes",
	"retry_count", "match", "attempts", "backoff", "idempotent", "request_timeout_seconds", "username", "docker_credentials_helper", "discover_ambient_credentials",
	"docker_style_config_files", "default_docker_credential_helper",
}, Braces: []string{"dev_overrides", "services", "providers"}, Labels: []string{
	"host", "credentials", "credentials_helper", "oci_credentials", "provider_retry",
}}

// written returns the range in the file src that corresponds to r, a range in the output of modern. origin is the
// second result of modern. A nil r stays nil.
func written(r *hcl.Range, src []byte, origin []int) *hcl.Range {
	if r == nil {
		return nil
	}
	pos := func(p hcl.Pos) hcl.Pos {
		at := len(src)
		if p.Byte < len(origin) {
			at = origin[p.Byte]
		}
		before := src[:at]
		return hcl.Pos{Byte: at, Line: 1 + bytes.Count(before, []byte("\n")), Column: 1 + len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:])))}
	}
	return &hcl.Range{Filename: r.Filename, Start: pos(r.Start), End: pos(r.End)}
}

// group is the state of the function modern inside a file, a block, or a list or object in brackets.
type group struct {
	object, list bool
	named        bool // the name of an argument or a block has begun
	value        bool // an equals sign has been read
	full         bool // an argument or a block has ended, so another may begin
}

// modern converts the older syntax of CLI configuration files, which some programs still write, to the present syntax.
// The result out is the converted text. The result origin has, for each byte of the converted text, the position of
// this byte in src. The older syntax differs as follows:
//
//   - Names of arguments and blocks may be quoted. Arguments whose value is an object today, such as services, may be
//     written as blocks, with quoted names inside.
//   - Labels with dots need no quotes.
//   - The content of a block may be on one line, with or without commas.
//   - Strings contain no template sequences.
func modern(src []byte, filename string) (out []byte, origin []int) {
	tokens, _ := hclsyntax.LexConfig(src, filename, hcl.InitialPos)
	at := 0
	keep := func(to int) {
		for ; at < to; at++ {
			out, origin = append(out, src[at]), append(origin, at)
		}
	}
	insert := func(text string) {
		for i := range text {
			out, origin = append(out, text[i]), append(origin, at)
		}
	}
	instead := func(c byte) { // writes c in place of the next byte of src
		out, origin = append(out, c), append(origin, at)
		at++
	}
	open := []group{{}}
	for i := 0; i < len(tokens); i++ {
		t, in := tokens[i], &open[len(open)-1]
		apart := t.Range.Start.Byte > at
		keep(t.Range.Start.Byte)
		if in.full && !in.list && begins(t) && apart {
			insert("\n")
			*in = group{object: in.object}
		}
		first := begins(t) && !in.list && !in.named && !in.value
		in.named = in.named || first
		switch t.Type {
		case hclsyntax.TokenNewline, hclsyntax.TokenComment:
			*in = group{object: in.object, list: in.list}
		case hclsyntax.TokenEqual, hclsyntax.TokenColon:
			in.value = true
		case hclsyntax.TokenComma:
			if in.full && !in.list && !in.object {
				instead('\n')
			}
			if !in.list {
				*in = group{object: in.object}
			}
		case hclsyntax.TokenOBrack:
			open = append(open, group{list: true})
		case hclsyntax.TokenOBrace:
			inner := group{object: in.value && !in.full || in.list}
			keep(t.Range.End.Byte)
			if next := tokens[i+1].Type; !inner.object && next != hclsyntax.TokenNewline && next != hclsyntax.TokenCBrace { // a next token always exists, because the last token is the end of the file
				insert("\n")
			}
			open = append(open, inner)
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack:
			if t.Type == hclsyntax.TokenCBrace && !in.object && !in.list && in.full {
				insert("\n")
			}
			open = open[:max(1, len(open)-1)]
			open[len(open)-1].full = true
		case hclsyntax.TokenNumberLit:
			in.full = in.full || in.value
		case hclsyntax.TokenIdent:
			in.full = in.full || in.value
			last := i
			for next := tokens[last+1]; in.named && !first && !in.value && next.Range.Start.Byte == tokens[last].Range.End.Byte && (next.Type == hclsyntax.TokenDot || next.Type == hclsyntax.TokenIdent); next = tokens[last+1] {
				last++
			}
			if last > i { // the tokens from i to last are the label of a block
				insert(`"`)
				keep(tokens[last].Range.End.Byte)
				insert(`"`)
				i, t = last, tokens[last]
			}
			if first && isObject(t) && tokens[i+1].Type == hclsyntax.TokenOBrace {
				keep(t.Range.End.Byte)
				insert(" =")
				in.value = true
			}
		case hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			end := closing(tokens, i)
			quoted := tokens[i+1 : end]
			isName := first && !in.object && len(quoted) == 1 && tokens[end].Type == hclsyntax.TokenCQuote && hclsyntax.ValidIdentifier(string(quoted[0].Bytes))
			if isName {
				instead(' ')
				keep(quoted[0].Range.End.Byte)
				instead(' ')
				if isObject(quoted[0]) && tokens[end+1].Type == hclsyntax.TokenOBrace {
					insert("=")
					in.value = true
				}
			}
			if end == len(tokens)-1 { // the string is not closed; the parser of HCL reports that
				quoted = nil
			}
			for _, t := range quoted {
				if t.Type == hclsyntax.TokenTemplateInterp || t.Type == hclsyntax.TokenTemplateControl {
					keep(t.Range.Start.Byte)
					insert(string(t.Bytes[:1]))
				}
			}
			in.full = in.full || in.value
			i, t = end, tokens[end]
		}
		keep(t.Range.End.Byte)
	}
	keep(len(src))
	return out, origin
}

// isObject reports whether name is the name of an argument whose value is an object, and that was a block in the older
// syntax.
func isObject(name hclsyntax.Token) bool {
	return string(name.Bytes) == "dev_overrides" || string(name.Bytes) == "services"
}

// begins reports whether a token begins an argument or a block.
func begins(t hclsyntax.Token) bool {
	return t.Type == hclsyntax.TokenIdent || t.Type == hclsyntax.TokenOQuote
}

// closing returns the index of the token that closes the string at index i, which may contain other strings. If the
// string is not closed, it returns the index of the last token.
func closing(tokens hclsyntax.Tokens, i int) int {
	depth := 0
	for j := i; j < len(tokens)-1; j++ {
		switch tokens[j].Type {
		case hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			depth++
		case hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			if depth--; depth == 0 {
				return j
			}
		}
	}
	return len(tokens) - 1
}

// Package syntax protects HCL's parser and evaluator from input that they have no limit for: they recurse with the
// nesting of their input, and a stack that overflows cannot be caught.
//
// Parse, CheckExpression, CheckTemplate and CheckJSON look at a text before the library parses it; Budget bounds what
// HCL's own evaluator may do with what was parsed.
//
// UsesOf finds calls of functions in a piece of text by its tokens.
//
// The library's lexer does not recurse, and its tokens say how deep the parser will: a bracket, string, heredoc or
// template sequence nests what it encloses, and in an item (an argument, an element) every operator and bracket can
// nest the rest of it, whichever way the operators associate. Lexing takes as long as most of the parsing. So a text is
// lexed only if it is long, or has many brackets: a short one cannot nest deeper than it has brackets, and Parse
// takes long ones in pieces of whole blocks.
package syntax

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/limits"
)

// Problem is what is wrong with a text before it is parsed.
type Problem struct {
	Kind Kind
	At   int // byte offset
}

// Kind says what a Problem is.
type Kind uint8

// The kinds of problems. None is the zero value.
const (
	None       Kind = iota
	Deep            // brackets, blocks and templates inside each other: more than limits.Limits.Nesting
	Long            // operators and brackets on the longest way down one expression: more than Operators for each of these
	Tokens          // words and symbols: more than limits.Limits.Tokens
	Number          // characters of a number: more than Longest
	Exponent        // of a number: beyond Longest
	Name            // bytes of a name: more than Longest
	Text            // a string or heredoc of so many pieces that joining them takes long
	Comment         // nothing closes it: the library would look for its end again at every slash
	Encoding        // a byte that is not part of UTF-8: the library's lexer loses its place
	Unbalanced      // there is a mistake, often in the brackets, and too many brackets follow it
)

// Operators is how many operators nest as much as a bracket, and Longest how many bytes a name or a number may have, and
// how large its exponent may be.
const (
	Operators = 10
	Longest   = 10_000
)

const (
	joined = 10_000_000_000 // bytes that joining the pieces of all texts may move
	short  = 8 << 10        // bytes of a text that is lexed only for its brackets
)

// Parse parses a configuration in native syntax, unless p says why the parser is not to see it.
func Parse(src []byte, name string, l limits.Limits) (body *hclsyntax.Body, diags hcl.Diagnostics, p Problem) {
	if p = readable(src, l); p.Kind != None {
		return nil, nil, p
	}
	if body = parsePieces(src, name, l); body != nil {
		return body, nil, p
	}
	switch p = check(src, hclsyntax.LexConfig, l); p.Kind {
	case None:
	case Unbalanced:
		src = src[:p.At] // for the parser to say what is wrong
	default:
		return nil, nil, p
	}
	file, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	return file.Body.(*hclsyntax.Body), diags, Problem{}
}

// parsePieces parses a text piece by piece, where every piece is short. A piece ends behind a brace that begins a
// line, which mostly ends a block: if it does not, there is a mistake in the piece, because a bracket, string, heredoc
// or comment is left open. With any mistake the result is nil, and the whole text is to be parsed at once.
func parsePieces(src []byte, name string, l limits.Limits) *hclsyntax.Body {
	out := &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, EndRange: hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos}}
	for first := true; first || len(src) > 0; first = false {
		n := len(src)
		if n > short {
			if n = bytes.LastIndex(src[:short], []byte("\n}\n\n")); n < 0 { // a text may have a brace alone in a line, too
				n = bytes.LastIndex(src[:short], []byte("\n}\n"))
			}
			n += len("\n}\n")
		}
		if n < len("\n}\n") && n < len(src) || !harmless(src[:n], l) {
			return nil
		}
		file, diags := hclsyntax.ParseConfig(src[:n], name, out.EndRange.End)
		if len(diags) > 0 {
			return nil
		}
		piece := file.Body.(*hclsyntax.Body)
		for name, a := range piece.Attributes {
			if out.Attributes[name] != nil {
				return nil
			}
			out.Attributes[name] = a
		}
		if first {
			out.SrcRange = piece.SrcRange
		}
		out.Blocks, out.EndRange, src = append(out.Blocks, piece.Blocks...), piece.EndRange, src[n:]
	}
	out.SrcRange.End = out.EndRange.End
	return out
}

// CheckExpression looks at the text of an expression.
func CheckExpression(src []byte, l limits.Limits) Problem {
	return checkUnlessHarmless(src, hclsyntax.LexExpression, l)
}

// CheckTemplate looks at the text of a template.
func CheckTemplate(src []byte, l limits.Limits) Problem {
	return checkUnlessHarmless(src, hclsyntax.LexTemplate, l)
}

func checkUnlessHarmless(src []byte, lex lexer, l limits.Limits) Problem {
	p := readable(src, l)
	if p.Kind != None || harmless(src, l) {
		return p
	}
	return check(src, lex, l)
}

// harmless reports whether a text is so short, and has so few brackets, that there is nothing to fear. It is false too
// where a number may have a large exponent.
func harmless(src []byte, l limits.Limits) bool {
	if len(src) > min(short, Operators*l.Nesting) {
		return false
	}
	nested := 0
	for i, c := range src {
		switch c {
		case '(', '[':
			nested++
		case '{':
			nested += 2 // a template sequence is in a string, or opens a directive
		case 'e', 'E':
			if exp := bytes.TrimLeft(src[i+1:], "+-"); i > 0 && isDigit(src[i-1]) && len(exp) > 4 && isDigit(exp[0]) && isDigit(exp[4]) {
				return false
			}
		}
	}
	return nested <= l.Nesting
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// readable looks for what the lexer cannot take either.
func readable(src []byte, l limits.Limits) Problem {
	if Words(src) > l.Tokens {
		return Problem{Kind: Tokens}
	}
	if utf8.Valid(src) {
		return Problem{}
	}
	at := 0
	for r, n := utf8.DecodeRune(src); r != utf8.RuneError || n > 1; r, n = utf8.DecodeRune(src[at:]) {
		at += n
	}
	return Problem{Kind: Encoding, At: at}
}

// Words counts words, symbols and lines: there are about as many tokens, but for those of texts and comments.
func Words(src []byte) (n int) {
	within := false
	for _, c := range src {
		part := IdentPart(c)
		if part && !within || !part && c != ' ' && c != '\t' && c != '\r' && c != '"' {
			n++
		}
		within = part
	}
	return n
}

// IdentPart reports whether a name may go on with a byte, of UTF-8 any that is not ASCII.
func IdentPart(c byte) bool {
	return c == '_' || c == '-' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 || isDigit(c)
}

type lexer func(src []byte, filename string, start hcl.Pos) (hclsyntax.Tokens, hcl.Diagnostics)

// frame is an open bracket, sequence, string or heredoc.
type frame struct {
	opener       hclsyntax.TokenType
	at           int // where it begins
	before       int // weight of what it is in
	directives   int // in it that have not ended
	parts, bytes int // of a text; its sequences are parts without bytes
}

// item is the weight of the frame before anything is in an item of it.
func (f *frame) item() int { return f.before + Operators*(1+f.directives) }

// openers are the tokens that open a frame, by the one that closes it. A sequence has another one besides.
var openers = map[hclsyntax.TokenType]hclsyntax.TokenType{
	hclsyntax.TokenCParen: hclsyntax.TokenOParen, hclsyntax.TokenCBrack: hclsyntax.TokenOBrack, hclsyntax.TokenCBrace: hclsyntax.TokenOBrace,
	hclsyntax.TokenCQuote: hclsyntax.TokenOQuote, hclsyntax.TokenCHeredoc: hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateSeqEnd: hclsyntax.TokenTemplateInterp,
}

// counter follows the tokens of a text. Its measure is the weight of what the parser is in the middle of: an operator
// weighs one until its item ends; a frame weighs as much as Operators while it is open, and one behind that.
type counter struct {
	frames []frame
	weight int
	moved  int // bytes that joining the pieces of texts moves
	wrong  bool
	last   hclsyntax.TokenType
}

func check(src []byte, lex lexer, l limits.Limits) Problem {
	const end = "*/" // so that all comments end, and the lexer need not look for the end of each again
	tokens, _ := lex(append(src[:len(src):len(src)], end...), "", hcl.Pos{})
	c := counter{frames: []frame{{before: -Operators}}}
	for _, t := range tokens {
		at, kind := t.Range.Start.Byte, None
		around := c.weight - c.inner().item()
		c.token(t)
		switch {
		case c.weight > Operators*l.Nesting && c.wrong:
			kind = Unbalanced
		case c.weight > Operators*l.Nesting && c.inner().at == at && around < Operators*l.Nesting/2:
			kind = Deep
		case c.weight > Operators*l.Nesting:
			kind = Long
		case c.moved > joined:
			kind, at = Text, c.inner().at
		case t.Type == hclsyntax.TokenNumberLit:
			kind = checkNumber(string(t.Bytes))
		case t.Type == hclsyntax.TokenIdent && len(t.Bytes) > Longest:
			kind = Name
		case t.Type == hclsyntax.TokenComment && at+len(t.Bytes) == len(src)+len(end) && t.Bytes[0] == '/' && t.Bytes[1] == '*':
			kind = Comment
		}
		if kind != None {
			return Problem{kind, min(at, len(src))}
		}
	}
	return Problem{}
}

func (c *counter) inner() *frame { return &c.frames[len(c.frames)-1] }

func (c *counter) token(t hclsyntax.Token) {
	f := c.inner()
	switch t.Type {
	case hclsyntax.TokenOParen, hclsyntax.TokenOBrack, hclsyntax.TokenOBrace, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		c.frames = append(c.frames, frame{opener: t.Type, at: t.Range.Start.Byte, before: c.weight})
		c.weight += Operators
	case hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenCBrace, hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
		c.close(f, openers[t.Type])
	case hclsyntax.TokenComma:
		c.weight = f.item()
	case hclsyntax.TokenNewline, hclsyntax.TokenComment:
		if (f.opener == 0 || f.opener == hclsyntax.TokenOBrace) && bytes.HasSuffix(t.Bytes, []byte("\n")) {
			c.weight = f.item()
		}
	case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit:
		if c.last == t.Type { // it is joined with the one before, and what is behind it moves up
			c.moved += f.bytes + 16*f.parts
		}
		f.bytes, f.parts = f.bytes+len(t.Bytes), f.parts+1
	case hclsyntax.TokenIdent:
		if f.opener == hclsyntax.TokenTemplateControl {
			c.directive(string(t.Bytes))
		}
	case hclsyntax.TokenDot, hclsyntax.TokenEqual, hclsyntax.TokenNumberLit, hclsyntax.TokenEOF:
	default:
		c.weight++
	}
	c.last = t.Type
}

// close ends the innermost frame. A bracket that closes one of another kind is a mistake: where the parser goes on behind
// it cannot be foreseen, so from there on nothing is taken for closed.
func (c *counter) close(f *frame, opener hclsyntax.TokenType) {
	sequence := opener == hclsyntax.TokenTemplateInterp
	if c.wrong = c.wrong || f.opener != opener && !(sequence && f.opener == hclsyntax.TokenTemplateControl); c.wrong {
		return
	}
	c.weight = f.before + 1
	c.frames = c.frames[:len(c.frames)-1]
	if sequence {
		c.inner().parts++
		c.weight = c.inner().item()
	}
}

// directive counts a word in a directive, where these are keywords.
func (c *counter) directive(word string) {
	text := &c.frames[len(c.frames)-2]
	switch word {
	case "if", "for":
		text.directives++
	case "endif", "endfor":
		text.directives = max(0, text.directives-1)
	}
}

// checkNumber looks at a number literal. The parser makes a value of it at once, at a cost that grows with the square of
// its length, and an exponent decides how many digits it takes to write it down.
func checkNumber(lit string) Kind {
	if len(lit) > Longest {
		return Number
	}
	if e := strings.IndexAny(lit, "eE"); e >= 0 {
		if exp, _ := strconv.Atoi(strings.TrimLeft(lit[e+1:], "+-")); exp > Longest {
			return Exponent
		}
	}
	return None
}

// CheckJSON looks at a text in JSON syntax, and at every string in it that is a template with sequences in it.
func CheckJSON(src []byte, l limits.Limits) Problem {
	if p := readable(src, l); p.Kind != None {
		return p
	}
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	for depth := 0; ; {
		rest := bytes.TrimLeft(src[d.InputOffset():], " \t\r\n,:")
		kind := None
		token, err := d.Token()
		switch t := token.(type) {
		case json.Delim:
			if depth++; t == ']' || t == '}' {
				depth -= 2
			}
			if depth > l.Nesting {
				kind = Deep
			}
		case json.Number:
			kind = checkNumber(t.String())
		case string:
			if HasSequence(t) {
				kind = CheckTemplate([]byte(t), l).Kind
			}
		}
		at := len(src) - len(rest)
		switch {
		case err != nil && bytes.Count(rest, []byte("["))+bytes.Count(rest, []byte("{")) > l.Nesting:
			return Problem{Unbalanced, at + l.Nesting} // where the parser goes on behind a mistake cannot be foreseen
		case err != nil || kind != None:
			return Problem{kind, at}
		}
	}
}

// HasSequence reports whether a template may be more than literal text.
func HasSequence(s string) bool { return strings.Contains(s, "${") || strings.Contains(s, "%{") }

// Wide reports whether a text is in UTF-16, and says so, as what some editors and shells write does.
func Wide(text []byte) bool {
	return bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff"))
}

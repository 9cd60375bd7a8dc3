// Package syntax protects HCL's parser and evaluator from input without limits: they recurse with the nesting of their
// input, and Go programs cannot recover from a stack overflow.
//
// Parse, CheckExpression, CheckTemplate and CheckJSON inspect a text before the library parses it. Budget bounds the
// work of HCL's evaluator.
//
// UsesOf finds calls of functions in a text by its tokens.
//
// Worded improves the messages of the parser.
//
// The library's lexer does not recurse, and its tokens show how deep the parser will recurse. A bracket, string,
// heredoc or template sequence nests its content. In an item (an argument, an element), every operator and bracket can
// nest the rest of the item, regardless of the associativity. Lexing takes most of the time of parsing. So the lexer
// runs only if it is necessary. A short text with few brackets is parsed without a check, because it cannot nest deeper
// than the number of its brackets. Parse divides long texts into short pieces of whole blocks, and so avoids the check
// for them, too.
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

// Problem is the reason why a text must not be parsed.
type Problem struct {
	Kind Kind
	At   int // byte offset of the problem in the text; 0 for Tokens
}

// Kind is the kind of a Problem.
type Kind uint8

// The kinds of problems. None is the zero value.
const (
	None       Kind = iota
	Deep            // brackets, blocks and templates are nested deeper than limits.Limits.Nesting
	Long            // one expression nests operators and brackets deeper than Operators times limits.Limits.Nesting
	Tokens          // more words and symbols than limits.Limits.Tokens
	Number          // a number has more than Longest characters
	Exponent        // a number has an exponent above Longest or below -Longest
	Name            // a name has more than Longest bytes
	Text            // a string or heredoc has so many pieces that joining them takes long
	Comment         // a comment is not closed: at every slash, the library would search for its end again
	Encoding        // invalid UTF-8, for which the library's lexer reports wrong positions
	Unbalanced      // too many brackets follow a mistake, often an unbalanced bracket
)

// Operators is the number of operators that count as much as one bracket. Longest is the limit for the bytes of a name
// or a number, and for the exponent of a number.
const (
	Operators = 10
	Longest   = 10_000
)

const (
	joined = 10_000_000_000 // maximum number of bytes that joining the pieces of all texts moves
	short  = 8 << 10        // maximum number of bytes of a text that is lexed only if it has many brackets
)

// Parse parses a configuration in native syntax. If the text exceeds a limit, Parse does not parse it: body is nil, and
// p has the reason. Otherwise p is the zero Problem, diags has the syntax errors, and body has the parts that could be
// parsed. Of a text with the problem Unbalanced, Parse parses the part before the problem, so that diags has the
// mistake.
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
		src = src[:p.At] // parse the part before the problem, so that the parser reports the mistake
	default:
		return nil, nil, p
	}
	file, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	return file.Body.(*hclsyntax.Body), diags, Problem{}
}

// parsePieces parses a text in short pieces. A piece ends behind a brace that begins a line, which mostly ends a block.
// Otherwise the piece contains a mistake, because a bracket, string, heredoc or comment is not closed. If a text has a
// mistake, or a piece is not harmless (see harmless), parsePieces returns nil, and the caller must check and parse the
// whole text.
func parsePieces(src []byte, name string, l limits.Limits) *hclsyntax.Body {
	out := &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, EndRange: hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos}}
	for first := true; first || len(src) > 0; first = false {
		n := len(src)
		if n > short {
			if n = bytes.LastIndex(src[:short], []byte("\n}\n\n")); n < 0 { // a string may contain such a line, but rarely followed by an empty line
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

// CheckExpression returns the reason why the text of an expression must not be parsed, or the zero Problem.
func CheckExpression(src []byte, l limits.Limits) Problem {
	return checkUnlessHarmless(src, hclsyntax.LexExpression, l)
}

// CheckTemplate returns the reason why the text of a template must not be parsed, or the zero Problem.
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

// harmless reports whether a text is so short, and has so few brackets, that it needs no check. It returns false if a
// number may have a large exponent.
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
			nested += 2 // two levels: a template sequence is inside a string, or begins a directive
		case 'e', 'E':
			if exp := bytes.TrimLeft(src[i+1:], "+-"); i > 0 && isDigit(src[i-1]) && len(exp) > 4 && isDigit(exp[0]) && isDigit(exp[4]) {
				return false
			}
		}
	}
	return nested <= l.Nesting
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// readable checks the number of tokens and the encoding, without the lexer.
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

// Words counts words, symbols and lines. The number of tokens is about the same, except for texts and comments.
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

// IdentPart reports whether a byte can continue a name. It returns true for all bytes outside ASCII.
func IdentPart(c byte) bool {
	return c == '_' || c == '-' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 || isDigit(c)
}

type lexer func(src []byte, filename string, start hcl.Pos) (hclsyntax.Tokens, hcl.Diagnostics)

// frame is an open bracket, template sequence, string or heredoc.
type frame struct {
	opener       hclsyntax.TokenType
	at           int // offset of the first byte of the frame
	before       int // the weight of the counter at the beginning of the frame
	directives   int // number of open template directives in the frame
	parts, bytes int // number of pieces and of bytes of a text; a sequence is a piece without bytes
}

// item returns the weight of the counter at the beginning of an item of the frame (see counter).
func (f *frame) item() int { return f.before + Operators*(1+f.directives) }

// openers maps the token that closes a frame to the token that opens it. TokenTemplateControl opens a sequence, too.
var openers = map[hclsyntax.TokenType]hclsyntax.TokenType{
	hclsyntax.TokenCParen: hclsyntax.TokenOParen, hclsyntax.TokenCBrack: hclsyntax.TokenOBrack, hclsyntax.TokenCBrace: hclsyntax.TokenOBrace,
	hclsyntax.TokenCQuote: hclsyntax.TokenOQuote, hclsyntax.TokenCHeredoc: hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateSeqEnd: hclsyntax.TokenTemplateInterp,
}

// counter follows the tokens of a text. Its weight estimates the depth of the parser's recursion. An operator adds 1
// until its item ends. A frame adds Operators while it is open, and 1 after its end, until the item around it ends.
type counter struct {
	frames []frame
	weight int
	moved  int64 // number of bytes that the parser moves to join the pieces of texts
	wrong  bool
	last   hclsyntax.TokenType
}

func check(src []byte, lex lexer, l limits.Limits) Problem {
	const end = "*/" // the end of a comment, appended so that the lexer need not search for the end of each open comment again
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
		if c.last == t.Type { // the parser appends this piece to the previous piece, and moves the rest of the text
			c.moved += int64(f.bytes + 16*f.parts)
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

// close closes the innermost frame. If the closing bracket does not match the frame, the text has a mistake, and the
// place where the parser continues is unknown: from this mistake on, close closes no frame.
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

// directive updates the number of open directives of the text around a directive with the keyword word.
func (c *counter) directive(word string) {
	text := &c.frames[len(c.frames)-2]
	switch word {
	case "if", "for":
		text.directives++
	case "endif", "endfor":
		text.directives = max(0, text.directives-1)
	}
}

// checkNumber checks a number literal. The parser converts the literal at once. This takes a time that grows with the
// square of the length of the literal. The exponent determines how many digits the number has when it is written.
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

// CheckJSON returns the reason why a text in JSON syntax must not be parsed. It also checks every string in it that
// contains template sequences: the place of a problem in a string is the beginning of the string. If the text may be
// parsed, or has a syntax error, the Kind of the result is None, and its place has no meaning. After a syntax error,
// CheckJSON only checks that few brackets follow.
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
			return Problem{Unbalanced, at + l.Nesting} // the place where the parser continues after the mistake is unknown, so the text is refused
		case err != nil || kind != None:
			return Problem{kind, at}
		}
	}
}

// HasSequence reports whether a template may contain sequences.
func HasSequence(s string) bool { return strings.Contains(s, "${") || strings.Contains(s, "%{") }

// Wide reports whether a text begins with a byte order mark of UTF-16, which some editors and shells write.
func Wide(text []byte) bool {
	return bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff"))
}

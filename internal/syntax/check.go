// Package syntax protects HCL's parser and evaluator from input that they have no limit for: they recurse with the
// nesting of their input, and a stack that overflows cannot be caught.
//
// Check, CheckJSON and CheckTemplate look at a text before it is parsed; Budget bounds what HCL's own evaluator may do
// with what was parsed.
//
// One pass over the bytes, without building anything, finds how deep the parser's recursion and the tree that it would
// build can get. (The library's lexer would say the same, and takes 40 % of the time of parsing and 100 bytes of memory
// for each byte of a text; this takes 2 %.) A frame stands for an open bracket, string, heredoc or template sequence. In
// a frame items follow each other (arguments, elements), divided by commas, and by line ends where those count. An
// item grows deeper with every operator and bracket in it, whichever way the operators associate, so
//
//	weight(item)  = operators and brackets in it + the heaviest frame that was closed in it
//	weight(frame) = 1 + the heaviest of its items
//
// is never less than the depth of the tree, and a long list of small items weighs little.
package syntax

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/limits"
)

// Problem is what is wrong with a text before it is parsed.
type Problem struct {
	Kind  Kind
	At    int // byte offset
	Limit int // the limit that it passes, if there is a number
}

// Kind says what a Problem is.
type Kind uint8

// The kinds of problems. None is the zero value.
const (
	None     Kind = iota
	Deep          // brackets, blocks and templates inside each other
	Long          // operators and brackets on the longest way down one expression
	Tokens        // words and symbols
	Number        // characters of a number
	Exponent      // exponent of a number
	Name          // bytes of a name
	Text          // a string or heredoc of so many pieces that joining them takes long
	Comment       // nothing closes it: the library would look for its end again at every slash
	Encoding      // a byte that is not part of UTF-8: the library's lexer loses its place
)

const (
	operators = 10             // how many operators nest as much as a bracket
	longest   = 10_000         // bytes of a name or number, and the exponent of a number
	joined    = 10_000_000_000 // bytes that joining the pieces of one text may move
)

// Check looks at a text in native syntax; tokens is about how many words and symbols it has.
func Check(src []byte, l limits.Limits) (tokens int, p Problem) {
	if at := firstBad(src); at >= 0 {
		return 0, Problem{Kind: Encoding, At: at}
	}
	s := newScanner(l, code)
	return s.tokens, s.run(src)
}

// CheckTemplate looks at the text of a template.
func CheckTemplate(src []byte, l limits.Limits) Problem {
	return newScanner(l, heredoc).run(src)
}

// CheckJSON looks at a text in JSON syntax, and at every string in it that is a template with sequences in it.
func CheckJSON(src []byte, l limits.Limits) (tokens int, p Problem) {
	if at := firstBad(src); at >= 0 {
		return 0, Problem{Kind: Encoding, At: at}
	}
	var open []byte // closing brackets that are waited for; one of the wrong kind closes nothing
	for at := 0; at < len(src); tokens++ {
		c, start := src[at], at
		switch at++; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			tokens--
		case c == '"':
			at = jsonStringEnd(src, at)
			if raw := src[start:at]; HasSequence(raw) || bytes.Contains(raw, []byte(`\u`)) {
				var text string
				if json.Unmarshal(raw, &text) == nil { // else the parser says what is wrong with it
					p = CheckTemplate([]byte(text), l)
				}
			}
		case c == '-' || c >= '0' && c <= '9':
			for at < len(src) && bytes.IndexByte([]byte("+-.0123456789eE"), src[at]) >= 0 {
				at++
			}
			p = checkNumber(src[start:at])
		case c == '[' || c == '{':
			open = append(open, c+2) // in ASCII both closing brackets are two after their opening ones
			if len(open) > l.Nesting {
				p = Problem{Kind: Deep, Limit: l.Nesting}
			}
		case len(open) > 0 && c == open[len(open)-1]:
			open = open[:len(open)-1]
		}
		if p.Kind == None && tokens > l.Tokens {
			p = Problem{Kind: Tokens, Limit: l.Tokens}
		}
		if p.Kind != None {
			p.At = start
			return tokens, p
		}
	}
	return tokens, Problem{}
}

func jsonStringEnd(src []byte, at int) int {
	for ; at < len(src) && src[at] != '"'; at++ {
		if src[at] == '\\' {
			at++
		}
	}
	return min(at+1, len(src))
}

// HasSequence reports whether a template may be more than literal text.
func HasSequence(b []byte) bool {
	return bytes.Contains(b, []byte("${")) || bytes.Contains(b, []byte("%{"))
}

func firstBad(src []byte) int {
	if utf8.Valid(src) {
		return -1
	}
	for i := 0; ; {
		r, n := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
}

// IdentStart reports whether a name may begin with a byte, of UTF-8 any that is not ASCII.
func IdentStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// IdentPart reports whether a name may go on with a byte.
func IdentPart(c byte) bool { return IdentStart(c) || c == '-' || c >= '0' && c <= '9' }

// checkNumber looks at a number literal. The parser makes a value of it at once, at a cost that grows with the square of
// its length, and an exponent decides how many digits it takes to write it down.
func checkNumber(lit []byte) Problem {
	if len(lit) > longest {
		return Problem{Kind: Number, Limit: longest}
	}
	exp := 0
	if e := bytes.IndexAny(lit, "eE"); e >= 0 {
		for _, c := range lit[e+1:] {
			if c >= '0' && c <= '9' {
				exp = min(exp*10+int(c-'0'), longest+1)
			}
		}
	}
	if exp > longest {
		return Problem{Kind: Exponent, Limit: longest}
	}
	return Problem{}
}

// numberEnd is where the number literal that begins at i ends, by the library's rules: any dots may stand between digits.
func numberEnd(src []byte, i int) int {
	for {
		next := i
		for at(src, next) == '.' {
			next++
		}
		if c := at(src, next); c == 'e' || c == 'E' {
			if next++; at(src, next) == '+' || at(src, next) == '-' {
				next++
			}
		}
		if c := at(src, next); c < '0' || c > '9' {
			return i
		}
		i = next + 1
	}
}

func at(src []byte, i int) byte {
	if i < len(src) {
		return src[i]
	}
	return 0
}

// heredocMarker is what ends the heredoc that begins with the `<` at i, and where its text begins; nil if none does.
func heredocMarker(src []byte, i int) (marker []byte, text int) {
	if i++; at(src, i) != '<' {
		return nil, 0
	}
	if i++; at(src, i) == '-' {
		i++
	}
	start := i
	for i < len(src) && IdentPart(src[i]) {
		i++
	}
	marker = src[start:i]
	if at(src, i) == '\r' {
		i++
	}
	if at(src, i) != '\n' || !hclsyntax.ValidIdentifier(string(marker)) {
		return nil, 0
	}
	return marker, i + 1
}

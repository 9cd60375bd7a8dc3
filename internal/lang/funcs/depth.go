package funcs

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Neither HCL's parser nor its evaluator has a limit of its own, and a Go program that runs out of stack is
// gone. So a template is looked at before it is parsed.

// tokenShare is the part of MaxElements that a template may have in tokens: each takes the parser a few
// hundred bytes.
const tokenShare = 4

// unfit says why a template is not parsed, "" if it can be.
func unfit(src []byte, name string, l Limits) string {
	signs := codeSigns(src)
	switch {
	case signs > l.MaxElements/tokenShare:
		return fmt.Sprintf("Expressions and control sequences in a template can have %d tokens in all.", l.MaxElements/tokenShare)
	case signs > l.MaxDepth && tooDeep(src, name, l.MaxDepth):
		return fmt.Sprintf("Expressions and control sequences in a template can be nested %d levels deep.", l.MaxDepth)
	}
	return ""
}

// codeSigns is how many tokens other than names and numbers a template can have at most. It takes text in
// quotes for code.
func codeSigns(src []byte) int {
	count, open := 0, 0
	for i, b := range src {
		begins := b == '{' && i > 0 && (src[i-1] == '$' || src[i-1] == '%')
		switch {
		case begins:
			open++
		case open == 0:
			continue
		case b == '{':
			open++
		case b == '}':
			open--
		}
		if !alphanumeric(b) && b != ' ' {
			count++
		}
	}
	return count
}

func alphanumeric(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b >= 0x80
}

// tooDeep reports whether parsing or evaluating a template would recurse more than limit levels deep.
// The scanner does not recurse, so its tokens tell: brackets and templates nest, control sequences nest
// until their end, and each operator of an expression can nest the rest of it.
func tooDeep(src []byte, name string, limit int) bool {
	tokens, _ := hclsyntax.LexTemplate(src, name, hcl.InitialPos)
	d := nesting{levels: []level{{}}}
	for i, t := range tokens {
		d.token(t, i > 0 && tokens[i-1].Type == hclsyntax.TokenTemplateControl)
		if d.depth() > limit {
			return true
		}
	}
	return false
}

// nesting is where the tokens have led to.
type nesting struct {
	levels  []level
	ops     int // of all levels
	control int // control sequences without their end
}

// level is a bracket that is open.
type level struct {
	ops   int  // operators in the expression that is being read
	brace bool // an object, in which a line break ends an expression
}

func (d *nesting) depth() int { return len(d.levels) + d.ops + d.control }

func (d *nesting) token(t hclsyntax.Token, first bool) {
	switch t.Type {
	case hclsyntax.TokenOParen, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc,
		hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		d.levels = append(d.levels, level{})
	case hclsyntax.TokenOBrace:
		d.levels = append(d.levels, level{brace: true})
	case hclsyntax.TokenOBrack: // may be an index, which nests what is before it
		d.op()
		d.levels = append(d.levels, level{})
	case hclsyntax.TokenCParen, hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc,
		hclsyntax.TokenTemplateSeqEnd:
		d.close()
	case hclsyntax.TokenComma:
		d.next()
	case hclsyntax.TokenNewline:
		if d.levels[len(d.levels)-1].brace {
			d.next()
		}
	case hclsyntax.TokenIdent:
		if first {
			d.sequence(string(t.Bytes))
		}
	case hclsyntax.TokenStar, hclsyntax.TokenSlash, hclsyntax.TokenPlus, hclsyntax.TokenMinus, hclsyntax.TokenPercent,
		hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual, hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq,
		hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq, hclsyntax.TokenAnd, hclsyntax.TokenOr, hclsyntax.TokenBang,
		hclsyntax.TokenQuestion:
		d.op()
	}
}

func (d *nesting) op() {
	d.levels[len(d.levels)-1].ops++
	d.ops++
}

// next begins another expression on the same level.
func (d *nesting) next() {
	l := &d.levels[len(d.levels)-1]
	d.ops -= l.ops
	l.ops = 0
}

func (d *nesting) close() {
	if n := len(d.levels) - 1; n > 0 {
		d.ops -= d.levels[n].ops
		d.levels = d.levels[:n]
	}
}

// sequence is the word that begins a control sequence.
func (d *nesting) sequence(word string) {
	switch word {
	case "if", "for":
		d.control++
	case "endif", "endfor":
		d.control = max(0, d.control-1)
	}
}

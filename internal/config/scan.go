package config

import (
	"bytes"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// weighNative measures a text in native syntax. It follows the lexical rules of the HCL library's
// scanner (a fuzz target compares the two), and where a text is broken it errs towards more.
func weighNative(src []byte, l Limits) (tokens int, t trouble) {
	if i := firstBad(src); i >= 0 {
		return 0, trouble{kind: badEncoding, at: i}
	}
	s := &scanner{src: src, scale: newScale(l)}
	t = s.run()
	return s.tokens, t
}

type scanner struct {
	*scale
	src  []byte
	pos  int
	bare bool // the text is a template as a whole, as strings in JSON syntax are
}

func (s *scanner) run() trouble {
	for s.pos < len(s.src) && s.out.kind == noTrouble {
		switch s.inner().template(s.bare) {
		case quoteFrame:
			s.quoted()
		case heredocFrame:
			s.heredoc()
		default:
			s.normal()
		}
	}
	return s.end(len(s.src))
}

// template says how the text inside f is read: as a quoted string, as a heredoc or bare template,
// or (topFrame) as ordinary source. A directive is as what holds it.
func (f *frame) template(bare bool) frameKind {
	switch {
	case f.kind == quoteFrame || f.quoted:
		return quoteFrame
	case f.kind == heredocFrame || f.kind == directiveFrame || f.kind == topFrame && bare:
		return heredocFrame
	}
	return topFrame
}

func (s *scanner) at(i int) byte {
	if i < len(s.src) {
		return s.src[i]
	}
	return 0
}

// normal reads one token outside of strings.
func (s *scanner) normal() {
	c := s.src[s.pos]
	switch {
	case c == ' ' || c == '\t' || c == '\r':
		s.pos++
		return
	case identStart(c):
		s.ident()
	case c >= '0' && c <= '9':
		s.number()
	case c == '#' || c == '/' && s.at(s.pos+1) == '/':
		s.lineComment()
	case c == '/' && s.at(s.pos+1) == '*':
		s.blockComment()
	default:
		s.symbol(c)
	}
	s.token(s.pos)
}

func (s *scanner) symbol(c byte) {
	at := s.pos
	s.pos++
	switch c {
	case '\n':
		if k := s.inner().kind; k == topFrame || k == braceFrame {
			s.next()
		}
	case ',':
		s.next()
	case '(':
		s.open(parenFrame, at)
	case '[':
		s.open(brackFrame, at)
	case '{':
		s.open(braceFrame, at)
	case ')':
		s.close(parenFrame, at, holdsBrackets)
	case ']':
		s.close(brackFrame, at, holdsBrackets)
	case '}':
		s.closeBrace(at)
	case '"':
		s.open(quoteFrame, at)
	case '<':
		if !s.openHeredoc(at) {
			s.op(at)
		}
	case '+', '-', '*', '/', '%', '!', '>', '=', '&', '|', '?', ':':
		s.op(at)
	}
}

func identStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func identPart(c byte) bool { return identStart(c) || c == '-' || c >= '0' && c <= '9' }

func (s *scanner) ident() {
	start := s.pos
	for s.pos < len(s.src) && identPart(s.src[s.pos]) {
		s.pos++
	}
	if s.pos-start > s.limits.Digits {
		s.fail(nameTooLong, start, s.limits.Digits)
	}
	if f := s.inner(); f.fresh {
		f.word(s.src[start:s.pos])
	}
}

// number reads a number literal. The parser turns it into a value at once, at a cost that grows
// with the square of its length, and an exponent decides how many digits printing it takes.
func (s *scanner) number() {
	start := s.pos
	s.pos = numberEnd(s.src, start)
	s.checkNumber(s.src[start:s.pos], start)
}

// numberEnd is where the number literal that begins at start ends.
func numberEnd(src []byte, start int) int {
	at := func(i int) byte {
		if i < len(src) {
			return src[i]
		}
		return 0
	}
	i := start
	for {
		dots := i
		for at(dots) == '.' {
			dots++
		}
		n := exponent(src, dots)
		switch c := at(dots); {
		case c >= '0' && c <= '9':
			i = dots + 1
		case n > 0:
			i = dots + n
		default:
			return i
		}
	}
}

// exponent is the length of the exponent mark at i with its sign and first digit, 0 if none is
// there.
func exponent(src []byte, i int) int {
	for n, c := range src[i:min(i+3, len(src))] {
		switch {
		case n == 0 && (c == 'e' || c == 'E'), n == 1 && (c == '+' || c == '-'):
		case n > 0 && c >= '0' && c <= '9':
			return n + 1
		default:
			return 0
		}
	}
	return 0
}

func (s *scale) checkNumber(lit []byte, at int) {
	if len(lit) > s.limits.Digits {
		s.fail(numberTooLong, at, s.limits.Digits)
		return
	}
	e := bytes.IndexAny(lit, "eE")
	if e < 0 {
		return
	}
	exp := 0
	for _, c := range lit[e+1:] {
		if c < '0' || c > '9' {
			continue
		}
		if exp = exp*10 + int(c-'0'); exp > s.limits.Exponent {
			s.fail(exponentTooLarge, at, s.limits.Exponent)
			return
		}
	}
}

// lineComment reads up to the end of the line, which then counts as a line end.
func (s *scanner) lineComment() {
	n := bytes.IndexByte(s.src[s.pos:], '\n')
	if n < 0 {
		s.pos = len(s.src)
		return
	}
	s.pos += n
}

// blockComment refuses a comment that nothing closes: the HCL library would look for its end
// again at every slash.
func (s *scanner) blockComment() {
	n := bytes.Index(s.src[s.pos+2:], []byte("*/"))
	if n < 0 {
		s.fail(openComment, s.pos, 0)
		s.pos = len(s.src)
		return
	}
	s.pos += n + 4
}

// quoted reads the inside of a quoted string up to the next quote or template sequence.
func (s *scanner) quoted() {
	start := s.pos
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; c {
		case '"':
			at := s.pos
			s.piece(at - start)
			s.pos++
			s.close(quoteFrame, at, func(k frameKind) bool { return k != directiveFrame })
			s.token(at)
			return
		case '\\':
			s.pos++
			if c := s.at(s.pos); c != '\n' && c != '\r' {
				s.pos++
			}
		case '$', '%':
			if s.sequence(c, start) {
				return
			}
			start = s.pos
		default:
			s.pos++
		}
	}
	s.piece(s.pos - start)
}

// sequence reads what may begin a template sequence after the text since start, and reports
// whether it did. If not, it is a piece of text by itself.
func (s *scanner) sequence(c byte, start int) bool {
	at := s.pos
	if at > start {
		s.piece(at - start)
	}
	switch {
	case s.at(at+1) == '{':
		s.pos += 2
		if s.at(s.pos) == '~' {
			s.pos++
		}
		s.openSequence(c, at)
		return true
	case s.at(at+1) == c && s.at(at+2) == '{':
		s.pos += 3
	default:
		s.pos++
	}
	s.piece(s.pos - at)
	return false
}

func (s *scanner) openSequence(c byte, at int) {
	s.midline()
	s.sequencePart()
	k := interpFrame
	if c == '%' {
		k = controlFrame
	}
	s.open(k, at).fresh = k == controlFrame
	s.token(at)
}

// midline notes that the heredoc being read is not at the start of a line any more.
func (s *scanner) midline() {
	for i := len(s.frames) - 1; i > 0; i-- {
		if s.frames[i].kind == heredocFrame {
			s.frames[i].midline = true
			return
		}
		if s.frames[i].kind != directiveFrame {
			return
		}
	}
}

// openHeredoc recognises the introducer `<<EOT` or `<<-EOT` with its line end.
func (s *scanner) openHeredoc(at int) bool {
	i := at + 1
	if s.at(i) != '<' {
		return false
	}
	if i++; s.at(i) == '-' {
		i++
	}
	start := i
	for i < len(s.src) && identPart(s.src[i]) {
		i++
	}
	marker := s.src[start:i]
	if s.at(i) == '\r' {
		i++
	}
	if len(marker) == 0 || !identStart(marker[0]) || s.at(i) != '\n' || !validMarker(marker) {
		return false
	}
	s.pos = i + 1
	s.open(heredocFrame, at).marker = marker
	return true
}

func validMarker(m []byte) bool {
	for _, c := range m {
		if c >= 0x80 {
			return hclsyntax.ValidIdentifier(string(m))
		}
	}
	return true
}

// heredoc reads one line of a heredoc, or up to the next template sequence in it.
func (s *scanner) heredoc() {
	start, at := s.pos, s.pos // of the line, and of the piece
	doc := s.heredocFrame()
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; c {
		case '\n':
			if doc != nil && !doc.midline && bytes.Equal(bytes.TrimSpace(s.src[start:s.pos]), doc.marker) {
				s.close(heredocFrame, s.pos, func(k frameKind) bool { return k != directiveFrame })
				s.token(s.pos)
				return // the line end is read again, as a line end
			}
			s.pos++
			if doc != nil {
				doc.midline = false
			}
			s.piece(s.pos - at)
			s.token(s.pos)
			return
		case '$', '%':
			if s.sequence(c, at) {
				return
			}
			at = s.pos
			if doc != nil {
				doc.midline = true
			}
		default:
			s.pos++
		}
	}
	s.piece(s.pos - at)
}

// heredocFrame is the heredoc that is being read, nil in a bare template.
func (s *scanner) heredocFrame() *frame {
	for i := len(s.frames) - 1; i > 0; i-- {
		switch s.frames[i].kind {
		case heredocFrame:
			return &s.frames[i]
		case directiveFrame:
		default:
			return nil
		}
	}
	return nil
}

package syntax

import (
	"bytes"

	"github.com/lethe-iac/lethe/internal/limits"
)

// The kinds of frames are what opens them.
const (
	code    = 'c' // the whole text, or
	heredoc = '<' // a heredoc, and the whole of a bare template
	quote   = '"'
	interp  = '$'
	control = '%' // %{
)

type frame struct {
	kind byte
	ops  int // of the current item
	best int // heaviest frame closed in the current item
	top  int // heaviest item so far

	marker     []byte // of a heredoc; nil: nothing ends it
	line       int    // where its current line begins, -1 behind a sequence in it
	at         int    // where a text begins
	parts      int    // of a text
	run, bytes int    // pieces since its last sequence, and their length
}

// scanner reads one text.
type scanner struct {
	src    []byte
	pos    int
	limits limits.Limits
	frames []frame
	sum    int // operators in the current items of all open frames
	blocks int // template directives that have not ended
	joins  int // bytes moved to join the pieces of texts
	tokens int
	out    Problem
}

func newScanner(l limits.Limits, kind byte) *scanner {
	return &scanner{limits: l, frames: append(make([]frame, 0, 16), frame{kind: kind})}
}

func (s *scanner) run(src []byte) Problem {
	for s.src = src; s.pos < len(src) && s.out.Kind == None; {
		if k := s.inner().kind; k == quote || k == heredoc {
			s.text()
		} else {
			s.token()
		}
	}
	for len(s.frames) > 1 {
		s.pop()
	}
	s.join(s.inner())
	return s.out
}

func (s *scanner) inner() *frame { return &s.frames[len(s.frames)-1] }

// fail remembers the first problem; reading stops there.
func (s *scanner) fail(k Kind, at int, limit int) {
	if s.out.Kind == None {
		s.out = Problem{k, at, limit}
	}
}

// token reads one token outside of strings.
func (s *scanner) token() {
	start := s.pos
	c := s.src[start]
	s.pos++
	switch {
	case c == ' ' || c == '\t' || c == '\r':
		return
	case IdentStart(c):
		s.word(start)
	case c >= '0' && c <= '9':
		s.pos = numberEnd(s.src, start)
		if p := checkNumber(s.src[start:s.pos]); p.Kind != None {
			s.fail(p.Kind, start, p.Limit)
		}
	case c == '#' || c == '/' && at(s.src, s.pos) == '/':
		if n := bytes.IndexByte(s.src[s.pos:], '\n'); n >= 0 {
			s.pos += n
		} else {
			s.pos = len(s.src)
		}
	case c == '/' && at(s.src, s.pos) == '*':
		n := bytes.Index(s.src[s.pos+1:], []byte("*/"))
		if n < 0 {
			s.fail(Comment, start, 0)
		}
		s.pos += n + 3
	default:
		s.symbol(c, start)
	}
	if s.tokens++; s.tokens > s.limits.Tokens {
		s.fail(Tokens, start, s.limits.Tokens)
	}
}

func (s *scanner) word(start int) {
	for s.pos < len(s.src) && IdentPart(s.src[s.pos]) {
		s.pos++
	}
	if s.pos-start > longest {
		s.fail(Name, start, longest)
	}
	if s.inner().kind != control {
		return
	}
	switch string(s.src[start:s.pos]) { // of a directive these are keywords, and nowhere else in one
	case "if":
		s.blocks++
	case "for":
		s.blocks++
	case "endif", "endfor":
		s.blocks = max(0, s.blocks-1)
	}
}

func (s *scanner) symbol(c byte, start int) {
	switch c {
	case '\n':
		if k := s.inner().kind; k == code || k == '{' {
			s.next()
		}
	case ',':
		s.next()
	case '(', '[', '{':
		s.op(start)
		s.push(c, start)
	case ')':
		s.close('(')
	case ']':
		s.close('[')
	case '}':
		s.closeBrace()
	case '"':
		s.push(quote, start)
	case '<':
		if marker, text := heredocMarker(s.src, start); marker != nil {
			f := s.push(heredoc, start)
			f.marker, f.line, s.pos = marker, text, text
			return
		}
		s.op(start)
	case '+', '-', '*', '/', '%', '!', '>', '=', '&', '|', '?', ':':
		s.op(start)
	}
}

// op counts an operator, or anything else that puts what follows or went before a level deeper.
func (s *scanner) op(at int) {
	s.inner().ops++
	s.sum++
	s.check(at)
}

func (s *scanner) check(at int) {
	if s.sum+len(s.frames)+s.inner().best > operators*s.limits.Nesting {
		s.fail(Long, at, operators*s.limits.Nesting)
	}
	if len(s.frames)-1+s.blocks > s.limits.Nesting {
		s.fail(Deep, at, s.limits.Nesting)
	}
}

func (s *scanner) push(kind byte, at int) *frame {
	s.frames = append(s.frames, frame{kind: kind, at: at, line: -1})
	s.check(at)
	return s.inner()
}

// next ends the current item of the innermost frame.
func (s *scanner) next() {
	f := s.inner()
	f.top = max(f.top, f.ops+f.best)
	s.sum -= f.ops
	f.ops, f.best = 0, 0
}

// pop ends the innermost frame.
func (s *scanner) pop() {
	s.next()
	f := s.inner()
	s.join(f)
	s.frames = s.frames[:len(s.frames)-1]
	outer := s.inner()
	outer.best = max(outer.best, f.top+1)
	s.check(s.pos)
}

// join adds up the work of joining the pieces of a text since its last sequence: each time what is there is copied, and
// the parts of the whole text behind it are moved.
func (s *scanner) join(f *frame) {
	if f.run > 1 {
		s.joins += (f.run-1)*f.bytes/2 + 8*f.parts*(f.run-1)
	}
	if f.run, f.bytes = 0, 0; s.joins > joined {
		s.fail(Text, f.at, 0)
	}
}

// close ends the nearest bracket of a kind, and those that are open in it.
func (s *scanner) close(kind byte) {
	for i := len(s.frames) - 1; i > 0 && (s.frames[i].kind == '(' || s.frames[i].kind == '['); i-- {
		if s.frames[i].kind == kind {
			s.popTo(i)
			return
		}
	}
}

// closeBrace ends a template sequence or the nearest brace.
func (s *scanner) closeBrace() {
	for i := len(s.frames) - 1; i > 0; i-- {
		switch s.frames[i].kind {
		case '{':
			s.popTo(i)
			return
		case interp, control:
			s.popTo(i)
			s.next()
			return
		case '(', '[':
		default:
			return
		}
	}
}

func (s *scanner) popTo(i int) {
	for len(s.frames) > i {
		s.pop()
	}
}

// text reads a quoted string or a heredoc up to its end, or up to a template sequence in it.
func (s *scanner) text() {
	f, start := s.inner(), s.pos // of a piece
	piece := func() {
		if s.pos > start {
			f.parts++
			f.run++
			f.bytes += s.pos - start
		}
		start = s.pos
	}
	for s.pos < len(s.src) {
		c, next := s.src[s.pos], at(s.src, s.pos+1)
		switch {
		case f.ends(s.src, s.pos):
			piece()
			if s.tokens++; c == '"' {
				s.pos++
			}
			s.pop() // behind a heredoc the line end is read again, as a line end
			return
		case c == '\n' && f.kind == heredoc:
			s.pos++
			piece()
			f.line = s.pos
		case c == '\\' && f.kind == quote && next != '\n' && next != '\r':
			s.pos += 2
		case (c == '$' || c == '%') && next == '{':
			piece()
			s.join(f)
			f.parts++
			f.line = -1
			s.op(s.pos)
			s.push(c, s.pos)
			s.tokens++
			s.pos += 2
			return
		case c == '$' || c == '%':
			piece()
			if s.pos++; next == c && at(s.src, s.pos+1) == '{' {
				s.pos += 2
			}
			piece()
			f.line = -1
		default:
			s.pos++
		}
	}
	s.pos = len(s.src)
	piece()
}

// ends reports whether the character at i ends the text.
func (f *frame) ends(src []byte, i int) bool {
	switch src[i] {
	case '"':
		return f.kind == quote
	case '\n':
		return f.marker != nil && f.line >= 0 && bytes.Equal(bytes.TrimSpace(src[f.line:i]), f.marker)
	}
	return false
}

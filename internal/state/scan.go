package state

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
)

// maxDepth bounds how deep JSON may nest, so that hostile files cannot exhaust anything.
const maxDepth = 10000

// scanner reads JSON by position. Values nobody needs to understand, attributes above all, are
// checked and handed out as slices of the input: nothing is copied, nothing is decoded.
//
// The first mistake is kept in err and moves the position to the end, where every method finds
// nothing more to do; so callers read straight through and look at err once.
type scanner struct {
	in  []byte
	pos int
	err *syntaxError
}

// syntaxError is a place in the input and what is wrong there.
type syntaxError struct {
	pos  int
	what string
}

func (e *syntaxError) Error() string { return e.what }

// fail keeps the first mistake and ends the reading.
func (s *scanner) fail(format string, a ...any) { s.failAt(s.pos, format, a...) }

func (s *scanner) failAt(pos int, format string, a ...any) {
	if s.err == nil {
		s.err = &syntaxError{pos, fmt.Sprintf(format, a...)}
	}
	s.pos = len(s.in)
}

// spaces is eight blanks: files are indented, so most of a large one is passed eight at a time.
const spaces = 0x2020202020202020

// peek passes white space and gives the byte after it, 0 at the end.
func (s *scanner) peek() byte {
	in, p := s.in, s.pos
	for p < len(in) {
		switch in[p] {
		case ' ':
			for p+8 <= len(in) && binary.LittleEndian.Uint64(in[p:]) == spaces {
				p += 8
			}
			for p < len(in) && in[p] == ' ' {
				p++
			}
		case '\n', '\r', '\t':
			p++
		default:
			s.pos = p
			return in[p]
		}
	}
	s.pos = p
	return 0
}

// want passes the byte c.
func (s *scanner) want(c byte) bool {
	if got := s.peek(); got != c || s.pos == len(s.in) {
		s.expected(fmt.Sprintf("%q", c))
		return false
	}
	s.pos++
	return true
}

func (s *scanner) expected(what string) {
	if s.pos >= len(s.in) {
		s.fail("the file ends where %s should be", what)
		return
	}
	s.fail("%s should be here, not %q", what, s.in[s.pos])
}

// more steps to the next member of an object or array that ends with end; first says that none
// was read yet.
func (s *scanner) more(end byte, first bool) bool {
	switch c := s.peek(); {
	case c == end && s.pos < len(s.in):
		s.pos++
		return false
	case first:
		return s.err == nil
	case c == ',':
		s.pos++
		return true
	}
	s.expected(fmt.Sprintf("a comma or %q", end))
	return false
}

// object reads an object and calls field with the position at each value, which field must pass.
// null is no object but passes for an empty one.
func (s *scanner) object(field func(key []byte)) {
	if s.null() || !s.want('{') {
		return
	}
	for first := true; s.more('}', first); first = false {
		if s.peek() != '"' {
			s.expected("a quoted name")
			return
		}
		key := s.str()
		if s.want(':') {
			field(key)
		}
		if s.err != nil {
			return
		}
	}
}

// array reads an array and calls elem with the position at each value. null passes for an empty one.
func (s *scanner) array(elem func()) {
	if s.null() || !s.want('[') {
		return
	}
	for first := true; s.more(']', first); first = false {
		elem()
		if s.err != nil {
			return
		}
	}
}

// null passes a null, if one is here.
func (s *scanner) null() bool {
	if s.peek() == 'n' && bytes.HasPrefix(s.in[s.pos:], []byte("null")) {
		s.pos += 4
		return true
	}
	return false
}

// str reads a string; the result is a part of the input unless it has escapes.
func (s *scanner) str() []byte {
	start := s.pos
	raw := s.quotedString()
	if raw == nil {
		return nil
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var out string
	if err := json.Unmarshal(raw, &out); err != nil {
		s.failAt(start, "the string is not valid: %v", err)
	}
	return []byte(out)
}

// text reads a string, or null as an empty one.
func (s *scanner) text() []byte {
	if s.null() {
		return nil
	}
	return s.str()
}

// quoted reads a string, or null, as it stands in the file.
func (s *scanner) quoted() []byte {
	if s.null() {
		return nil
	}
	return s.quotedString()
}

// quotedString reads a string with its quotes, nil if there is none.
func (s *scanner) quotedString() []byte {
	if s.peek() != '"' {
		s.expected("a string")
		return nil
	}
	from := s.pos
	if !s.skipString() {
		return nil
	}
	return s.in[from:s.pos]
}

// boolean reads true or false, or null as false.
func (s *scanner) boolean() bool {
	switch s.peek() {
	case 't':
		s.word("true")
		return true
	case 'f':
		s.word("false")
	case 'n':
		s.word("null")
	default:
		s.expected("true or false")
	}
	return false
}

// uint reads a whole number of 0 or more.
func (s *scanner) uint() uint64 {
	if c := s.peek(); c < '0' || c > '9' {
		s.expected("a whole number of 0 or more")
		return 0
	}
	start := s.pos
	s.number()
	var n uint64
	for _, c := range s.in[start:min(s.pos, len(s.in))] {
		if c < '0' || c > '9' {
			s.failAt(start, "a whole number of 0 or more should be here")
			return 0
		}
		hi, lo := bits.Mul64(n, 10)
		sum, carry := bits.Add64(lo, uint64(c-'0'), 0)
		if hi+carry > 0 {
			s.failAt(start, "the number is too large")
			return 0
		}
		n = sum
	}
	return n
}

// raw passes any value and gives its text.
func (s *scanner) raw() []byte {
	s.peek()
	start := s.pos
	s.skip()
	if s.err != nil {
		return nil
	}
	return s.in[start:s.pos:s.pos]
}

// skip passes any value, checking that it is one.
func (s *scanner) skip() {
	open := make([]byte, 0, 64) // the closing bytes still due
	for {
		switch c := s.peek(); c {
		case '{', '[':
			s.pos++
			open = append(open, c+2) // '}' is '{'+2, ']' is '['+2
			if len(open) > maxDepth {
				s.fail("the nesting is deeper than %d", maxDepth)
				return
			}
			if s.peek() != c+2 {
				if c == '{' {
					s.name()
				}
				continue
			}
		case '"':
			s.skipString()
		case 't':
			s.word("true")
		case 'f':
			s.word("false")
		case 'n':
			s.word("null")
		default:
			s.number()
		}
		if open = s.leave(open); len(open) == 0 || s.err != nil {
			return
		}
	}
}

// leave passes what may stand after a value inside the given brackets, up to the next value or
// the end of the outermost bracket.
func (s *scanner) leave(open []byte) []byte {
	for len(open) > 0 && s.err == nil {
		end := open[len(open)-1]
		switch s.peek() {
		case ',':
			s.pos++
			if end == '}' {
				s.name()
			}
			return open
		case end:
			s.pos++
			open = open[:len(open)-1]
		default:
			s.expected(fmt.Sprintf("a comma or %q", end))
		}
	}
	return open
}

// name passes a member's name and the colon after it.
func (s *scanner) name() {
	if s.peek() != '"' {
		s.expected("a quoted name")
		return
	}
	if s.skipString() {
		s.want(':')
	}
}

func (s *scanner) word(w string) {
	if !bytes.HasPrefix(s.in[s.pos:], []byte(w)) {
		s.expected("a value")
		return
	}
	s.pos += len(w)
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special has the high bit set in bytes that end a plain run inside a string: quotes, backslashes
// and control characters. The lowest bit set is exact.
func special(x uint64) uint64 {
	q, b := x^(ones*'"'), x^(ones*'\\')
	return ((q-ones)&^q | (b-ones)&^b | (x-ones*0x20)&^x) & highs
}

// skipString passes a string and reports whether it is one.
func (s *scanner) skipString() bool {
	in, start, p := s.in, s.pos, s.pos+1
	for {
		for p+8 <= len(in) {
			m := special(binary.LittleEndian.Uint64(in[p:]))
			if m != 0 {
				p += bits.TrailingZeros64(m) / 8
				break
			}
			p += 8
		}
		for p < len(in) && in[p] >= 0x20 && in[p] != '"' && in[p] != '\\' {
			p++
		}
		switch {
		case p >= len(in):
			s.failAt(start, "the string that begins here is not closed")
			return false
		case in[p] == '"':
			s.pos = p + 1
			return true
		case in[p] == '\\':
			n := escapeLen(in[p:])
			if n == 0 {
				s.failAt(p, "this is no escape that JSON has")
				return false
			}
			p += n
		default:
			s.failAt(p, "a control character stands in a string")
			return false
		}
	}
}

// escapeLen is the length of the escape at the start of b, 0 if it is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
				return 0
			}
		}
		return 6
	}
	return 0
}

// number passes a number.
func (s *scanner) number() {
	in, p := s.in, s.pos
	digits := func() bool {
		from := p
		for p < len(in) && in[p] >= '0' && in[p] <= '9' {
			p++
		}
		return p > from
	}
	if p < len(in) && in[p] == '-' {
		p++
	}
	zero := p < len(in) && in[p] == '0'
	from := p
	ok := digits() && (!zero || p == from+1)
	if ok && p < len(in) && in[p] == '.' {
		p++
		ok = digits()
	}
	if ok && p < len(in) && (in[p] == 'e' || in[p] == 'E') {
		p++
		if p < len(in) && (in[p] == '+' || in[p] == '-') {
			p++
		}
		ok = digits()
	}
	if !ok {
		s.expected("a value")
		return
	}
	s.pos = p
}

// position is the line and column of a byte offset, both from 1.
func position(in []byte, pos int) (line, column int) {
	before := in[:min(pos, len(in))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

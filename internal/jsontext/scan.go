package jsontext

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
)

// maxDepth is the maximum depth of nested arrays and objects, so that malicious files cannot exhaust the stack.
const maxDepth = 10000

// Scanner reads JSON text by position. At the first mistake, it sets Err and moves the position to the end of the text,
// where all methods return at once. So callers need not check for errors after each call; they check Err once at the
// end.
type Scanner struct {
	In  []byte
	Pos int
	Err *Error
}

// Error is a mistake in the JSON text. Pos is its offset in bytes, and What describes it.
type Error struct {
	Pos  int
	What string
}

func (e *Error) Error() string { return e.What }

// Fail records a mistake at the current position, and moves the position to the end. If a mistake was recorded before,
// that mistake is kept.
func (s *Scanner) Fail(format string, a ...any) { s.FailAt(s.Pos, format, a...) }

// FailAt records a mistake at the offset pos, and moves the position to the end. If a mistake was recorded before, that
// mistake is kept.
func (s *Scanner) FailAt(pos int, format string, a ...any) {
	if s.Err == nil {
		s.Err = &Error{pos, fmt.Sprintf(format, a...)}
	}
	s.Pos = len(s.In)
}

// spaces has eight blanks. Most of a large file is indentation, over which Peek moves eight bytes at a time.
const spaces = 0x2020202020202020

// Peek advances past white space and returns the next byte, or 0 at the end.
func (s *Scanner) Peek() byte {
	in, p := s.In, s.Pos
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
			s.Pos = p
			return in[p]
		}
	}
	s.Pos = p
	return 0
}

// Want advances past white space and the byte c. If another byte follows, Want records a mistake and returns false.
func (s *Scanner) Want(c byte) bool {
	if got := s.Peek(); got != c || s.Pos == len(s.In) {
		s.Expected(fmt.Sprintf("%q", c))
		return false
	}
	s.Pos++
	return true
}

// Expected records a mistake: the current position lacks the expected text. The parameter what describes this text, such
// as "a number".
func (s *Scanner) Expected(what string) {
	if s.Pos >= len(s.In) {
		s.Fail("the text ends where %s should be", what)
		return
	}
	s.Fail("%s should be here, not %q", what, s.In[s.Pos])
}

// More advances to the next member of an object or array, past the comma before the member. At the end of the object or
// array, it advances past the closing bracket end and returns false. If neither a comma nor end follows, it records a
// mistake and returns false. first is true before the first member, which needs no comma.
func (s *Scanner) More(end byte, first bool) bool {
	if s.Err != nil {
		return false
	}
	switch c := s.Peek(); {
	case c == end && s.Pos < len(s.In):
		s.Pos++
		return false
	case first:
		return true
	case c == ',':
		s.Pos++
		return true
	}
	s.Expected(fmt.Sprintf("a comma or %q", end))
	return false
}

// Object reads an object, and calls field at the position of the value of each member. field must advance past the
// value. Null is read as an empty object.
func (s *Scanner) Object(field func(key []byte)) {
	if s.Null() || !s.Want('{') {
		return
	}
	for first := true; s.More('}', first); first = false {
		if key := s.Name(); s.Err == nil {
			field(key)
		}
	}
}

// Name reads the name of a member and the colon after it. If the next text is not a quoted name, it records a mistake
// and returns nil.
func (s *Scanner) Name() []byte {
	if s.Peek() != '"' {
		s.Expected("a quoted name")
		return nil
	}
	name := s.Str()
	s.Want(':')
	return name
}

// Array reads an array, and calls elem at the position of each element. elem must advance past the element. Null is
// read as an empty array.
func (s *Scanner) Array(elem func()) {
	if s.Null() || !s.Want('[') {
		return
	}
	for first := true; s.More(']', first); first = false {
		elem()
	}
}

// Null reports whether null is the next value. If so, it advances past null.
func (s *Scanner) Null() bool {
	if s.Peek() == 'n' && bytes.HasPrefix(s.In[s.Pos:], []byte("null")) {
		s.Pos += 4
		return true
	}
	return false
}

// Str reads a string and returns its text without quotes. The result is a slice of the input, unless the string has
// escapes. If the next value is not a string, Str records a mistake and returns nil.
func (s *Scanner) Str() []byte {
	start := s.Pos
	raw := s.quotedString()
	if raw == nil {
		return nil
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	out, err := Unquote(raw)
	if err != nil {
		s.FailAt(start, "the string is not valid: %v", err)
	}
	return []byte(out)
}

// Unquote returns the text of raw, a JSON string with its quotes. Replacement characters (U+FFFD) replace invalid
// UTF-8. It returns an error if raw is not a JSON string.
func Unquote(raw []byte) (text string, err error) {
	err = json.Unmarshal(raw, &text)
	return text, err
}

// Text reads a string or null. It returns nil for null, and after a mistake.
func (s *Scanner) Text() []byte {
	if s.Null() {
		return nil
	}
	return s.Str()
}

// Quoted reads a string and returns its bytes in the input, with the quotes. It returns nil for null, and after a
// mistake.
func (s *Scanner) Quoted() []byte {
	if s.Null() {
		return nil
	}
	return s.quotedString()
}

// quotedString reads a string and returns it with its quotes. If the next value is not a string, quotedString records a
// mistake and returns nil.
func (s *Scanner) quotedString() []byte {
	if s.Peek() != '"' {
		s.Expected("a string")
		return nil
	}
	from := s.Pos
	if !s.skipString() {
		return nil
	}
	return s.In[from:s.Pos]
}

// Boolean reads true, false or null. It returns false for false and null. For any other value it records a mistake and
// returns false.
func (s *Scanner) Boolean() bool {
	switch s.Peek() {
	case 't':
		s.Word("true")
		return true
	case 'f':
		s.Word("false")
	case 'n':
		s.Word("null")
	default:
		s.Expected("true or false")
	}
	return false
}

// Uint reads a whole number of 0 or more, without a fraction or an exponent. For any other value, and for a number that
// does not fit into 64 bits, it records a mistake and returns 0.
func (s *Scanner) Uint() uint64 {
	if c := s.Peek(); c < '0' || c > '9' {
		s.Expected("a whole number of 0 or more")
		return 0
	}
	start := s.Pos
	s.Number()
	var n uint64
	for _, c := range s.In[start:min(s.Pos, len(s.In))] {
		if c < '0' || c > '9' {
			s.FailAt(start, "a whole number of 0 or more should be here")
			return 0
		}
		hi, lo := bits.Mul64(n, 10)
		sum, carry := bits.Add64(lo, uint64(c-'0'), 0)
		if hi+carry > 0 {
			s.FailAt(start, "the number is too large")
			return 0
		}
		n = sum
	}
	return n
}

// Raw reads any value and returns its bytes in the input. It returns nil after a mistake.
func (s *Scanner) Raw() []byte {
	s.Peek()
	start := s.Pos
	s.Skip()
	if s.Err != nil {
		return nil
	}
	return s.In[start:s.Pos:s.Pos]
}

// Skip advances past any value and checks its syntax. Nesting deeper than maxDepth is a mistake.
func (s *Scanner) Skip() { s.skip(0) }

func (s *Scanner) skip(depth int) {
	switch c := s.Peek(); c {
	case '{', '[':
		if depth == maxDepth {
			s.Fail("the nesting is deeper than %d", maxDepth)
			return
		}
		s.Pos++
		for first := true; s.More(c+2, first); first = false { // '}' is '{'+2, and ']' is '['+2
			if c == '{' {
				s.name()
			}
			s.skip(depth + 1)
		}
	case '"':
		s.skipString()
	case 't':
		s.Word("true")
	case 'f':
		s.Word("false")
	case 'n':
		s.Word("null")
	default:
		s.Number()
	}
}

// name advances past a member's name and the colon after it.
func (s *Scanner) name() {
	if s.Peek() != '"' {
		s.Expected("a quoted name")
		return
	}
	if s.skipString() {
		s.Want(':')
	}
}

// Word advances past the word w, which must begin at the current position. If another text is there, Word records a
// mistake.
func (s *Scanner) Word(w string) {
	if !bytes.HasPrefix(s.In[s.Pos:], []byte(w)) {
		s.Expected("a value")
		return
	}
	s.Pos += len(w)
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special returns a number in which the high bit is set for each byte of x that needs attention inside a string: a
// quote, a backslash or a control character. Only the lowest set bit is reliable; the bits above it may be wrong.
func special(x uint64) uint64 {
	q, b := x^(ones*'"'), x^(ones*'\\')
	return ((q-ones)&^q | (b-ones)&^b | (x-ones*0x20)&^x) & highs
}

// skipString advances past a string. If the string is invalid, skipString records a mistake and returns false.
func (s *Scanner) skipString() bool {
	in, start, p := s.In, s.Pos, s.Pos+1
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
			s.FailAt(start, "the string that begins here is not closed")
			return false
		case in[p] == '"':
			s.Pos = p + 1
			return true
		case in[p] == '\\':
			n := escapeLen(in[p:])
			if n == 0 {
				s.FailAt(p, "this is not an escape that JSON has")
				return false
			}
			p += n
		default:
			s.FailAt(p, "a control character stands in a string")
			return false
		}
	}
}

// escapeLen returns the number of bytes of the escape sequence at the start of b. It returns 0 if the sequence is
// invalid.
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

// Number advances past the number that begins at the current position. If another text is there, Number records a
// mistake.
func (s *Scanner) Number() {
	in, p := s.In, s.Pos
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
		s.Expected("a value")
		return
	}
	s.Pos = p
}

// Position returns the line and the column of the byte offset pos. Both begin at 1, and the column counts bytes. An
// offset beyond the end of the text means the end.
func Position(in []byte, pos int) (line, column int) {
	before := in[:min(pos, len(in))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

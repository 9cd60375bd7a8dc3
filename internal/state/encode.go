package state

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"
)

// encoder writes JSON in the order it is called, either laid out as the peers lay out state files
// (two blanks a level, HTML-sensitive characters escaped) or without any white space. Values that
// were never decoded are laid out anew as they pass, byte by byte.
type encoder struct {
	buf     []byte
	w       io.Writer // where the buffer goes when it is full; nil: it grows
	err     error
	depth   int
	empty   bool // nothing stands yet in the innermost bracket
	compact bool
}

// full is how much is collected before it is written.
const full = 256 << 10

// flush writes the buffer out if it is large enough, or at all events.
func (e *encoder) flush(always bool) {
	if e.w == nil || len(e.buf) < full && !always {
		return
	}
	if e.err == nil {
		_, e.err = e.w.Write(e.buf)
	}
	e.buf = e.buf[:0]
}

func (e *encoder) open(c byte) {
	e.buf = append(e.buf, c)
	e.depth++
	e.empty = true
}

func (e *encoder) close(c byte) {
	e.depth--
	if !e.empty {
		e.line()
	}
	e.buf = append(e.buf, c)
	e.empty = false
}

func (e *encoder) line() {
	if !e.compact {
		e.buf = appendLine(e.buf, e.depth)
	}
}

const blank = "\n                                                                                "

// appendLine begins a line at the given depth.
func appendLine(dst []byte, depth int) []byte {
	n := 2 * depth
	dst = append(dst, blank[:1+min(n, len(blank)-1)]...)
	for n -= len(blank) - 1; n > 0; n -= len(blank) - 1 {
		dst = append(dst, blank[1:1+min(n, len(blank)-1)]...)
	}
	return dst
}

// item begins the next element of an array.
func (e *encoder) item() {
	if !e.empty {
		e.buf = append(e.buf, ',')
	}
	e.empty = false
	e.line()
}

// key begins the next member of an object.
func (e *encoder) key(name string) {
	e.item()
	e.buf = AppendText(e.buf, name)
	e.colon()
}

func (e *encoder) colon() {
	e.buf = append(e.buf, ':')
	if !e.compact {
		e.buf = append(e.buf, ' ')
	}
}

func (e *encoder) text(s string)  { e.buf = AppendText(e.buf, s) }
func (e *encoder) uint(n uint64)  { e.buf = strconv.AppendUint(e.buf, n, 10) }
func (e *encoder) int(n int64)    { e.buf = strconv.AppendInt(e.buf, n, 10) }
func (e *encoder) word(w string)  { e.buf = append(e.buf, w...) }
func (e *encoder) boolean(v bool) { e.buf = strconv.AppendBool(e.buf, v) }
func (e *encoder) emptyArray()    { e.word("[]") }
func (e *encoder) keyText(k, s string) {
	e.key(k)
	e.text(s)
}

// raw writes a value that is JSON already.
func (e *encoder) raw(v []byte) {
	if e.compact {
		e.buf = append(e.buf, v...)
		return
	}
	e.buf = appendLaidOut(e.buf, v, e.depth)
}

// members writes the members of a JSON object into the current one.
func (e *encoder) members(object []byte) {
	if len(object) == 0 {
		return
	}
	s := scanner{in: object}
	s.object(func(key []byte) {
		e.key(string(key))
		e.raw(s.raw())
	})
}

// AppendText appends s as a JSON string, spelled as Go's encoder spells it by default, which is
// how both peers spell theirs. What is no UTF-8 becomes a replacement character.
func AppendText(dst []byte, s string) []byte {
	start, from := len(dst), 0
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case simple[c]:
		case c == '"' || c == '\\':
			dst = append(append(dst, s[from:i]...), '\\', c)
			from = i + 1
		default:
			text, err := json.Marshal(strings.ToValidUTF8(s, "\uFFFD"))
			if err != nil { // a string always has a JSON form
				panic(err)
			}
			return append(dst[:start], text...)
		}
	}
	return append(append(dst, s[from:]...), '"')
}

// simple marks the bytes that stand for themselves in a JSON string.
var simple = func() (t [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		t[c] = !strings.ContainsRune("\"\\<>&", c)
	}
	return t
}()

// What a byte of JSON text asks for while it is laid out.
const (
	plain = iota
	skipped
	quote
	bracket
	unbracket
	comma
	colon
)

var layout = [256]uint8{
	' ': skipped, '\n': skipped, '\r': skipped, '\t': skipped, '"': quote,
	'{': bracket, '[': bracket, '}': unbracket, ']': unbracket, ',': comma, ':': colon,
}

// appendLaidOut writes valid JSON with new white space, its first line continuing the present one.
func appendLaidOut(dst, src []byte, depth int) []byte {
	for i := 0; i < len(src); {
		c := src[i]
		switch layout[c] {
		case skipped:
			for i++; i < len(src) && src[i] == ' '; i++ {
			}
			continue
		case quote:
			dst, i = appendString(dst, src, i)
			continue
		case bracket:
			dst = append(dst, c)
			for i++; i < len(src) && layout[src[i]] == skipped; i++ {
			}
			if i < len(src) && src[i] == c+2 {
				dst = append(dst, c+2)
				i++
				continue
			}
			depth++
			dst = appendLine(dst, depth)
			continue
		case unbracket:
			depth--
			dst = appendLine(dst, depth)
			dst = append(dst, c)
		case comma:
			dst = appendLine(append(dst, c), depth)
		case colon:
			dst = append(dst, ':', ' ')
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst
}

// stops marks the bytes inside a JSON string at which copying stops for a look.
var stops = [256]bool{'"': true, '\\': true, '<': true, '>': true, '&': true, 0xe2: true}

// appendString copies the JSON string at src[i:] and gives the position after it.
func appendString(dst, src []byte, i int) ([]byte, int) {
	const hex = "0123456789abcdef"
	from := i
	for i++; i < len(src); i++ {
		c := src[i]
		if !stops[c] {
			continue
		}
		switch {
		case c == '"':
			return append(dst, src[from:i+1]...), i + 1
		case c == '\\':
			i++
		case c != 0xe2:
			dst = append(dst, src[from:i]...)
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			from = i + 1
		case i+2 < len(src) && src[i+1] == 0x80 && src[i+2]&^1 == 0xa8: // U+2028 and U+2029
			dst = append(dst, src[from:i]...)
			dst = append(dst, `\u202`...)
			dst = append(dst, hex[src[i+2]&15])
			i += 2
			from = i + 1
		}
	}
	return append(dst, src[from:]...), len(src)
}

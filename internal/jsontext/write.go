package jsontext

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"
)

// Writer writes JSON in the order of the calls, with the necessary commas. The text is indented as in state files of
// Terraform and OpenTofu (two blanks for each level; <, > and & are escaped), or has no white space if Compact is true.
// A value that is JSON already gets the indentation of its place, without being decoded.
type Writer struct {
	Buf     []byte
	W       io.Writer // receives the content of Buf when it is full; if nil, Buf grows
	Err     error     // the first error of W
	Compact bool
	Quote   func(dst []byte, s string) []byte // appends a string as JSON to dst; nil means AppendString
	Scrub   func(string) string               // applied to all strings except names; nil means no change

	depth  int
	filled bool // the innermost open object or array has a member already
	named  bool // the name of a member was written, and its value is next
}

// full is the size of the buffer, in bytes, at which it is written to W.
const full = 48 << 10

// Flush writes the buffer to W and empties it. If W has returned an error before, it only empties the buffer. If W is
// nil, it does nothing.
func (w *Writer) Flush() {
	if w.W == nil {
		return
	}
	if w.Err == nil && len(w.Buf) > 0 {
		_, w.Err = w.W.Write(w.Buf)
	}
	w.Buf = w.Buf[:0]
}

// Next prepares for a value: it writes the comma and the indentation, and writes a full buffer to W. All methods that
// write a value call Next. A caller that appends a value to Buf itself must call Next first.
func (w *Writer) Next() {
	if w.named {
		w.named = false
		return
	}
	if w.filled {
		w.Buf = append(w.Buf, ',')
	}
	if w.filled = true; w.depth > 0 {
		w.line()
	}
	if len(w.Buf) >= full {
		w.Flush()
	}
}

func (w *Writer) line() {
	if !w.Compact {
		w.Buf = AppendLine(w.Buf, w.depth)
	}
}

// Open begins an object or array. c is its opening bracket.
func (w *Writer) Open(c byte) {
	w.Next()
	w.Buf = append(w.Buf, c)
	w.depth++
	w.filled = false
}

// Close ends an object or array. c is its closing bracket. Unless the writer is Compact, or the object or array is
// empty, the bracket is on a new line.
func (w *Writer) Close(c byte) {
	if w.depth--; w.filled {
		w.line()
	}
	w.Buf = append(w.Buf, c)
	w.filled = w.depth > 0
}

// Key writes the name of a member of an object. The caller must then write the value of the member.
func (w *Writer) Key(name string) {
	w.quoted(name)
	w.Buf = append(w.Buf, ':')
	if !w.Compact {
		w.Buf = append(w.Buf, ' ')
	}
	w.named = true
}

// Text writes a string.
func (w *Writer) Text(s string) {
	if w.Scrub != nil {
		s = w.Scrub(s)
	}
	w.quoted(s)
}

func (w *Writer) quoted(s string) {
	w.Next()
	if w.Quote != nil {
		w.Buf = w.Quote(w.Buf, s)
	} else {
		w.Buf = AppendString(w.Buf, s)
	}
}

// Uint writes a number.
func (w *Writer) Uint(n uint64) {
	w.Next()
	w.Buf = strconv.AppendUint(w.Buf, n, 10)
}

// Int writes a number.
func (w *Writer) Int(n int64) {
	w.Next()
	w.Buf = strconv.AppendInt(w.Buf, n, 10)
}

// Bool writes true or false.
func (w *Writer) Bool(v bool) {
	w.Next()
	w.Buf = strconv.AppendBool(w.Buf, v)
}

// Word writes value unchanged: a value without white space that needs no escapes, such as null or a number.
func (w *Writer) Word(value string) {
	w.Next()
	w.Buf = append(w.Buf, value...)
}

// KeyText writes a member that is a string.
func (w *Writer) KeyText(name, s string) {
	w.Key(name)
	w.Text(s)
}

// KeyInt writes a member that is a whole number.
func (w *Writer) KeyInt(name string, n int64) {
	w.Key(name)
	w.Int(n)
}

// KeyTrue writes a member that is true.
func (w *Writer) KeyTrue(name string) {
	w.Key(name)
	w.Bool(true)
}

// Raw writes a value that is JSON already. If Compact is true, it writes the value unchanged. Otherwise it changes the
// indentation and escapes <, > and &.
func (w *Writer) Raw(v []byte) {
	w.Next()
	if w.Compact {
		w.Buf = append(w.Buf, v...)
		return
	}
	w.Buf = appendLaidOut(w.Buf, v, w.depth)
}

// Members writes the members of another JSON object, which is given as text, into the current object. For null and an
// empty text it writes nothing. If the text is invalid, it writes the members before the mistake, and perhaps a name
// without a value.
func (w *Writer) Members(object []byte) {
	if len(object) == 0 {
		return
	}
	s := Scanner{In: object}
	s.Object(func(key []byte) {
		w.Key(string(key))
		w.Raw(s.Raw())
	})
}

const blank = "\n                                                                                "

// AppendLine appends a line break and the indentation of the given depth.
func AppendLine(dst []byte, depth int) []byte {
	n := 2 * depth
	dst = append(dst, blank[:1+min(n, len(blank)-1)]...)
	for n -= len(blank) - 1; n > 0; n -= len(blank) - 1 {
		dst = append(dst, blank[1:1+min(n, len(blank)-1)]...)
	}
	return dst
}

// AppendString appends s to dst as a JSON string, with the default escapes of encoding/json, which Terraform and
// OpenTofu use, too. Replacement characters (U+FFFD) replace invalid UTF-8.
func AppendString(dst []byte, s string) []byte {
	start, from := len(dst), 0
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case simple[c]:
		case c == '"' || c == '\\':
			dst = append(append(dst, s[from:i]...), '\\', c)
			from = i + 1
		default:
			text, err := json.Marshal(s)
			if err != nil { // cannot happen, because every string has a JSON form
				panic(err)
			}
			return append(dst[:start], text...)
		}
	}
	return append(append(dst, s[from:]...), '"')
}

// simple is true for the bytes that need no escape in a JSON string.
var simple = func() (t [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		t[c] = !strings.ContainsRune("\"\\<>&", c)
	}
	return t
}()

// The classes of bytes in a JSON text, for changing the indentation.
const (
	plain     = iota // copied
	skipped          // white space, which is dropped
	quote            // begins a string
	bracket          // opens an object or array
	unbracket        // closes an object or array
	comma
	colon
)

var layout = [256]uint8{
	' ': skipped, '\n': skipped, '\r': skipped, '\t': skipped, '"': quote,
	'{': bracket, '[': bracket, '}': unbracket, ']': unbracket, ',': comma, ':': colon,
}

// appendLaidOut appends the valid JSON text src with new indentation to dst. depth is the depth of the text in the
// document. The first line is not indented, because it continues the current line.
func appendLaidOut(dst, src []byte, depth int) []byte {
	for i := 0; i < len(src); {
		c := src[i]
		switch layout[c] {
		case skipped:
			for i++; i < len(src) && src[i] == ' '; i++ {
			}
			continue
		case quote:
			dst, i = copyString(dst, src, i)
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
			dst = AppendLine(dst, depth)
			continue
		case unbracket:
			depth--
			dst = AppendLine(dst, depth)
			dst = append(dst, c)
		case comma:
			dst = AppendLine(append(dst, c), depth)
		case colon:
			dst = append(dst, ':', ' ')
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst
}

// AppendCompact appends the valid JSON text src without white space to dst. It does not change the escapes in strings.
func AppendCompact(dst, src []byte) []byte {
	for i := 0; i < len(src); {
		from := i
		switch layout[src[i]] {
		case skipped:
			i++
			continue
		case quote:
			for i++; i < len(src) && src[i] != '"'; i++ {
				if src[i] == '\\' {
					i++
				}
			}
		}
		i = min(i+1, len(src))
		dst = append(dst, src[from:i]...)
	}
	return dst
}

// stops is true for the bytes that copyString must inspect inside a JSON string.
var stops = [256]bool{'"': true, '\\': true, '<': true, '>': true, '&': true, 0xe2: true}

// copyString appends the JSON string that begins at src[i] to dst. It escapes <, >, & and the line separators U+2028
// and U+2029, and keeps the escapes of src. It returns dst and the index after the string.
func copyString(dst, src []byte, i int) ([]byte, int) {
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
		case i+2 < len(src) && src[i+1] == 0x80 && src[i+2]&^1 == 0xa8: // the UTF-8 of U+2028 or U+2029
			dst = append(dst, src[from:i]...)
			dst = append(dst, `\u202`...)
			dst = append(dst, hex[src[i+2]&15])
			i += 2
			from = i + 1
		}
	}
	return append(dst, src[from:]...), len(src)
}

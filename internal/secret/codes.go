package secret

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

const (
	base64Len = 11         // number of base64 letters for 8 bytes
	hexLen    = 2 * keyLen // number of hexadecimal digits for 8 bytes
)

// code is an encoding of bytes as letters, with a fixed number of bits in each letter. Base64 and hexadecimal are
// codes.
type code struct {
	value [256]byte // the value of each letter; the constant none for bytes that are no letters
	bits  int       // number of bits in a letter
	least int       // length of the shortest word that is searched, in letters
	wraps bool      // line breaks may separate the letters
	colon bool      // colons, also before line breaks, may separate the letters

	outside [256]bool // characters that are no letters and never separate letters
}

const none = 0xff

var base64Code, hexCode = code{bits: 6, least: base64Len, wraps: true}, code{bits: 4, least: hexLen, colon: true}

// visible has the printable ASCII characters, tab, line breaks, and the byte that begins a control sequence.
var visible [256]bool

func init() {
	for i := range 256 {
		base64Code.value[i], hexCode.value[i] = none, none
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		base64Code.value[c] = byte(i)
	}
	for c := ' '; c < 0x7f; c++ {
		visible[c] = true
	}
	visible['\n'], visible['\t'], visible['\r'], visible['\x1b'] = true, true, true, true
	base64Code.value['-'], base64Code.value['_'] = 62, 63
	for i, c := range []byte("0123456789abcdef") {
		hexCode.value[c] = byte(i)
	}
	for i, c := range []byte("ABCDEF") {
		hexCode.value[c] = byte(10 + i)
	}
	for _, code := range []*code{&base64Code, &hexCode} {
		for c, value := range code.value {
			code.outside[c] = value == none && !strings.ContainsRune("\r\n\t :", rune(c))
		}
	}
}

// words holds the letter sequences of a text that may be encoded bytes, letter by letter.
type words struct {
	values []byte // the values of the letters of all words
	at     []int  // the places of the letters in the text; only if places are recorded
	ends   []int  // the end of each word in values
	span          // the range from the start of the first word to the end of the last word
}

// words returns the words of a code in a text: sequences of at least c.least letters for whose values keep returns
// true. If places is true, it records the place of each letter.
func (c *code) words(text string, places bool, keep func(values []byte) bool) *words {
	var w words
	for i := 0; i < len(text); i++ {
		if end := i + c.least; end <= len(text) && c.ends(text, end-1) {
			i = end - 1 // a sequence that begins here or later, but before end, is too short
			continue
		}
		if c.value[text[i]] == none {
			continue
		}
		begin, first := len(w.values), i
		for i < len(text) {
			if v := c.value[text[i]]; v != none {
				w.values = append(w.values, v)
				if i++; places {
					w.at = append(w.at, i-1)
				}
				continue
			}
			next := i
			switch {
			case c.wraps:
				next = wrapped(text, i)
			case c.colon && text[i] == ':':
				next = wrapped(text, i+1)
			}
			if next == i || next == len(text) || c.value[text[next]] == none {
				break
			}
			i = next
		}
		if len(w.values)-begin < c.least || !keep(w.values[begin:]) {
			w.values = w.values[:begin]
			if places {
				w.at = w.at[:begin]
			}
			continue
		}
		if len(w.ends) == 0 {
			w.from = first
		}
		w.ends, w.to = append(w.ends, len(w.values)), i
	}
	return &w
}

// ends reports whether the character at i is certainly outside of all sequences of letters. A blank may be inside after
// a line break.
func (c *code) ends(text string, i int) bool {
	if text[i] == ' ' && i > 0 {
		return c.outside[text[i-1]] || c.value[text[i-1]] != none
	}
	return c.outside[text[i]]
}

// wrapped returns the index after the line break at i and the following indentation. If text[i] is not a line break,
// wrapped returns i.
func wrapped(text string, i int) int {
	at := i
	if at < len(text) && text[at] == '\r' {
		at++
	}
	if at == len(text) || text[at] != '\n' {
		return i
	}
	for at++; at < len(text) && (text[at] == ' ' || text[at] == '\t'); {
		at++
	}
	return at
}

// utf8Rest has, for each byte that can begin a character in UTF-8, the number of bytes that follow in the character.
// For all other bytes, and for control characters that texts do not contain, it has notText.
var utf8Rest [256]int8

const notText = -1

func init() {
	for i := range utf8Rest {
		switch {
		case i < utf8.RuneSelf && visible[i]:
		case i >= 0xc2 && i < 0xe0:
			utf8Rest[i] = 1
		case i >= 0xe0 && i < 0xf0:
			utf8Rest[i] = 2
		case i >= 0xf0 && i < 0xf5:
			utf8Rest[i] = 3
		default:
			utf8Rest[i] = notText
		}
	}
}

// mayHold reports whether the decoded bytes of a word may contain a secret: a piece, a text of at least 8 bytes (which
// may contain another layer), an archive, or text in UTF-16. values has the value of each letter of the word, and bits
// is the number of bits of each. Most words of a text are not encoded, and decode to none of these. mayHold does not
// allocate memory.
func (t *table) mayHold(values []byte, bits int) bool {
	return !(bits == letterBits && t.excludes(values)) && t.decodesToAny(values, bits)
}

// decodesToAny returns the result of mayHold. It decodes the word.
func (t *table) decodesToAny(values []byte, bits int) bool {
	const gzip = 0x088b1f
	for skip := range 8 / (8 - bits) {
		if (len(values)-skip)*bits/8 < keyLen {
			break
		}
		var acc uint32
		var have int             // number of bits in acc
		var key uint64           // the last 8 bytes that were decoded
		var count, run, rest int // decoded bytes; bytes of the present text; missing bytes of the last character
		zero, pairs := -1, 0     // index of the last zero byte; number of zero bytes at a distance of two bytes
		for _, v := range values[skip:] {
			acc = acc<<bits | uint32(v)
			if have += bits; have < 8 {
				continue
			}
			have -= 8
			b := byte(acc >> have)
			key = key>>8 | uint64(b)<<56
			count++
			if rest > 0 && b&0xc0 == 0x80 {
				rest--
				run++
			} else if n := utf8Rest[b]; n == notText {
				run, rest = 0, 0
			} else {
				if rest > 0 {
					run = 0
				}
				run, rest = run+1, int(n)
			}
			if run >= keyLen || key>>40 == gzip {
				return true
			}
			if b == 0 {
				if pairs++; zero != count-2 {
					pairs = 0
				}
				if zero = count; pairs >= keyLen-3 {
					return true
				}
			}
			if count >= keyLen && len(t.bitmap) > 0 {
				if word, mask := t.bit(key); t.bitmap[word]&mask != 0 && t.first[key] != 0 {
					return true
				}
			}
		}
	}
	return false
}

// excludes returns true only if decodesToAny returns false for a word of base64. It takes less time, because it does
// not decode the word, and it is true for most words: none of their letters may be the letters of a key or of the
// beginning of an archive, they have too few zeros for UTF-16, and no 8 bytes are text.
func (t *table) excludes(values []byte) bool {
	const gzip, some = 0x1f8b08, 1<<(3*letterBits) - 1
	var last uint64
	for i, v := range values {
		last = last<<letterBits | uint64(v)
		if l := last & some; l == gzip>>6 || l == gzip>>4&some || l == gzip>>2&some {
			return false
		}
		if i >= keyLetters-1 && len(t.bitmap) > 0 {
			if word, mask := t.bit(last & allLetters); t.bitmap[word]&mask != 0 {
				return false
			}
		}
	}
	return bytes.Count(values, []byte{0}) < 3 && !anyText(values)
}

// The kinds of bytes in UTF-8. Control characters that texts do not contain are of the kind foreign.
const (
	foreign = iota
	ascii
	leading   // the first byte of a character of several bytes
	following // another byte of such a character
)

var kinds [256]uint8

// follow has a bit for each kind of byte that may follow a byte of the kind in the index.
var follow = [...]uint8{ascii: 1<<ascii | 1<<leading, leading: 1 << following, following: 1<<ascii | 1<<leading | 1<<following}

func init() {
	for c, rest := range utf8Rest {
		switch {
		case rest == 0:
			kinds[c] = ascii
		case rest > 0:
			kinds[c] = leading
		case c&0xc0 == 0x80:
			kinds[c] = following
		}
	}
}

// anyText reports whether 8 decoded bytes of a base64 word in sequence may be text. It reads the bytes of each sequence
// from the last to the first, and continues behind the first byte that cannot be part of a text.
func anyText(values []byte) bool {
	for skip := range 4 {
		count := (len(values) - skip) * letterBits / 8
		kind := func(n int) uint8 {
			bit := skip*letterBits + n*8
			at, from := bit/letterBits, bit%letterBits
			return kinds[values[at]<<(2+from)|values[at+1]>>(4-from)]
		}
		for begin := 0; begin+keyLen <= count; {
			at := begin + keyLen - 1
			next := kind(at)
			if next == foreign {
				begin = at + 1
				continue
			}
			for ; at > begin; at-- {
				k := kind(at - 1)
				if follow[k]>>next&1 == 0 {
					break
				}
				next = k
			}
			if at == begin {
				return true
			}
			begin = at
		}
	}
	return false
}

// decode sets in.text to the decoded bytes of all words in w, and returns the parameter in. It begins at the letter
// with the index skip of each word. A zero byte separates the results. decode leaves out words that are too short for a
// secret.
func (c *code) decode(w *words, in *inner, skip int) *inner {
	in.text = make([]byte, 0, len(w.values)*c.bits/8+len(w.ends))
	begin := 0
	for _, end := range w.ends {
		if (end-begin-skip)*c.bits/8 < keyLen { // the bytes are fewer than a piece has
			begin = end
			continue
		}
		if len(in.text) > 0 {
			in.add(0, w, begin-1, begin-1)
		}
		acc, bits, first := uint32(0), 0, begin+skip
		for i := first; i < end; i++ {
			acc = acc<<c.bits | uint32(w.values[i])
			if bits += c.bits; bits < 8 {
				continue
			}
			bits -= 8
			if in.text = append(in.text, byte(acc>>bits)); in.places {
				in.place(w, first, i)
			}
			if first = i; bits == 0 {
				first = i + 1
			}
		}
		begin = end
	}
	return in
}

// add appends the byte b, which the letters of w from first to last encode, with its place in the outermost text.
func (in *inner) add(b byte, w *words, first, last int) {
	if in.text = append(in.text, b); in.places {
		in.place(w, first, last)
	}
}

func (in *inner) place(w *words, first, last int) {
	in.lo, in.hi = append(in.lo, in.of.from(w.at[first])), append(in.hi, in.of.to(w.at[last]))
}

// legible returns the parts of a decoded layer that can be text and have at least 8 bytes, separated by zero bytes. The
// result has no text if no such part exists. Most words that look encoded are not, and decode to random bytes.
func legible(l *layer) *layer {
	out := &layer{depth: l.depth, whole: l.whole, web: l.web, lo: l.lo, hi: l.hi}
	var parts []byte
	var lo, hi []int
	begin := 0
	flush := func(end int) {
		if end-begin >= keyLen {
			if begin == 0 && end == len(l.text) {
				out.text = l.text
				return
			}
			parts = append(append(parts, l.text[begin:end]...), 0)
			if l.lo != nil {
				lo, hi = append(append(lo, l.lo[begin:end]...), l.lo[end-1]), append(append(hi, l.hi[begin:end]...), l.hi[end-1])
			}
		}
	}
	for i := 0; i < len(l.text); {
		c := l.text[i]
		if visible[c] {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			flush(i)
			i++
			begin = i
			continue
		}
		r, n := utf8.DecodeRuneInString(l.text[i:])
		if r != utf8.RuneError || n > 1 {
			i += n
			continue
		}
		flush(i)
		i += n
		begin = i
	}
	flush(len(l.text))
	if out.text == "" && len(parts) > 0 {
		out.text, out.lo, out.hi, out.whole = string(parts), lo, hi, false
	}
	return out
}

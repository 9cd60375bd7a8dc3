package secret

import (
	"bytes"
	"compress/gzip"
	"hash/maphash"
	"html"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
)

// Layers. Programs often write one text inside another: as a JSON string, in a URL, in base64, and the result again
// inside another text. The search decodes each layer that it recognises and searches the inner text in the same way, to
// a depth of four layers in any order.
//
// The work is bounded. The decoded bytes of a text are limited to perByte times its length plus perText bytes, and all
// texts of a run share perRun bytes of the latter. Only a text that was made to grow (archives of zeros, escapes of
// escapes) exceeds the limit. The guard then treats the text as if it contained a secret.

const (
	maxDepth  = 4          // depth limit of layers
	perByte   = 64         // limit of decoded bytes for each byte of a text
	perText   = 16 << 20   // decoded bytes in addition
	perRun    = 1 << 30    // limit of the additional bytes of all texts together
	base64Len = 11         // base64 letters of 8 bytes
	hexLen    = 2 * keyLen // hexadecimal digits of 8 bytes
)

// layer is a text, or an inner text that was decoded from it.
type layer struct {
	text  string
	depth int
	whole bool // the layer makes up all of the outermost text
	web   bool // it was decoded from a URL or HTML
	// lo and hi hold, for each byte, the first place in the outermost text that encodes it, and the place after the
	// last. They are nil in the outermost text, and if places are not wanted.
	lo, hi []int
}

func (l *layer) from(i int) int {
	if l.lo == nil {
		return i
	}
	return l.lo[i]
}

func (l *layer) to(i int) int {
	if l.hi == nil {
		return i + 1
	}
	return l.hi[i]
}

// decoder searches a text and all its layers.
type decoder struct {
	set      *Set
	places   bool // record the places of bytes
	left     int  // remaining limit of decoded bytes
	exceeded bool // the limit was exceeded
	seen     map[uint64]struct{}
	gzip     *gzip.Reader
	// found is called for every piece. The search stops when it returns false.
	found func(l *layer, i int, p *piece) bool
}

// decodeLayer searches a text and calls found for each piece. It returns false if the text exceeds the limit, so that
// parts of it were not searched.
func (s *Set) decodeLayer(text string, places bool, found func(l *layer, i int, p *piece) bool) bool {
	spare := min(perText, max(0, perRun-int(s.peeled.Load())))
	own := perByte * len(text)
	key, known := s.clean.of(text, len(s.table.pieces))
	if known {
		return true
	}
	any := false
	p := &decoder{set: s, places: places, left: own + spare, found: func(l *layer, i int, p *piece) bool {
		any = true
		return found(l, i, p)
	}}
	p.look(&layer{text: text, whole: true})
	if used := spare - p.left; used > 0 {
		s.peeled.Add(int64(used))
	}
	if !any && !p.exceeded {
		s.clean.add(key, len(s.table.pieces))
	}
	return !p.exceeded
}

// look searches a layer and the layers inside it. It returns false if the search must stop.
func (p *decoder) look(l *layer) bool {
	for i, piece := range p.set.table.matches(l.text) {
		if !p.found(l, i, piece) {
			return false
		}
	}
	return l.depth == maxDepth || len(l.text) < keyLen || p.inside(l)
}

// inside searches all layers that it recognises in a layer. It returns false if the search must stop.
func (p *decoder) inside(l *layer) bool {
	for i := range escapes {
		e := &escapes[i]
		if !strings.Contains(l.text, e.least) || !p.set.table.has(e.only) {
			continue
		}
		in := p.begin(l, l.whole)
		in.web = in.web || e.web
		if in.unescape(e) && !p.look(p.end(in)) {
			return false
		}
	}
	return p.compressed(l) && p.encoded(l, &base64Code) && p.encoded(l, &hexCode)
}

// inner is a layer that is being decoded from another layer.
type inner struct {
	of     *layer
	whole  bool
	web    bool
	places bool
	text   []byte
	lo, hi []int
}

func (p *decoder) begin(l *layer, whole bool) *inner {
	return &inner{of: l, whole: whole, web: l.web, places: p.places}
}

// put appends the decoded form of the bytes from:to of the outer layer.
func (in *inner) put(text string, from, to int) {
	in.text = append(in.text, text...)
	if !in.places || from == to {
		return
	}
	for range len(text) {
		in.lo, in.hi = append(in.lo, in.of.from(from)), append(in.hi, in.of.to(to-1))
	}
}

// same appends the bytes from:to of the outer layer unchanged.
func (in *inner) same(from, to int) {
	in.text = append(in.text, in.of.text[from:to]...)
	if in.places {
		for i := from; i < to; i++ {
			in.lo, in.hi = append(in.lo, in.of.from(i)), append(in.hi, in.of.to(i))
		}
	}
}

// end returns the decoded layer. The layer has no text if the limit is exceeded, if the text is too short for a secret,
// or if the same text was searched before: two ways of unescaping often have the same result in either order.
func (p *decoder) end(in *inner) *layer {
	l := &layer{depth: in.of.depth + 1, whole: in.whole, web: in.web, lo: in.lo, hi: in.hi}
	if p.left -= len(in.text); p.left < 0 {
		p.exceeded = true
		return l
	}
	if len(in.text) < keyLen {
		return l
	}
	text := ctyvalue.TextOf(in.text) // in.text does not change from here on
	if len(text) >= worthwhile && !p.places {
		key := maphash.String(seed, text) ^ uint64(l.depth)
		if _, again := p.seen[key]; again {
			return l
		}
		if p.seen == nil {
			p.seen = map[uint64]struct{}{}
		}
		p.seen[key] = struct{}{}
	}
	l.text = text
	return l
}

// worthwhile is the length in bytes from which recording a text is cheaper than searching it again.
const worthwhile = 256

// escape is a way to escape characters in a text.
type escape struct {
	least string // every text with such an escape contains this
	marks string // the characters that begin an escape
	only  string // it is decoded only if a secret contains one of these characters; "": always
	// decode returns the decoded text of the escape that begins s, and the length of the escape. The length is 0 if no
	// escape begins s.
	decode func(string) (string, int)
	web    bool // see layer
}

var escapes = [...]escape{
	{least: `\`, marks: `\`, decode: backslash},                      // JSON, Go, shells and similar languages
	{least: "%", marks: "%", decode: percent, web: true},             // URLs
	{least: "+", marks: "%+", decode: percent, only: " ", web: true}, // queries of URLs, in which a plus is a space
	{least: "&", marks: "&", decode: entity, web: true},              // HTML and XML
	{least: "'", marks: "'", decode: posix, only: "'"},               // a quote in a quoted string of a shell
	{least: "''", marks: "'", decode: doubled, only: "'"},            // doubled quotes in SQL and YAML
	{least: `""`, marks: `"`, decode: doubled, only: `"`},            // doubled quotes in SQL and CSV
	{least: "\n", marks: "\n", decode: indent, only: "\n"},           // lines of YAML and of heredocs
}

// posix decodes a single quote inside a single-quoted string of a POSIX shell.
func posix(s string) (string, int) {
	for _, trail := range [...]string{`'\''`, `'"'"'`} {
		if strings.HasPrefix(s, trail) {
			return "'", len(trail)
		}
	}
	return "", 0
}

// doubled decodes two quotes as one.
func doubled(s string) (string, int) {
	if len(s) > 1 && s[0] == s[1] {
		return s[:1], 2
	}
	return "", 0
}

// indent decodes the end of a line and the indentation of the next line as the end of a line.
func indent(s string) (string, int) {
	if rest := strings.TrimLeft(s[1:], " \t"); len(rest) < len(s)-1 {
		return "\n", len(s) - len(rest)
	}
	return "", 0
}

// unescape copies a layer and decodes its escapes. It reports whether the layer contains any.
func (in *inner) unescape(e *escape) bool {
	text := in.of.text
	done, any := 0, false
	for next := strings.IndexAny(text, e.marks); next >= 0; next = strings.IndexAny(text[done:], e.marks) {
		at := done + next
		if plain, n := e.decode(text[at:]); n > 0 {
			in.same(done, at)
			in.put(plain, at, at+n)
			done, any = at+n, true
		} else {
			in.same(done, at+1)
			done = at + 1
		}
	}
	if any {
		in.same(done, len(text))
	}
	return any
}

var letters = [256]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'a': "\a", 'v': "\v"}

func backslash(s string) (string, int) {
	if len(s) < 2 {
		return "", 0
	}
	switch c := s[1]; {
	case letters[c] != "":
		return letters[c], 2
	case c == 'x':
		if v, ok := digits(s, 2, 2, 4); ok {
			return string([]byte{byte(v)}), 4
		}
	case c == 'u':
		return utf16Escape(s)
	case c == 'U':
		if v, ok := digits(s, 2, 8, 4); ok && v <= utf8.MaxRune {
			return string(rune(v)), 10
		}
	case c >= '0' && c <= '3':
		if v, ok := digits(s, 1, 3, 3); ok {
			return string([]byte{byte(v)}), 4
		}
	case c > ' ' && c < utf8.RuneSelf && !alphanumeric(c):
		return s[1:2], 2
	}
	return "", 0
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// utf16Escape decodes \u and four digits, or two of them that form a surrogate pair.
func utf16Escape(s string) (string, int) {
	v, ok := digits(s, 2, 4, 4)
	if !ok {
		return "", 0
	}
	if utf16.IsSurrogate(rune(v)) && strings.HasPrefix(s[6:], `\u`) {
		if w, ok := digits(s, 8, 4, 4); ok {
			if r := utf16.DecodeRune(rune(v), rune(w)); r != utf8.RuneError {
				return string(r), 12
			}
		}
	}
	return string(rune(v)), 6
}

// digits reads n digits of the given number of bits each.
func digits(s string, at, n, bits int) (v uint32, ok bool) {
	if len(s) < at+n {
		return 0, false
	}
	for _, c := range []byte(s[at : at+n]) {
		d := hexCode.value[c]
		if d == none || d >= 1<<bits {
			return 0, false
		}
		v = v<<bits | uint32(d)
	}
	return v, true
}

func percent(s string) (string, int) {
	if s[0] == '+' {
		return " ", 1
	}
	if v, ok := digits(s, 1, 2, 4); ok {
		return string([]byte{byte(v)}), 3
	}
	return "", 0
}

func entity(s string) (string, int) {
	const longest = 33 // &CounterClockwiseContourIntegral;
	end := strings.IndexByte(s[:min(len(s), longest)], ';')
	if end < 2 {
		return "", 0
	}
	if text := html.UnescapeString(s[:end+1]); text != s[:end+1] {
		return text, end + 1
	}
	return "", 0
}

// code is an encoding of bytes as letters, with a fixed number of bits in each letter.
type code struct {
	value [256]byte
	bits  int
	least int // length in letters of the shortest word
	wraps bool
	colon bool // colons may separate the letters
}

const none = 0xff

var base64Code, hexCode = code{bits: 6, least: base64Len, wraps: true}, code{bits: 4, least: hexLen, colon: true}

// visible holds the printable ASCII characters, tab and line breaks.
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
	visible['\n'], visible['\t'], visible['\r'] = true, true, true
	base64Code.value['-'], base64Code.value['_'] = 62, 63
	for i, c := range []byte("0123456789abcdef") {
		hexCode.value[c] = byte(i)
	}
	for i, c := range []byte("ABCDEF") {
		hexCode.value[c] = byte(10 + i)
	}
}

// words holds the words of a text that are long enough, letter by letter.
type words struct {
	values []byte // the values of all letters
	at     []int  // the places of the letters, if places are wanted
	ends   []int  // the end of each word, in values
	span          // from the first to the last word
}

// words returns the words of a code in a text that keep accepts.
func (c *code) words(text string, places bool, keep func(values []byte) bool) *words {
	var w words
	for i := 0; i < len(text); i++ {
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

// wrapped returns the place where the text continues on the next line if a line ends at i, and otherwise i.
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

// encoded decodes and searches the words of a code. It cannot recognise the beginning of a word if letters of the same
// code precede it, so it decodes from each of the first letters that lead to different bytes.
func (p *decoder) encoded(l *layer, c *code) bool {
	words := c.words(l.text, p.places, func(values []byte) bool { return p.set.table.mayHold(values, c.bits) })
	if len(words.ends) == 0 {
		return true
	}
	whole := l.whole && len(words.ends) == 1 && strings.Trim(l.text[:words.from]+l.text[words.to:], "=\" \r\n") == ""
	for skip := range 8 / (8 - c.bits) {
		d := p.end(c.decode(words, p.begin(l, whole && skip == 0), skip))
		for i, piece := range p.set.table.matches(d.text) {
			if !p.found(d, i, piece) {
				return false
			}
		}
		if d.depth == maxDepth || d.text == "" {
			continue
		}
		if !p.compressed(d) {
			return false
		}
		if readable := legible(d); readable.text != "" && !p.inside(readable) {
			return false
		}
	}
	return true
}

// utf8Rest is the number of bytes that follow a byte in UTF-8, or notText.
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

// mayHold reports whether the bytes of a word may contain a secret: a piece, a text that may contain another layer, an
// archive, or text in UTF-16. Most words of a text are not encoded, and decode to none of these. mayHold does not
// allocate.
func (t *table) mayHold(values []byte, bits int) bool {
	const gzip = 0x088b1f
	for skip := range 8 / (8 - bits) {
		if (len(values)-skip)*bits/8 < keyLen {
			break
		}
		var acc uint32
		var have int             // number of bits in acc
		var key uint64           // the last 8 bytes
		var count, run, rest int // bytes read; bytes of text; missing bytes of the last character
		zero, pairs := -1, 0     // place of the last zero byte; number of zero bytes at a distance of two
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

// decode decodes each word, beginning with letter skip. A zero byte separates the results.
func (c *code) decode(w *words, in *inner, skip int) *inner {
	in.text = make([]byte, 0, len(w.values)*c.bits/8+len(w.ends))
	begin := 0
	for _, end := range w.ends {
		if (end-begin-skip)*c.bits/8 < keyLen { // too short for a piece
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

// add appends a byte that the letters first to last encode.
func (in *inner) add(b byte, w *words, first, last int) {
	if in.text = append(in.text, b); in.places {
		in.place(w, first, last)
	}
}

func (in *inner) place(w *words, first, last int) {
	in.lo, in.hi = append(in.lo, in.of.from(w.at[first])), append(in.hi, in.of.to(w.at[last]))
}

// legible returns the parts of a decoded layer that can be text. Most words that look encoded are not, and decode to
// random bytes.
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

// compressed decompresses gzip data in a layer and searches the result. It also searches the layer for text in UTF-16.
// It ignores gzip data in URLs and HTML, because no program writes an archive there. It returns false if the search
// must stop.
func (p *decoder) compressed(l *layer) bool {
	const magic = "\x1f\x8b\x08"
	if l.web {
		return p.wide(l)
	}
	for from := 0; ; from += len(magic) {
		next := strings.Index(l.text[from:], magic)
		if next < 0 {
			return p.wide(l)
		}
		from += next
		in := p.begin(l, l.whole && from == 0)
		in.put(p.unpacked(l.text[from:]), from, len(l.text))
		if len(in.text) > 0 && !p.look(p.end(in)) {
			return false
		}
	}
}

// attempt is the cost in bytes of an attempt to decompress.
const attempt = 1 << 10

// unpacked decompresses as much of the text as possible: a truncated archive may contain a secret, too.
func (p *decoder) unpacked(text string) string {
	if p.left -= attempt; p.left < 0 {
		p.exceeded = true
		return ""
	}
	if p.gzip == nil {
		p.gzip = new(gzip.Reader)
	}
	if p.gzip.Reset(strings.NewReader(text)) != nil {
		return ""
	}
	var out bytes.Buffer
	_, _ = out.ReadFrom(io.LimitReader(p.gzip, int64(p.left)+1))
	return out.String()
}

// wide searches text in UTF-16 of either byte order, if its characters are in Latin-1.
func (p *decoder) wide(l *layer) bool {
	var in *inner
	for i := strings.IndexByte(l.text, 0); i >= 0; {
		end := i
		for end+2 < len(l.text) && l.text[end+1] != 0 && l.text[end+2] == 0 {
			end += 2
		}
		if (end-i)/2 >= keyLen-2 { // the text may have one more letter at each end
			if in == nil {
				in = p.begin(l, l.whole && i < 2 && end+2 >= len(l.text))
			} else {
				in.put("\x00", i, i+1)
			}
			for at := max(0, i-1); at < min(len(l.text), end+2); at++ {
				if l.text[at] != 0 {
					in.put(string(rune(l.text[at])), at, min(len(l.text), at+2))
				}
			}
		}
		next := strings.IndexByte(l.text[end+1:], 0)
		if next < 0 {
			break
		}
		i = end + 1 + next
	}
	return in == nil || p.look(p.end(in))
}

// span is a part of a text.
type span struct {
	from, to int
	of       *secret
}

// joined sorts spans by place and merges spans that overlap or touch.
func joined(all []span) []span {
	slices.SortFunc(all, func(a, b span) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
	out := all[:0]
	for _, s := range all {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

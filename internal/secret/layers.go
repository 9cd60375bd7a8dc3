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
	"unsafe"
)

// Layers. Text that is handed on is often written inside of other text: as a JSON string, in a URL, in
// base64, and that again inside of something. What is looked through is peeled: wherever a layer can be
// recognised, what is inside is looked through in the same way, to a depth of four in any order.
//
// The work is bounded. Everything that is peeled off one text counts, and may be so many times as much
// as the text itself, with something added that all texts of a run share: only what was made to be large
// (archives of nothing, escapes of escapes) comes to that. Of such a text nothing is known.

const (
	deepest   = 4          // layers inside one another
	perByte   = 64         // bytes peeled off for each byte of a text
	perText   = 16 << 20   // and beyond that
	perRun    = 1 << 30    // of those, for all texts together
	base64Len = 11         // letters that 8 bytes take
	hexLen    = 2 * keyLen // and digits
)

var seed = maphash.MakeSeed()

// layer is a text, or what was peeled off one.
type layer struct {
	text  string
	depth int
	whole bool // all of the first text is this
	web   bool // it was peeled off a URL or HTML
	// lo and hi say of each byte between which places in the first text it stands; nil in the first text,
	// where that is plain, and where it is not asked for.
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

// peeler looks through a text and all its layers.
type peeler struct {
	set    *Set
	places bool // say where things stand
	left   int  // bytes that may yet be peeled off
	over   bool // there were more
	seen   map[uint64]struct{}
	gzip   *gzip.Reader
	// found is called for every piece. It reports whether to go on.
	found func(l *layer, i int, p *piece) bool
}

// peel looks through a text. It reports whether all of it was looked through, as far as found wanted.
func (s *Set) peel(text string, places bool, found func(l *layer, i int, p *piece) bool) bool {
	spare := min(perText, max(0, perRun-int(s.peeled.Load())))
	own := perByte * len(text)
	p := &peeler{set: s, places: places, left: own + spare, found: found}
	p.look(&layer{text: text, whole: true})
	if used := spare - p.left; used > 0 {
		s.peeled.Add(int64(used))
	}
	return !p.over
}

// look looks at a layer, and at what is inside. It reports whether to go on.
func (p *peeler) look(l *layer) bool {
	for i, piece := range p.set.table.matches(l.text) {
		if !p.found(l, i, piece) {
			return false
		}
	}
	return l.depth == deepest || len(l.text) < keyLen || p.inside(l)
}

// inside looks at all layers that can be recognised in one.
func (p *peeler) inside(l *layer) bool {
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
	return p.packed(l) && p.encoded(l, &base64Code) && p.encoded(l, &hexCode)
}

// inner is a layer that is being peeled off another one.
type inner struct {
	of     *layer
	whole  bool
	web    bool
	places bool
	text   []byte
	lo, hi []int
}

func (p *peeler) begin(l *layer, whole bool) *inner {
	return &inner{of: l, whole: whole, web: l.web, places: p.places}
}

// put adds what stands between two places of the outer layer.
func (in *inner) put(text string, from, to int) {
	in.text = append(in.text, text...)
	if !in.places || from == to {
		return
	}
	for range len(text) {
		in.lo, in.hi = append(in.lo, in.of.from(from)), append(in.hi, in.of.to(to-1))
	}
}

// same adds what the outer layer has between two places as it is.
func (in *inner) same(from, to int) {
	in.text = append(in.text, in.of.text[from:to]...)
	if in.places {
		for i := from; i < to; i++ {
			in.lo, in.hi = append(in.lo, in.of.from(i)), append(in.hi, in.of.to(i))
		}
	}
}

// end is the layer, without text if there is no more to be peeled off, or if it was looked at before:
// unescaping one way and then the other often comes to the same as the other way round.
func (p *peeler) end(in *inner) *layer {
	l := &layer{depth: in.of.depth + 1, whole: in.whole, web: in.web, lo: in.lo, hi: in.hi}
	if p.left -= len(in.text); p.left < 0 {
		p.over = true
		return l
	}
	if len(in.text) < keyLen {
		return l
	}
	text := unsafe.String(&in.text[0], len(in.text)) // which does not change any more
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

// worthwhile is the length of texts that it is cheaper to remember than to look at again.
const worthwhile = 256

// escape is a way to write a text with some characters in other words.
type escape struct {
	least string // what stands in every text with such escapes
	marks string // with which they begin
	only  string // it is of interest only for secrets with one of these characters in them; "": for all
	// decode gives the text of one and how many bytes it stands for, 0 where there is none.
	decode func(string) (string, int)
	web    bool // see layer
}

var escapes = [...]escape{
	{least: `\`, marks: `\`, decode: backslash},                      // JSON, Go, shells and their like
	{least: "%", marks: "%", decode: percent, web: true},             // URLs
	{least: "+", marks: "%+", decode: percent, only: " ", web: true}, // their queries, where a plus is a space
	{least: "&", marks: "&", decode: entity, web: true},              // HTML and XML
	{least: "'", marks: "'", decode: posix, only: "'"},               // a quote between the quotes of a shell
	{least: "''", marks: "'", decode: doubled, only: "'"},            // of SQL and YAML
	{least: `""`, marks: `"`, decode: doubled, only: `"`},            // of SQL and CSV
	{least: "\n", marks: "\n", decode: indent, only: "\n"},           // lines of YAML and of heredocs
}

// posix is a quote in a text between single quotes, as POSIX shells have it.
func posix(s string) (string, int) {
	for _, way := range [...]string{`'\''`, `'"'"'`} {
		if strings.HasPrefix(s, way) {
			return "'", len(way)
		}
	}
	return "", 0
}

// doubled is a quote that stands for one.
func doubled(s string) (string, int) {
	if len(s) > 1 && s[0] == s[1] {
		return s[:1], 2
	}
	return "", 0
}

// indent is the end of a line with the indentation of the next one.
func indent(s string) (string, int) {
	if rest := strings.TrimLeft(s[1:], " \t"); len(rest) < len(s)-1 {
		return "\n", len(s) - len(rest)
	}
	return "", 0
}

// unescape copies a layer without its escapes. It reports whether there were any.
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

// utf16Escape decodes \u and four digits, twice for what does not fit.
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

// digits reads n digits of so many bits each.
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

// code is a way to write bytes in letters, so many bits in each.
type code struct {
	value [256]byte
	bits  int
	least int // letters
	wraps bool
	colon bool // there may be colons between the letters
}

const none = 0xff

var base64Code, hexCode = code{bits: 6, least: base64Len, wraps: true}, code{bits: 4, least: hexLen, colon: true}

// visible are the ASCII characters that text is made of.
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

// words are the words in a text that are long enough, letter by letter.
type words struct {
	values []byte // of all letters
	at     []int  // where they stand, if that is asked for
	ends   []int  // of each word, in values
	span          // from the first to the last
}

// words finds the words of a code in a text.
func (c *code) words(text string, places bool) *words {
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
		if len(w.values)-begin < c.least {
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

// wrapped is where the next line begins, if one ends at i.
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

// encoded looks at what words of a code say. Where a word begins cannot be seen, if something of the same
// letters stands before it: so it is read from each of the first letters that make a difference.
func (p *peeler) encoded(l *layer, c *code) bool {
	words := c.words(l.text, p.places)
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
		if d.depth == deepest || d.text == "" {
			continue
		}
		if !p.packed(d) {
			return false
		}
		if said := legible(d); said.text != "" && !p.inside(said) {
			return false
		}
	}
	return true
}

// decode reads words from one of their first letters on. Something that is no text stands between them.
func (c *code) decode(w *words, in *inner, skip int) *inner {
	in.text = make([]byte, 0, len(w.values)*c.bits/8+len(w.ends))
	begin := 0
	for _, end := range w.ends {
		if begin > 0 {
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

// add adds a byte that stands in some letters, from one to another.
func (in *inner) add(b byte, w *words, first, last int) {
	if in.text = append(in.text, b); in.places {
		in.place(w, first, last)
	}
}

func (in *inner) place(w *words, first, last int) {
	in.lo, in.hi = append(in.lo, in.of.from(w.at[first])), append(in.hi, in.of.to(w.at[last]))
}

// legible is what of a decoded text can be text: most of what looks like a word of a code is none, and
// says nothing.
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

// packed looks at what is compressed in a layer, and at text of two bytes a letter. No program puts an archive into a URL
// or into HTML.
func (p *peeler) packed(l *layer) bool {
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

// attempt is what it costs to find that something is no archive.
const attempt = 1 << 10

// unpacked reads what is compressed, as far as it goes: what was cut off is none the less there.
func (p *peeler) unpacked(text string) string {
	if p.left -= attempt; p.left < 0 {
		p.over = true
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

// wide looks at text of two bytes a letter, whichever comes first, as far as its letters are those of Latin-1.
func (p *peeler) wide(l *layer) bool {
	var in *inner
	for i := strings.IndexByte(l.text, 0); i >= 0; {
		end := i
		for end+2 < len(l.text) && l.text[end+1] != 0 && l.text[end+2] == 0 {
			end += 2
		}
		if (end-i)/2 >= keyLen-2 { // there may be one letter more at either side
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

// joined are spans by their place, those that overlap or touch made one.
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

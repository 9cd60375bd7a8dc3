package secret

import (
	"bytes"
	"compress/gzip"
	"hash/maphash"
	"io"
	"strings"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
)

// Layers. Programs often write one text inside another, for example in a JSON string, in a URL or in base64, and may
// write the result inside a further text. The search decodes each encoding that it recognises, and searches the decoded
// text in the same way. It decodes at most four layers, in any order.
//
// The work is limited. The decoded bytes of a text are at most perByte times its length plus perText. All texts of a
// run together may use perRun bytes of the second part. Only a text that was made to grow (archives of zeros, escapes
// of escapes) exceeds the limit. Such a text counts as if it contained a secret.

const (
	maxDepth = 4        // maximum number of layers inside the searched text
	perByte  = 64       // maximum number of decoded bytes for each byte of a text
	perText  = 16 << 20 // maximum number of decoded bytes of a text in addition
	perRun   = 1 << 30  // maximum number of the additional bytes of all texts together
)

// decoder searches a text and all its layers.
type decoder struct {
	set      *Set
	places   bool // record the places of bytes in the outermost text
	wholes   bool // only whole forms of secrets are needed
	left     int  // number of bytes that may still be decoded within the limit
	exceeded bool // the limit of decoded bytes was exceeded
	seen     map[uint64]struct{}
	gzip     *gzip.Reader
	// found is called for each piece of a secret that the search finds. If it returns false, the search stops.
	found func(l *layer, i int, p *piece) bool
}

// decodeLayer searches a text and its layers, and calls found for each piece of a secret. places is true if the caller
// needs the places of the pieces in the text. decodeLayer returns false if the text exceeds the limit: parts of it were
// not searched then.
func (s *Set) decodeLayer(text string, places bool, found func(l *layer, i int, p *piece) bool) bool {
	return s.decode(text, search{places: places}, found)
}

// search has the settings of a search.
type search struct {
	depth  int // the number of encodings from which the text was decoded
	places bool
	wholes bool
}

// decode searches a text and its layers, and calls found for each piece of a secret. The parameter how has the settings
// of the search. If an earlier search for the same secrets found no piece in a long text, decode returns true without a
// search. It returns false if the text exceeds the limit.
func (s *Set) decode(text string, how search, found func(l *layer, i int, p *piece) bool) bool {
	spare := min(perText, max(0, perRun-int(s.peeled.Load())))
	own := perByte * len(text)
	key, known := s.clean.of(text, how.depth, len(s.table.pieces))
	if known {
		return true
	}
	any := false
	p := &decoder{set: s, places: how.places, wholes: how.wholes, left: own + spare, found: func(l *layer, i int, p *piece) bool {
		any = true
		return found(l, i, p)
	}}
	p.look(&layer{text: text, depth: how.depth, whole: true})
	if used := spare - p.left; used > 0 {
		s.peeled.Add(int64(used))
	}
	if !any && !p.exceeded && !how.wholes {
		s.clean.add(key, len(s.table.pieces))
	}
	return !p.exceeded
}

// look searches a layer and the layers in it. It returns false if found has returned false: the search must stop.
func (p *decoder) look(l *layer) bool {
	for i, piece := range p.set.table.matches(l.text, p.wholes) {
		if !p.found(l, i, piece) {
			return false
		}
	}
	return l.depth == maxDepth || len(l.text) < keyLen || p.inside(l)
}

// inside decodes the layers in a layer and searches them. It returns false if the search must stop.
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

func (p *decoder) begin(l *layer, whole bool) *inner {
	return &inner{of: l, whole: whole, web: l.web, places: p.places}
}

// end returns the decoded layer. The layer has no text if the limit is exceeded, if the text is too short for a secret,
// or if the same long text was searched before: two kinds of escapes often have the same result in either order. If the
// decoder records places, it keeps repeated texts.
func (p *decoder) end(in *inner) *layer {
	l := &layer{depth: in.of.depth + 1, whole: in.whole, web: in.web, lo: in.lo, hi: in.hi}
	if p.left -= len(in.text); p.left < 0 {
		p.exceeded = true
		return l
	}
	if len(in.text) < keyLen {
		return l
	}
	text := ctyvalue.TextOf(in.text) // in.text must not change after this line
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

// worthwhile is the length, in bytes, from which a text is recorded, because recording it is cheaper than searching it
// twice.
const worthwhile = 256

// encoded decodes the words of a code in a layer and searches the results. If other letters of the code precede an
// encoded word, the beginning of the word is unknown. So encoded decodes each word several times, from each of its
// first letters that leads to different bytes. It returns false if the search must stop.
func (p *decoder) encoded(l *layer, c *code) bool {
	words := c.words(l.text, p.places, func(values []byte) bool { return p.set.table.mayHold(values, c.bits) })
	if len(words.ends) == 0 {
		return true
	}
	whole := l.whole && len(words.ends) == 1 && strings.Trim(l.text[:words.from]+l.text[words.to:], "=\" \r\n") == ""
	for skip := range 8 / (8 - c.bits) {
		d := p.end(c.decode(words, p.begin(l, whole && skip == 0), skip))
		for i, piece := range p.set.table.matches(d.text, p.wholes) {
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

// compressed decompresses gzip data in a layer and searches the result. It also searches the layer for text in UTF-16.
// It ignores gzip data in a layer from a URL or HTML, because programs write no archives there. It returns false if the
// search must stop.
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

// attempt is the cost of an attempt to decompress, in bytes of the limit.
const attempt = 1 << 10

// unpacked decompresses a text as far as possible, because a truncated archive may contain a secret, too. It returns ""
// if the text is no archive.
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

// wide searches a layer for UTF-16 text in either byte order. It finds only text whose characters are in Latin-1. It
// returns false if the search must stop.
func (p *decoder) wide(l *layer) bool {
	var in *inner
	for i := strings.IndexByte(l.text, 0); i >= 0; {
		end := i
		for end+2 < len(l.text) && l.text[end+1] != 0 && l.text[end+2] == 0 {
			end += 2
		}
		if (end-i)/2 >= keyLen-2 { // the text may have one more letter at each end than i and end contain
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

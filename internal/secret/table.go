package secret

import (
	"iter"
	"math/bits"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// The matcher. Each text of a secret is cut into pieces of 8 to 64 bytes. The first 8 bytes of a piece are its key. At
// most places of a searched text, a bitmap excludes all pieces for the cost of a multiplication. At the other places, a
// hash table returns the pieces with the key, and the matcher compares them with the text. So a text is read once, and
// the work at a place depends on the number of pieces with the same key, but not on the lengths of secrets and text. If
// many pieces have the same key, as private keys and connection strings do, the matcher finds them by their text (type
// crowd). Adding a piece is cheap: only the bitmap is rebuilt if too many of its bits are set. The matcher also finds
// parts of a long secret.

const (
	keyLen   = shortest // number of bytes of a key, and of the shortest piece
	pieceLen = 64       // number of bytes of the longest piece
)

// form is one spelling of a secret in plain text.
type form struct {
	text  string
	of    *secret
	whole bool // true: the form is the whole secret; false: a single line of it
}

// piece is a part of a form. A search finds a form by its pieces.
type piece struct {
	text string
	form *form
	at   int   // offset in the form
	next int32 // the next piece with the same key, as index plus 1; 0: no further piece
	nth  int32 // the number of this piece among the pieces with its key, from 1
}

// crowded is the number of pieces with one key from which a crowd finds them.
const crowded = 16

// crowd finds the pieces with one key by their text. The work for a place of a text depends on the number of different
// lengths, but not on the number of pieces.
type crowd struct {
	pieces byText
	wholes byText // the pieces at the beginning of a whole form, by the form, because the first pieces of many secrets may be equal
}

// byText finds pieces by a text.
type byText struct {
	lengths []int              // the lengths of the texts, each once
	numbers map[string][]int32 // the pieces, as indexes plus 1
}

// add adds piece n, an index plus 1, with a text.
func (b *byText) add(text string, n int32) {
	if b.numbers == nil {
		b.numbers = map[string][]int32{}
	}
	b.numbers[text] = append(b.numbers[text], n)
	if !slices.Contains(b.lengths, len(text)) {
		b.lengths = append(b.lengths, len(text))
	}
}

// at calls yield for each piece whose text is at the index i of text. It returns false if yield has returned false: the
// search must stop.
func (b *byText) at(t *table, text string, i int, yield func(int, *piece) bool) bool {
	for _, length := range b.lengths {
		if i+length > len(text) {
			continue
		}
		for _, n := range b.numbers[text[i:i+length]] {
			if !yield(i, &t.pieces[n-1]) {
				return false
			}
		}
	}
	return true
}

// join adds piece n, an index plus 1, to the crowd of its key.
func (t *table) join(c *crowd, n int32) {
	p := &t.pieces[n-1]
	c.pieces.add(p.text, n)
	if p.form.whole && p.at == 0 {
		c.wholes.add(p.form.text, n)
	}
}

// gather adds piece n, an index plus 1, to the crowd of its key. It creates the crowd if the key has enough pieces.
func (t *table) gather(key uint64, n int32) {
	if t.pieces[n-1].nth < crowded {
		return
	}
	if c := t.crowds[key]; c != nil {
		t.join(c, n)
		return
	}
	c := &crowd{}
	for ; n != 0; n = t.pieces[n-1].next {
		t.join(c, n)
	}
	if t.crowds == nil {
		t.crowds = map[uint64]*crowd{}
	}
	t.crowds[key] = c
}

type table struct {
	pieces []piece
	first  map[uint64]int32 // by key: the first piece with the key, as index plus 1
	crowds map[uint64]*crowd
	bitmap []uint64        // the length is a power of two
	shift  uint            // number of bits by which a hash is shifted to get a place in bitmap
	inner  map[inside]bool // the pieces after the first piece of each form, so that equal pieces are added once
	marks  string          // the characters of the constant special that occur in a piece
}

// inside identifies a piece that is not the first of its form. If several secrets have an equal piece, it is added once
// for secrets that are masked in all texts, and once for secrets that are masked only in messages.
type inside struct {
	text  string
	shown bool // the secrets are masked only in messages and logs
}

// special has the characters that some kinds of escapes change.
const special = " '\"\n$"

// has reports whether any piece contains one of the characters in chars, which must be characters of the constant
// special. It returns true for an empty chars.
func (t *table) has(chars string) bool { return chars == "" || strings.ContainsAny(t.marks, chars) }

// add adds the pieces of text, a form of a secret. whole is true if the form is the whole secret.
func (t *table) add(text string, of *secret, whole bool) {
	f := &form{text: text, of: of, whole: whole}
	for at := 0; ; at += pieceLen {
		rest := len(text) - at
		switch {
		case rest <= pieceLen && at > 0:
			// The last piece overlaps the previous piece, so that it is not too short.
			t.addPiece(piece{text: text[len(text)-pieceLen:], form: f, at: len(text) - pieceLen})
			return
		case rest <= pieceLen:
			t.addPiece(piece{text: text, form: f})
			return
		}
		t.addPiece(piece{text: text[at : at+pieceLen], form: f, at: at})
	}
}

func (t *table) addPiece(p piece) {
	if t.first == nil {
		t.first, t.inner = map[uint64]int32{}, map[inside]bool{}
	}
	if p.at > 0 {
		in := inside{p.text, p.form.of.shown}
		if t.inner[in] {
			return
		}
		t.inner[in] = true
	}
	if len(t.marks) < len(special) {
		for _, c := range special {
			if strings.ContainsRune(p.text, c) && !strings.ContainsRune(t.marks, c) {
				t.marks += string(c)
			}
		}
	}
	key := keyOf(p.text)
	p.next, p.nth = t.first[key], 1
	if p.next != 0 {
		p.nth += t.pieces[p.next-1].nth
	}
	t.pieces = append(t.pieces, p)
	t.first[key] = int32(len(t.pieces))
	t.gather(key, t.first[key])
	if len(t.pieces) > len(t.bitmap) {
		t.grow()
		return
	}
	t.mark(key)
}

// mark sets the bits of a key and of its base64 letters.
func (t *table) mark(key uint64) {
	t.set(key)
	for _, l := range lettersOf(key) {
		t.set(l)
	}
}

const (
	letterBits = 6
	keyLetters = 10 // number of base64 letters that 8 bytes determine completely, wherever the first byte begins
	allLetters = 1<<(keyLetters*letterBits) - 1
)

// lettersOf returns the base64 letters that the 8 bytes of a key determine completely, as numbers: for bytes that begin
// with a letter, and after the second and the fourth bit of a letter.
func lettersOf(key uint64) [3]uint64 {
	k := bits.ReverseBytes64(key)
	return [3]uint64{k >> 4, k & allLetters, k >> 2 & allLetters}
}

// grow makes the bitmap four times as large, and sets its bits again.
func (t *table) grow() {
	t.size(max(64, 4*len(t.bitmap)))
	for key := range t.first {
		t.mark(key)
	}
}

// size makes an empty bitmap of at least the given number of words.
func (t *table) size(least int) {
	words := 1
	for words < least {
		words *= 2
	}
	t.bitmap = make([]uint64, words)
	t.shift = 64
	for bits := words * 64; bits > 1; bits >>= 1 {
		t.shift--
	}
}

const factor = 0x9e3779b97f4a7c15 // the constant of Fibonacci hashing

func (t *table) bit(key uint64) (word uint64, mask uint64) {
	h := key * factor >> t.shift
	return h >> 6, 1 << (h & 63)
}

func (t *table) set(key uint64) {
	word, mask := t.bit(key)
	t.bitmap[word] |= mask
}

// keyOf returns the first 8 bytes of a text as a number. It panics if the text is shorter.
func keyOf(s string) uint64 {
	_ = s[keyLen-1]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56 // the compiler makes one load of it
}

// matches returns all pieces that text contains, with their indexes in the text, sorted by index. Pieces at the same
// index have no particular order. If wholes is true, matches may leave out pieces of forms that are not completely in
// the text.
func (t *table) matches(text string, wholes bool) iter.Seq2[int, *piece] {
	return func(yield func(int, *piece) bool) {
		if len(text) < keyLen || len(t.pieces) == 0 {
			return
		}
		for i := t.next(text, 0); i >= 0; i = t.next(text, i+1) {
			if !t.at(text, i, keyOf(text[i:]), wholes, yield) {
				return
			}
		}
	}
}

// next returns the first index, from i on, at which the bitmap does not exclude a piece, or -1.
func (t *table) next(text string, i int) int {
	bitmap, shift := t.bitmap, t.shift
	for ; i+keyLen <= len(text); i++ {
		h := keyOf(text[i:]) * factor >> shift
		if bitmap[h>>6]&(1<<(h&63)) != 0 {
			return i
		}
	}
	return -1
}

// at calls yield for each piece of a secret that occurs at index i of the text. key is the key of the text at i. If
// wholes is true, at may leave out pieces of forms that are not completely in the text. at returns false if yield has
// returned false: the search must stop.
func (t *table) at(text string, i int, key uint64, wholes bool, yield func(int, *piece) bool) bool {
	switch c := t.crowds[key]; {
	case c != nil && wholes:
		return c.wholes.at(t, text, i, yield)
	case c != nil:
		return c.pieces.at(t, text, i, yield)
	}
	for n := t.first[key]; n != 0; n = t.pieces[n-1].next {
		if p := &t.pieces[n-1]; strings.HasPrefix(text[i:], p.text) && !yield(i, p) {
			return false
		}
	}
	return true
}

// Set holds the secrets of a run. The package comment describes its searches.
type Set struct {
	some   atomic.Bool // the Set has a secret; if false, methods return without the lock
	number atomic.Bool // a secret can be written as a number
	mu     sync.RWMutex
	known  map[string]*secret // secrets, by text
	masked map[string]*secret // secrets that are only masked, by text
	table  table

	elsewhere  func(string) bool    // reports whether a string is public (see Elsewhere); nil: no string is public
	subscriber func(string, Origin) // receives each secret and its origin, if Subscribe was called; otherwise nil
	first      func()               // is called when the Set gets its first secret; nil: no call

	found  atomic.Bool  // Check has found a secret
	rules  atomic.Int64 // the result of the method Rules
	peeled atomic.Int64 // number of the decoded bytes that count against perRun (layers.go)
	clean  clean        // long texts in which a search found no secret

	learning sync.Mutex         // guards the fields calls, held and missed
	calls    int                // calls of Learning in progress
	held     []func(known bool) // functions of Then that wait for the end of these calls
	missed   bool               // a call ended without registering its secrets
}

// Number reports whether a secret can be written as a number. A binary message may contain such a secret in another
// form, which a search does not find.
func (s *Set) Number() bool { return s != nil && s.number.Load() }

// Empty reports whether the Set has no secrets. Callers then need not search values for secrets.
func (s *Set) Empty() bool { return s == nil || !s.some.Load() }

// Rules returns a number that increases whenever Check may find more than before: with each string that must not be
// stored, and with each stricter rule for such a string. For a nil Set it is 0.
func (s *Set) Rules() int64 {
	if s == nil {
		return 0
	}
	return s.rules.Load()
}

// forms returns the spellings of a string that a text without escapes can contain. The first is the string itself. The
// others lack the surrounding space, lack the indentation of lines, or have DOS line breaks.
func forms(text string) []string {
	all := []string{text}
	if trimmed := strings.TrimSpace(text); trimmed != text && len(trimmed) >= shortest {
		all = append(all, trimmed)
	}
	for _, form := range all { // the elements are the text, and the text without surrounding space
		if !strings.Contains(form, "\n") {
			continue
		}
		if flat := indented().ReplaceAllString(form, "\n"); flat != form {
			all = append(all, flat)
		}
	}
	for _, form := range all {
		if strings.Contains(form, "\n") && !strings.Contains(form, "\r") {
			all = append(all, strings.ReplaceAll(form, "\n", "\r\n"))
		}
	}
	return all
}

// indented matches the indentation that is removed from lines.
var indented = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\n[ \t]+`) })

// lines returns the lines of a secret with several lines, because messages may show each line separately, for example
// behind a bar. Such lines are masked, but not refused, because other texts may contain the same lines and must be
// stored. lines omits the first and the last line of a PEM block, because these lines are the same in all files.
func lines(text string) []string {
	if !strings.Contains(text, "\n") {
		return nil
	}
	var all []string
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if len(line) >= shortest && !strings.HasPrefix(line, "-----") && !seen[line] {
			seen[line] = true
			all = append(all, line)
		}
	}
	return all
}

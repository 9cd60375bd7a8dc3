package secret

import (
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// The matcher. All that is looked for is cut into pieces of 8 to 64 bytes; a piece is found by its
// first 8 bytes. A bitmap says of most places in a text, for the price of a multiplication, that no
// piece starts there; where it does not, a hash table gives the pieces that start with those 8
// bytes, which are compared. So a text is looked at once, and what is done at one place is bounded
// by the number of pieces that start alike, and not with the lengths of secrets and text. Adding is
// cheap: nothing is built anew but the bitmap, when it becomes too full.
// A part of a long secret is masked as well.

const (
	keyLen   = shortest
	pieceLen = 64
)

// form is one way to write a secret.
type form struct {
	text  string
	of    *secret
	whole bool // the whole secret is in it; false for single lines
}

// piece is a part of a form.
type piece struct {
	text string
	form *form
	at   int   // where it is in the form
	next int32 // the next piece with the same key, 1-based; 0: none
}

type table struct {
	pieces []piece
	first  map[uint64]int32 // by key, 1-based
	bitmap []uint64         // a power of two
	shift  uint             // from hash to bit
	inner  map[string]bool  // pieces from within a form: one of a kind is enough
	marks  string           // characters of special that stand in a piece
}

// special are characters in secrets that some ways to write text change.
const special = " '\"\n"

// has reports whether a piece has one of the characters in it, or there are none.
func (t *table) has(chars string) bool { return chars == "" || strings.ContainsAny(t.marks, chars) }

// add adds a text to look for.
func (t *table) add(text string, of *secret, whole bool) {
	f := &form{text: text, of: of, whole: whole}
	for at := 0; ; at += pieceLen {
		rest := len(text) - at
		switch {
		case rest <= pieceLen && at > 0:
			// The last piece overlaps the one before it, so as not to be too short.
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
		t.first, t.inner = map[uint64]int32{}, map[string]bool{}
	}
	if p.at > 0 {
		if t.inner[p.text] {
			return
		}
		t.inner[p.text] = true
	}
	if len(t.marks) < len(special) {
		for _, c := range special {
			if strings.ContainsRune(p.text, c) && !strings.ContainsRune(t.marks, c) {
				t.marks += string(c)
			}
		}
	}
	key := keyOf(p.text)
	p.next = t.first[key]
	t.pieces = append(t.pieces, p)
	t.first[key] = int32(len(t.pieces))
	if len(t.pieces)*16 > len(t.bitmap)*64 {
		t.grow()
		return
	}
	t.set(key)
}

// grow makes the bitmap four times as large.
func (t *table) grow() {
	words := max(64, 4*len(t.bitmap))
	t.bitmap = make([]uint64, words)
	t.shift = 64
	for bits := words * 64; bits > 1; bits >>= 1 {
		t.shift--
	}
	for key := range t.first {
		t.set(key)
	}
}

func (t *table) bit(key uint64) (word uint64, mask uint64) {
	h := key * 0x9e3779b97f4a7c15 >> t.shift // Fibonacci hashing
	return h >> 6, 1 << (h & 63)
}

func (t *table) set(key uint64) {
	word, mask := t.bit(key)
	t.bitmap[word] |= mask
}

// keyOf is the first 8 bytes.
func keyOf(s string) (key uint64) {
	for i := range keyLen {
		key = key>>8 | uint64(s[i])<<56
	}
	return key
}

// matches gives all pieces in a text, by their place; of one place in no particular order.
func (t *table) matches(text string) iter.Seq2[int, *piece] {
	return func(yield func(int, *piece) bool) {
		if len(text) < keyLen || len(t.pieces) == 0 {
			return
		}
		key := keyOf(text)
		for i := 0; ; i++ {
			if word, mask := t.bit(key); t.bitmap[word]&mask != 0 && !t.at(text, i, key, yield) {
				return
			}
			if i+keyLen == len(text) {
				return
			}
			key = key>>8 | uint64(text[i+keyLen])<<56
		}
	}
}

// at gives the pieces that are at place i, and reports whether to go on.
func (t *table) at(text string, i int, key uint64, yield func(int, *piece) bool) bool {
	for n := t.first[key]; n != 0; n = t.pieces[n-1].next {
		if p := &t.pieces[n-1]; strings.HasPrefix(text[i:], p.text) && !yield(i, p) {
			return false
		}
	}
	return true
}

// Set is this run's secrets.
type Set struct {
	some   atomic.Bool // there is a secret; false saves taking the lock
	number atomic.Bool // there is one that is a number
	mu     sync.RWMutex
	known  map[string]*secret // by text
	masked map[string]bool    // those that may be kept
	table  table

	elsewhere func(string) bool
	told      func(string, Origin) // see Tell
	first     func()               // see First

	found  atomic.Bool  // Check has found one
	peeled atomic.Int64 // see layers

	learning sync.Mutex         // guards what follows
	calls    int                // in which secrets may be learned
	held     []func(known bool) // what waits for them
	missed   bool               // in one of them they were not
}

// Number reports whether a secret may be written as a number: those are not found in the bytes of a
// message that is not text.
func (s *Set) Number() bool { return s != nil && s.number.Load() }

// Empty reports whether there is nothing to guard, so that callers need not look for leaves.
func (s *Set) Empty() bool { return s == nil || !s.some.Load() }

// Known counts the secrets that may not be kept, as far as they are known.
func (s *Set) Known() int {
	if s.Empty() {
		return 0
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.known)
}

// forms are the ways in which a string is written where text is made of it and nothing is escaped. The
// first is the string itself.
func forms(text string) []string {
	all := []string{text}
	if trimmed := strings.TrimSpace(text); trimmed != text && len(trimmed) >= shortest {
		all = append(all, trimmed)
	}
	for _, form := range all { // that of the text with its line breaks, and without those around it
		if !strings.Contains(form, "\n") {
			continue
		}
		if flat := indented.ReplaceAllString(form, "\n"); flat != form {
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

// indented is what a text loses that is looked at without indentation.
var indented = regexp.MustCompile(`\n[ \t]+`)

// lines are the lines of a secret of several, for text that is shown in a frame. They are masked,
// not refused: a line may be a common one. The frame of a PEM block is.
func lines(text string) []string {
	if !strings.Contains(text, "\n") {
		return nil
	}
	var all []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if len(line) >= shortest && !strings.HasPrefix(line, "-----") && !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	return all
}

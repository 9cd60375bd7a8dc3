package mark

import (
	"strconv"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// LeastPiece is the length in bytes of the shortest text that is remembered as a piece.
const LeastPiece = 8

// Pieces are the texts that a marked value was made from, and that may not stand in it as they were: arguments of
// functions, values in templates. Where the value arrives, the guard learns them. A value shares the pieces of the values
// that it was made from.
type Pieces struct {
	text string
	a, b *Pieces
}

func bothPieces(a, b *Pieces) *Pieces {
	switch {
	case a == nil || a == b:
		return b
	case b == nil:
		return a
	}
	return &Pieces{a: a, b: b}
}

// Each visits the texts. A text may be visited more than once.
func (p *Pieces) Each(visit func(text string)) {
	if p == nil {
		return
	}
	seen, next := map[*Pieces]bool{p: true}, []*Pieces{p}
	for len(next) > 0 {
		p, next = next[len(next)-1], next[:len(next)-1]
		if p.text != "" {
			visit(p.text)
		}
		for _, q := range []*Pieces{p.a, p.b} {
			if q != nil && !seen[q] {
				seen[q] = true
				next = append(next, q)
			}
		}
	}
}

// on puts a mark at rest onto a value.
func (m At) on(v cty.Value) cty.Value {
	if m.Pieces == nil {
		return With(v, m.Tag, m.Why)
	}
	return Compact(v.Mark(tagged{m.Tag, m.Why, m.Pieces}))
}

// Compact gives v at most one mark of its own for each tag.
func Compact(v cty.Value) cty.Value {
	if !v.IsMarked() {
		return v
	}
	if ms := v.Marks(); len(ms) == 1 || len(ms) == 2 && Is(v, Sensitive) && Is(v, Ephemeral) {
		return v
	}
	return withPiece(v, "")
}

// Piece notes that something will be made of v. It has no effect if v has no mark, or is not a text of at least
// LeastPiece bytes or a number of as many digits.
func Piece(v cty.Value) cty.Value {
	if !v.IsMarked() {
		return v
	}
	if bare, _ := v.Unmark(); bare.IsKnown() && !bare.IsNull() {
		if text := pieceText(bare); len(text) >= LeastPiece {
			return withPiece(v, text)
		}
	}
	return v
}

func pieceText(v cty.Value) string {
	switch v.Type() {
	case cty.String:
		return v.AsString()
	case cty.Number:
		f := ctyvalue.Number(v)
		if i, acc := f.Int64(); acc == 0 {
			return strconv.FormatInt(i, 10)
		}
		if !f.IsInf() {
			return f.Text('f', -1)
		}
	}
	return ""
}

// withPiece merges the marks of v itself that have the same tag, and adds a text to their pieces.
func withPiece(v cty.Value, text string) cty.Value {
	v, ms := v.Unmark()
	var merged [Ephemeral + 1]tagged
	out := cty.ValueMarks{}
	for m := range ms {
		m, ok := m.(tagged)
		if !ok {
			continue
		}
		t := &merged[m.tag]
		if t.tag == 0 || better(m.why, t.why) {
			t.why = m.why
		}
		t.tag, t.pieces = m.tag, bothPieces(t.pieces, m.pieces)
	}
	for _, t := range merged {
		if t.tag == 0 {
			continue
		}
		if text != "" {
			t.pieces = &Pieces{text: text, a: t.pieces}
		}
		out[t] = struct{}{}
	}
	return v.WithMarks(out)
}

// MadeOf gives the result of a function the pieces of the lists, maps and objects that it made texts of. A function that
// returns one of their texts as it is has chosen it; the others are no pieces of it.
func MadeOf(result cty.Value, args []cty.Value) cty.Value {
	if !result.IsMarked() {
		return result
	}
	bare, _ := result.UnmarkDeep()
	made := map[string]bool{}
	if bare.IsWhollyKnown() {
		eachText(bare, func(text string) { made[text] = true })
	}
	if len(made) == 0 {
		return result
	}
	var texts []string
	for _, a := range args {
		if a == cty.NilVal || a.Type().IsPrimitiveType() || !a.ContainsMarked() {
			continue
		}
		chosen := false
		markedTexts(a, false, func(text string) {
			chosen = chosen || made[text]
			texts = append(texts, text)
		})
		if chosen {
			return result
		}
	}
	for _, text := range texts {
		result = withPiece(result, text)
	}
	return result
}

func eachText(v cty.Value, visit func(string)) {
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if !v.IsNull() && v.Type() == cty.String {
			visit(v.AsString())
		}
		return true, nil
	})
}

// markedTexts visits the texts in v that are marked, or lie in something that is.
func markedTexts(v cty.Value, marked bool, visit func(string)) {
	if v.IsMarked() {
		marked = true
		v, _ = v.Unmark()
	}
	switch ty := v.Type(); {
	case v.IsNull() || !v.IsKnown() || ty.IsCapsuleType():
	case ty.IsPrimitiveType():
		if text := pieceText(v); marked && len(text) >= LeastPiece {
			visit(text)
		}
	default:
		for e := range ctyvalue.Unordered(v) {
			markedTexts(e, marked, visit)
		}
	}
}

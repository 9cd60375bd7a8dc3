package mark

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// on adds the mark to v itself. If v itself has a mark with the same tag already, v keeps this mark, and on only adds
// the pieces of m (texts from which a marked value was made) to it.
func (m At) on(v cty.Value) cty.Value {
	if m.Pieces == nil {
		return With(v, m.Tag, m.Why)
	}
	return Compact(v.Mark(tagged{m.Tag, m.Why, m.Pieces}))
}

// Compact merges the marks of v itself, so that v has at most one mark for each tag, with the pieces of all marks that
// were merged. Marks inside v remain unchanged.
func Compact(v cty.Value) cty.Value {
	if !v.IsMarked() {
		return v
	}
	if ms := v.Marks(); len(ms) == 1 || len(ms) == 2 && Is(v, Sensitive) && Is(v, Ephemeral) {
		return v
	}
	return withPiece(v, "")
}

// Piece records the text of v in the marks of v, as a piece (see Pieces). A caller uses it before it makes another
// value from v. Piece returns v unchanged if v is not marked itself, if v is null, unknown, or neither a string nor a
// number, or if the text has fewer than LeastPiece bytes.
func Piece(v cty.Value) cty.Value {
	if !v.IsMarked() {
		return v
	}
	unmarked, _ := v.Unmark()
	if text, _ := ctyvalue.Text(unmarked); len(text) >= LeastPiece {
		return withPiece(v, text)
	}
	return v
}

// withPiece merges the marks of v itself that have the same tag, and adds text to the pieces (see Pieces) of each mark.
// If text is "", withPiece adds no text. It drops marks that other packages have made.
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

// MadeOf adds the texts in marked lists, sets, tuples, maps and objects among the arguments of a function to the pieces
// of its result. It adds only texts of at least LeastPiece bytes. It adds nothing if a string in the result equals such
// a text: the function has then selected an element, and the other elements are not part of the result. It also adds
// nothing if the result is not marked itself, has an unknown part, or contains no string.
func MadeOf(result cty.Value, args []cty.Value) cty.Value {
	of := func(a cty.Value) bool { return a != cty.NilVal && !a.Type().IsPrimitiveType() && a.ContainsMarked() }
	if !result.IsMarked() || !slices.ContainsFunc(args, of) {
		return result
	}
	unmarked, _ := result.UnmarkDeep()
	made := map[string]bool{}
	if unmarked.IsWhollyKnown() {
		eachText(unmarked, func(text string) { made[text] = true })
	}
	if len(made) == 0 {
		return result
	}
	var texts []string
	for _, a := range args {
		if !of(a) {
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

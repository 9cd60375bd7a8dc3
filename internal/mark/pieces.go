package mark

import (
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// LeastPiece is the length in bytes of the shortest text that is recorded as a piece.
const LeastPiece = 8

// Pieces are the texts from which a marked value was made: arguments of functions, and values in templates. The value
// need not contain them verbatim. If a marked value is passed to a provider, the engine registers its pieces for the
// search of output for secrets. A value shares the pieces of the values from which it was made. So the pieces form a
// graph: text is one piece, or "" without one, and a and b lead to other pieces, or are nil. A nil *Pieces has no
// texts.
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

// Each calls visit for each text in p and in the pieces that p shares. It may visit a text more than once.
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

func eachText(v cty.Value, visit func(string)) {
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if !v.IsNull() && v.Type() == cty.String {
			visit(v.AsString())
		}
		return true, nil
	})
}

// markedTexts calls visit for the strings and numbers in v that are marked or are part of a marked value, and whose
// text has at least LeastPiece bytes. It does not visit keys and names of attributes. marked is true if a value that
// contains v is marked.
func markedTexts(v cty.Value, marked bool, visit func(string)) {
	if v.IsMarked() {
		marked = true
		v, _ = v.Unmark()
	}
	switch ty := v.Type(); {
	case v.IsNull() || !v.IsKnown() || ty.IsCapsuleType():
	case ty.IsPrimitiveType():
		if text, _ := ctyvalue.Text(v); marked && len(text) >= LeastPiece {
			visit(text)
		}
	default:
		for e := range ctyvalue.Unordered(v) {
			markedTexts(e, marked, visit)
		}
	}
}

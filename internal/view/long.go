package view

import (
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/diff"
	"github.com/lethe-iac/lethe/internal/view/printable"
)

// size returns the approximate number of bytes of the values in a comparison. It returns 0 for nil.
func size(n *diff.Node) int {
	if n == nil {
		return 0
	}
	total := size(n.Old) + size(n.New)
	for _, v := range []*diff.Value{n.Before, n.After} {
		if v != nil {
			total = max(total, len(v.Text))
		}
	}
	for i, k := range n.Children {
		total += size(k) + 1
		if i < len(n.Names) {
			total += len(n.Names[i])
		}
	}
	return total
}

// stringAtom writes a string in quotes. If the string is longer than r.limit, it writes the beginning, the end, and the
// bytes around an offset at which the string differs from another.
func (r *renderer) stringAtom(s string, at int) {
	if r.limit == 0 || len(s) <= r.limit {
		r.quoted(s)
		return
	}
	part := r.limit / 4
	spans := [][2]int{{0, part}, {len(s) - part, len(s)}}
	if from := at - part/4; from > part && at < len(s)-part {
		spans = [][2]int{{0, part}, {from, min(from+part, len(s)-part)}, {len(s) - part, len(s)}}
	}
	for i, span := range spans {
		if i > 0 {
			r.WriteString(" … ")
		}
		r.quoted(onRunes(s, span[0], span[1]))
	}
	r.WriteString(" (" + printable.Grouped(len(s)) + " bytes)")
}

// onRunes returns s[from:to] without incomplete characters at its ends.
func onRunes(s string, from, to int) string {
	for from > 0 && from < to && !utf8.RuneStart(s[from]) {
		from++
	}
	for to < len(s) && to > from && !utf8.RuneStart(s[to]) {
		to--
	}
	return s[from:to]
}

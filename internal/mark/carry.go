package mark

import (
	"slices"
	"strconv"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/zclconf/go-cty/cty"
)

// Carry returns the marks of asked, a value that was sent to a provider, at their places in answer, the value that the
// provider returned. A mark keeps its path only if both values have each step of the path, and every list, tuple and
// map on the path has the same length and keys in both values. Otherwise the mark rises to the first container (a list,
// map or object that contains the value) that differs, or is null or unknown. A mark inside a set always rises to the
// set (ADR 13). Marks with the same tag that rise to the same place become one mark: the first, with the pieces (see
// Pieces) of all. The work is linear in the size of the values and marks.
func Carry(asked Value, answer cty.Value) []At {
	if len(asked.Marks) == 0 {
		return nil
	}
	l := lander{keys: map[string]bool{}}
	landed := make([]At, len(asked.Marks))
	for i, m := range asked.Marks {
		m.Path = l.landing(m.Path, asked.Raw, answer)
		landed[i] = m
	}
	return Union(nil, landed)
}

// lander finds the new places of marks for Carry. It compares each pair of maps only once, because one map may contain
// many marks.
type lander struct {
	keys map[string]bool // by the text of a path: whether the maps at the path have the same keys in both values
	buf  []byte          // the current path as text
}

// landing returns the longest prefix of path that leads to the same place in both values.
func (l *lander) landing(path cty.Path, a, b cty.Value) cty.Path {
	l.buf = l.buf[:0]
	for i, step := range path {
		if !l.sameShape(a, b) {
			return path[:i]
		}
		var err1, err2 error
		a, err1 = step.Apply(a)
		b, err2 = step.Apply(b)
		if err1 != nil || err2 != nil {
			return path[:i]
		}
		l.buf = appendStep(l.buf, step)
	}
	return path
}

// sameShape reports whether the same path step leads to corresponding elements in a and b, the values at the path in
// l.buf. It does for two objects, for two lists or tuples of equal length, and for two maps with the same keys. It does
// not for sets, for null and unknown values, and for values of two other kinds.
func (l *lander) sameShape(a, b cty.Value) bool {
	if a.IsNull() || b.IsNull() || !a.IsKnown() || !b.IsKnown() {
		return false
	}
	at, bt := a.Type(), b.Type()
	switch {
	case at.IsObjectType() && bt.IsObjectType():
		return true
	case at.IsSetType() || bt.IsSetType():
		return false
	case (at.IsListType() || at.IsTupleType()) && (bt.IsListType() || bt.IsTupleType()):
		return a.LengthInt() == b.LengthInt()
	case at.IsMapType() && bt.IsMapType():
		same, compared := l.keys[string(l.buf)]
		if !compared {
			same = sameKeys(a, b)
			l.keys[string(l.buf)] = same
		}
		return same
	}
	return false
}

func sameKeys(a, b cty.Value) bool {
	if a.LengthInt() != b.LengthInt() {
		return false
	}
	for it := a.ElementIterator(); it.Next(); {
		k, _ := it.Element()
		if b.HasIndex(k).False() {
			return false
		}
	}
	return true
}

// Union appends to list the marks of more whose path and tag list does not have. list must have at most one mark for
// each path and tag, and so has the result. If both lists have a mark with the same path and tag, the result has the
// mark of list, with the pieces (see Pieces) of both. Union does not change the elements of list or the memory behind
// them, because several values may share them.
func Union(list, more []At) []At {
	if len(more) == 0 {
		return list
	}
	list = slices.Clip(list)
	have := make(map[string]int, len(list)+len(more))
	var buf []byte
	place := func(m At, at int) int {
		buf = append(buf[:0], byte(m.Tag))
		for _, step := range m.Path {
			buf = appendStep(buf, step)
		}
		if old, present := have[string(buf)]; present {
			return old
		}
		have[string(buf)] = at
		return at
	}
	for i, m := range list {
		place(m, i)
	}
	own := false // list is a copy, which Union may change
	for _, m := range more {
		i := place(m, len(list))
		switch {
		case i == len(list):
			list = append(list, m)
		case m.Pieces != nil && m.Pieces != list[i].Pieces:
			if !own {
				list, own = slices.Clone(list), true
			}
			list[i].Pieces = bothPieces(list[i].Pieces, m.Pieces)
		}
	}
	return list
}

// appendStep appends a text for a path step to buf. Two paths have the same text only if they are equal.
func appendStep(buf []byte, step cty.PathStep) []byte {
	switch step := step.(type) {
	case cty.GetAttrStep:
		buf = append(buf, '.')
		return append(strconv.AppendInt(buf, int64(len(step.Name)), 10), step.Name...)
	case cty.IndexStep:
		k, ok := keyOf(step.Key)
		if i, whole := k.Int(); whole {
			return strconv.AppendInt(append(buf, '#'), int64(i), 10)
		}
		kind := byte('"')
		text, _ := k.Str()
		if !ok { // the step leads to an element of a set
			kind, text = '=', step.Key.GoString()
		}
		return append(strconv.AppendInt(append(buf, kind), int64(len(text)), 10), text...)
	}
	return append(buf, '?')
}

// keyOf returns the key of a path step: a whole number of 0 or more, or a string. It returns false for any other value,
// and if v is null, unknown or marked.
func keyOf(v cty.Value) (addr.Key, bool) {
	if v.IsMarked() {
		return addr.NoKey, false
	}
	return addr.KeyOf(v)
}

// SensitiveAt returns a sensitive mark without an origin for each path.
func SensitiveAt(paths []cty.Path) []At {
	if len(paths) == 0 {
		return nil
	}
	out := make([]At, len(paths))
	for i, p := range paths {
		out[i] = At{Path: p, Tag: Sensitive}
	}
	return out
}

// PathsOf returns the paths of the marks with the tag.
func (v Value) PathsOf(t Tag) []cty.Path {
	var out []cty.Path
	for _, m := range v.Marks {
		if m.Tag == t {
			out = append(out, m.Path)
		}
	}
	return out
}

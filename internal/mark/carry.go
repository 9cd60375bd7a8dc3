package mark

import (
	"strconv"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/zclconf/go-cty/cty"
)

// Carry puts the marks of what was asked for onto what was answered. A mark stays at its path only
// where every container on the way has the same length and keys in both values; otherwise, and
// always in sets, it rises to the container (ADR 13). Its work is linear in values and marks.
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

// lander finds where marks stay. Many marks lie in the same maps: each pair of maps is compared once.
type lander struct {
	keys map[string]bool // whether two maps have the same keys, by their place
	buf  []byte          // the place as text
}

// landing is the longest part of path that leads to the same place in both values.
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

// sameShape reports whether steps mean the same in both values.
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

// Union appends to list the marks of more that it does not have. A list holds at most one mark for each path and tag.
func Union(list, more []At) []At {
	if len(more) == 0 {
		return list
	}
	have := make(map[string]bool, len(list)+len(more))
	var buf []byte
	missing := func(m At) bool {
		buf = append(buf[:0], byte(m.Tag))
		for _, step := range m.Path {
			buf = appendStep(buf, step)
		}
		if have[string(buf)] {
			return false
		}
		have[string(buf)] = true
		return true
	}
	for _, m := range list {
		missing(m)
	}
	for _, m := range more {
		if missing(m) {
			list = append(list, m)
		}
	}
	return list
}

// appendStep writes a step so that two paths have the same text only if they are equal.
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
		if !ok { // a member of a set
			kind, text = '=', step.Key.GoString()
		}
		return append(strconv.AppendInt(append(buf, kind), int64(len(text)), 10), text...)
	}
	return append(buf, '?')
}

// keyOf is addr.KeyOf of a key that may have marks of its own.
func keyOf(v cty.Value) (addr.Key, bool) {
	if v.IsMarked() {
		return addr.NoKey, false
	}
	return addr.KeyOf(v)
}

// SensitiveAt makes marks of places that are sensitive, without origins.
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

// PathsOf gives the paths that have the tag.
func (v Value) PathsOf(t Tag) []cty.Path {
	var out []cty.Path
	for _, m := range v.Marks {
		if m.Tag == t {
			out = append(out, m.Path)
		}
	}
	return out
}

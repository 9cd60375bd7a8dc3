package mark

import "github.com/zclconf/go-cty/cty"

// Carry puts the marks of what was asked for onto what was answered. A mark stays at its path only
// where every container on the way has the same length and keys in both values; otherwise, and
// always in sets, it rises to the container (ADR 13).
func Carry(asked Value, answer cty.Value) []At {
	if len(asked.Marks) == 0 {
		return nil
	}
	out := make([]At, 0, len(asked.Marks))
	for _, m := range asked.Marks {
		m.Path = landing(m.Path, asked.Raw, answer)
		out = Add(out, m)
	}
	return out
}

// landing is the longest part of path that leads to the same place in both values.
func landing(path cty.Path, a, b cty.Value) cty.Path {
	for i, step := range path {
		if !sameShape(a, b) {
			return path[:i]
		}
		var err1, err2 error
		a, err1 = step.Apply(a)
		b, err2 = step.Apply(b)
		if err1 != nil || err2 != nil {
			return path[:i]
		}
	}
	return path
}

// sameShape reports whether steps mean the same in both values.
func sameShape(a, b cty.Value) bool {
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
		return sameKeys(a, b)
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

// Add puts a mark into a list that holds at most one for each path and tag.
func Add(list []At, m At) []At {
	for _, have := range list {
		if have.Tag == m.Tag && have.Path.Equals(m.Path) {
			return list
		}
	}
	return append(list, m)
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

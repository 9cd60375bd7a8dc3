package ctyvalue

import (
	"iter"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// Elements returns the elements of a list, set, map, tuple or object, in the order of cty's iterators. It returns no
// elements if v is empty. v must be known, not null and not marked itself. The caller may change the slice.
func Elements(v cty.Value) []cty.Value {
	if !Direct {
		return v.AsValueSlice()
	}
	n := v.LengthInt()
	if n == 0 {
		return nil
	}
	vals := make([]cty.Value, 0, n)
	if ty := v.Type(); ty.IsMapType() || ty.IsObjectType() {
		for _, e := range Members(v) {
			vals = append(vals, e)
		}
		return vals
	}
	for _, e := range Items(v) {
		vals = append(vals, e)
	}
	return vals
}

// Items iterates over a list, set or tuple in the order of cty's iterators. v must be known, not null and unmarked.
func Items(v cty.Value) iter.Seq2[int, cty.Value] {
	return func(yield func(int, cty.Value) bool) {
		ty := v.Type()
		switch {
		case Direct && ty.IsSetType():
			for i, e := range setInOrder(v) {
				if !yield(i, e) {
					return
				}
			}
		case Direct:
			typeAt := typesInRow(ty)
			for i, held := range heldBy(v).([]any) {
				if !yield(i, valueOf(typeAt(i), held)) {
					return
				}
			}
		default:
			for it, i := v.ElementIterator(), 0; it.Next(); i++ {
				if _, e := it.Element(); !yield(i, e) {
					return
				}
			}
		}
	}
}

// typesInRow returns a function that returns the type of the element at an index of a list or tuple.
func typesInRow(ty cty.Type) func(int) cty.Type {
	if ty.IsTupleType() {
		types := ty.TupleElementTypes()
		return func(i int) cty.Type { return types[i] }
	}
	ety := ty.ElementType()
	return func(int) cty.Type { return ety }
}

// setInOrder returns the elements of a set in cty's order. If all elements are known strings, it compares them itself,
// because cty takes a microsecond for each comparison.
func setInOrder(v cty.Value) []cty.Value {
	in, _ := buckets(heldBy(v))
	var texts []string
	for _, bucket := range in {
		for _, held := range bucket {
			text, ok := held.(string)
			if !ok {
				return v.AsValueSlice()
			}
			texts = append(texts, text)
		}
	}
	slices.Sort(texts)
	vals := make([]cty.Value, len(texts))
	for i, text := range texts {
		vals[i] = valueOf(cty.String, text)
	}
	return vals
}

// Members iterates over a map or object in the order of its keys. v must be known, not null and unmarked.
func Members(v cty.Value) iter.Seq2[string, cty.Value] {
	return func(yield func(string, cty.Value) bool) {
		if Direct {
			held, typeOf := heldBy(v).(map[string]any), typesByName(v.Type())
			keys := make([]string, 0, len(held))
			for k := range held {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				if !yield(k, valueOf(typeOf(k), held[k])) {
					return
				}
			}
			return
		}
		for it := v.ElementIterator(); it.Next(); {
			if k, e := it.Element(); !yield(k.AsString(), e) {
				return
			}
		}
	}
}

// typesByName returns a function that returns the type of an element of a map or object.
func typesByName(ty cty.Type) func(string) cty.Type {
	if ty.IsObjectType() {
		types := ty.AttributeTypes()
		return func(k string) cty.Type { return types[k] }
	}
	ety := ty.ElementType()
	return func(string) cty.Type { return ety }
}

// Unordered iterates over the elements of a list, set, map, tuple or object in any order. v must be known, not null and
// unmarked.
func Unordered(v cty.Value) iter.Seq[cty.Value] {
	if !Direct {
		return slices.Values(v.AsValueSlice())
	}
	ty := v.Type()
	return func(yield func(cty.Value) bool) {
		switch held := heldBy(v).(type) {
		case map[string]any:
			typeOf := typesByName(ty)
			for k, h := range held {
				if !yield(valueOf(typeOf(k), h)) {
					return
				}
			}
		case []any:
			typeAt := typesInRow(ty)
			for i, h := range held {
				if !yield(valueOf(typeAt(i), h)) {
					return
				}
			}
		default:
			in, _ := buckets(held)
			for _, bucket := range in {
				for _, h := range bucket {
					if !yield(valueOf(ty.ElementType(), h)) {
						return
					}
				}
			}
		}
	}
}

// Attribute returns the named attribute of v, an object that is known, not null and not marked itself. It returns false
// for any other value, and if the object has no such attribute. name must be in Unicode normal form.
func Attribute(v cty.Value, name string) (cty.Value, bool) {
	ty := v.Type()
	if !ty.IsObjectType() {
		return cty.NilVal, false
	}
	if Direct {
		held, _ := heldBy(v).(map[string]any)
		h, ok := held[name]
		if !ok {
			return cty.NilVal, false
		}
		return valueOf(ty.AttributeTypes()[name], h), true
	}
	if v.IsMarked() || v.IsNull() || !v.IsKnown() || !ty.HasAttribute(name) {
		return cty.NilVal, false
	}
	return v.GetAttr(name), true
}

// SetOpen reports whether a set contains an unknown value, at any depth. v must be known, not null and unmarked.
func SetOpen(v cty.Value) bool {
	if !Direct {
		return !v.IsWhollyKnown()
	}
	if ety := v.Type().ElementType(); ety.IsPrimitiveType() {
		in, _ := buckets(heldBy(v))
		return len(in[cty.UnknownVal(ety).Hash()]) > 0
	}
	for e := range Unordered(v) {
		if !WhollyKnown(e) {
			return true
		}
	}
	return false
}

// SetHas reports whether the set v contains an element equal to e. v must be known, not null and unmarked. e must be
// wholly known and unmarked, and have the element type. Value.HasElement of cty is slower, because it sorts the set.
func SetHas(v, e cty.Value) bool {
	if !Direct {
		return v.HasElement(e).RawEquals(cty.True)
	}
	in, _ := buckets(heldBy(v))
	for _, held := range in[e.Hash()] {
		if valueOf(e.Type(), held).Equals(e).RawEquals(cty.True) {
			return true
		}
	}
	return false
}

// Sized reports whether the number of elements of an unmarked list, set, map, tuple or object is known. For an unknown
// value, the type of a tuple or an object determines the number. A set of several elements with an unknown element has
// no known number, because the unknown element may be equal to another element.
func Sized(v cty.Value) bool {
	if !v.IsKnown() {
		return v.Type().IsTupleType() || v.Type().IsObjectType()
	}
	return !v.Type().IsSetType() || !SetOpen(v) || v.LengthInt() == 1
}

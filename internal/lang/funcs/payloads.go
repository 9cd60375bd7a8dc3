package funcs

import (
	"iter"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"unsafe"

	"github.com/zclconf/go-cty/cty"
)

// Package cty makes a number, which is three objects on the heap, for the key of each element that its iterators
// give, and sorts the keys of a map to go through it. Whoever only wants to see the elements, as everything
// does that looks through its arguments, takes them from where they are (see setvalues.go): the payload of a
// text is a string, that of a number a *big.Float, that of null nil; of what is unknown or marked it is
// something of cty's own.

// payload is what is in a value; v must not be of an unknown layout.
func payload(v *cty.Value) any {
	return *(*any)(unsafe.Add(unsafe.Pointer(v), layout.payload))
}

// plainText is a text that is known, not null and has no mark; false for all else.
func plainText(v cty.Value) (string, bool) {
	if !layout.ok {
		return "", false
	}
	text, ok := payload(&v).(string)
	return text, ok
}

// plainNumber is a whole number that is known, not null and has no mark; false for all else, for one that does not
// fit into an int64, and for the zero below zero, which is written with its sign.
func plainNumber(v cty.Value) (int64, bool) {
	if !layout.ok {
		return 0, false
	}
	f, ok := payload(&v).(*big.Float)
	if !ok || f.Sign() == 0 {
		return 0, ok && !f.Signbit()
	}
	n, acc := f.Int64()
	return n, acc == big.Exact
}

// inRow are the payloads of the elements of a list or tuple that is known, not null and has no mark; false if they
// cannot be had.
func inRow(v cty.Value) ([]any, bool) {
	if !layout.ok {
		return nil, false
	}
	raw, ok := payload(&v).([]any)
	return raw, ok
}

// byName are the payloads of the elements of a map or object that is known, not null and has no mark.
func byName(v cty.Value) (map[string]any, bool) {
	if !layout.ok || !v.Type().IsMapType() && !v.Type().IsObjectType() {
		return nil, false
	}
	raw, ok := payload(&v).(map[string]any)
	return raw, ok
}

// slots are the types of the elements of a list, map, tuple or object, as unknown values to put payloads into.
type slots struct {
	each  cty.Value // of a list or a map
	row   []cty.Type
	names map[string]cty.Type
}

// Values to put payloads into.
var (
	someText   = cty.UnknownVal(cty.String)
	someNumber = cty.UnknownVal(cty.Number)
)

func slotsOf(ty cty.Type) (k slots) {
	switch {
	case ty.IsTupleType():
		k.row = ty.TupleElementTypes()
	case ty.IsObjectType():
		k.names = ty.AttributeTypes()
	default:
		k.each = cty.UnknownVal(ty.ElementType())
	}
	return k
}

func (k *slots) at(i int, payload any) cty.Value {
	if k.row != nil {
		return withPayload(cty.UnknownVal(k.row[i]), payload)
	}
	return withPayload(k.each, payload)
}

func (k *slots) of(name string, payload any) cty.Value {
	if k.names != nil {
		switch payload.(type) { // nothing else has such payloads: saves looking for the type
		case string:
			return withPayload(someText, payload)
		case *big.Float:
			return withPayload(someNumber, payload)
		}
		return withPayload(cty.UnknownVal(k.names[name]), payload)
	}
	return withPayload(k.each, payload)
}

// Number is a number that is known, not null and has no mark, and not a copy of it: it must not be changed.
func Number(v cty.Value) *big.Float {
	if layout.ok {
		if f, ok := payload(&v).(*big.Float); ok {
			return f
		}
	}
	return v.AsBigFloat()
}

// Attribute is an attribute of an object that is known, not null and has no mark; false for anything else, and
// if there is none of that name, which is normalized.
func Attribute(v cty.Value, name string) (cty.Value, bool) {
	if raw, ok := byName(v); ok && v.Type().IsObjectType() {
		p, ok := raw[name]
		if !ok {
			return cty.NilVal, false
		}
		k := slotsOf(v.Type())
		return k.of(name, p), true
	}
	if v.IsMarked() || !v.Type().IsObjectType() || v.IsNull() || !v.IsKnown() || !v.Type().HasAttribute(name) {
		return cty.NilVal, false
	}
	return v.GetAttr(name), true
}

// attributeOf is v.GetAttr(name), of a normalized name.
func attributeOf(v cty.Value, name string) cty.Value {
	if e, ok := Attribute(v, name); ok {
		return e
	}
	return v.GetAttr(name)
}

// elementsInRow are the elements of a list or tuple; nil if there are none.
func elementsInRow(ty cty.Type, raw []any) []cty.Value {
	if len(raw) == 0 {
		return nil
	}
	k, vals := slotsOf(ty), make([]cty.Value, len(raw))
	for i, p := range raw {
		vals[i] = k.at(i, p)
	}
	return vals
}

// elementsByName are the elements of a map or object in the order of their names; nil if there are none.
func elementsByName(ty cty.Type, raw map[string]any) []cty.Value {
	if len(raw) == 0 {
		return nil
	}
	k, vals := slotsOf(ty), make([]cty.Value, 0, len(raw))
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		vals = append(vals, k.of(name, raw[name]))
	}
	return vals
}

// nameVals are the values of names that are in a map or object already, and so need no normalizing.
func nameVals(names []string) []cty.Value {
	vals := make([]cty.Value, len(names))
	for i, name := range names {
		if layout.ok {
			vals[i] = withPayload(someText, name)
			continue
		}
		vals[i] = cty.StringVal(name)
	}
	return vals
}

// find looks for a text, or a whole number, in a list or tuple of nothing but such, without marks; -1 if it is not
// there. Else, and beyond the limits, sure is false: the matter is not that simple.
func (s *scope) find(list, v cty.Value) (at int, sure bool) {
	ty := list.Type()
	if !ty.IsListType() && !ty.IsTupleType() {
		return 0, false
	}
	raw, ok := inRow(list)
	if !ok || len(raw) >= s.limits.MaxElements {
		return 0, false
	}
	switch want := payload(&v).(type) {
	case string:
		return findText(raw, want, s.limits.MaxBytes)
	case *big.Float:
		return findWhole(raw, want)
	}
	return 0, false
}

func findText(raw []any, want string, left int64) (at int, sure bool) {
	at = -1
	for i, p := range raw {
		text, ok := p.(string)
		if left -= int64(len(text)); !ok || left < 0 {
			return 0, false
		}
		if at < 0 && text == want {
			at = i
		}
	}
	return at, true
}

func findWhole(raw []any, want *big.Float) (at int, sure bool) {
	if !whole(want) {
		return 0, false
	}
	at = -1
	for i, p := range raw {
		n, ok := p.(*big.Float)
		if !ok || !whole(n) {
			return 0, false
		}
		if at < 0 && n.Cmp(want) == 0 {
			at = i
		}
	}
	return at, true
}

// whole reports whether a number is an integer of no unusual length.
func whole(f *big.Float) bool {
	const long = 1024 // bits
	return f.IsInt() && f.MantExp(nil) < long
}

// Same compares two values of one type that are known and have neither marks nor sets in them, as Value.Equals does
// but in a fraction of its time. Else, and where there are very many elements, sure is false.
func Same(a, b cty.Value) (same, sure bool) {
	if !layout.ok || a.Type().IsCapsuleType() {
		return false, false
	}
	fuel := 4 * defaultElements // each of both, and their types
	p, q := payload(&a), payload(&b)
	switch s, t := a.Type(), b.Type(); {
	case p == nil || q == nil || !isPlain(p, &fuel) || !isPlain(q, &fuel):
		return false, false
	case s.IsTupleType() && t.IsTupleType() && s.Length() != t.Length():
		return false, !s.HasDynamicTypes() && !t.HasDynamicTypes()
	case !sameType(s, t, &fuel):
		return false, false
	}
	return samePayload(p, q), true
}

// isPlain reports whether something is known and has neither marks nor sets in it.
func isPlain(p any, fuel *int) bool {
	if *fuel--; *fuel < 0 {
		return false
	}
	switch p := p.(type) {
	case nil, string, bool:
		return true
	case *big.Float:
		return whole(p)
	case []any:
		for _, e := range p {
			if !isPlain(e, fuel) {
				return false
			}
		}
		return true
	case map[string]any:
		for _, e := range p {
			if !isPlain(e, fuel) {
				return false
			}
		}
		return true
	}
	return false
}

// samePayload compares what is plain.
func samePayload(p, q any) bool {
	switch p := p.(type) {
	case string:
		q, ok := q.(string)
		return ok && p == q
	case bool:
		return p == q
	case *big.Float:
		q, ok := q.(*big.Float)
		return ok && p.Cmp(q) == 0
	case []any:
		q, ok := q.([]any)
		return ok && len(p) == len(q) && (unsafe.SliceData(p) == unsafe.SliceData(q) || slices.EqualFunc(p, q, samePayload))
	case map[string]any:
		q, ok := q.(map[string]any)
		return ok && (reflect.ValueOf(p).Pointer() == reflect.ValueOf(q).Pointer() || maps.EqualFunc(p, q, samePayload))
	}
	return p == nil && q == nil
}

// Place is where the elements of a known list, tuple, map or object, or the bytes of a text, are in memory: the same for
// values that share them. ok is false for other values and where there are none.
func Place(v cty.Value) (at uintptr, ok bool) {
	if !layout.ok {
		return 0, false
	}
	switch p := payload(&v).(type) {
	case string:
		at = uintptr(unsafe.Pointer(unsafe.StringData(p)))
	case []any:
		at = uintptr(unsafe.Pointer(unsafe.SliceData(p)))
	case map[string]any:
		at = reflect.ValueOf(p).Pointer()
	}
	return at, at != 0
}

// Elements gives the elements of a list, tuple, map or object that is known, not null and has no mark, in no order that
// means anything.
func Elements(v cty.Value) iter.Seq[cty.Value] {
	return func(yield func(cty.Value) bool) {
		if raw, ok := inRow(v); ok {
			k := slotsOf(v.Type())
			for i, p := range raw {
				if !yield(k.at(i, p)) {
					return
				}
			}
			return
		}
		if raw, ok := byName(v); ok {
			k := slotsOf(v.Type())
			for name, p := range raw {
				if !yield(k.of(name, p)) {
					return
				}
			}
			return
		}
		for it := v.ElementIterator(); it.Next(); {
			if _, e := it.Element(); !yield(e) {
				return
			}
		}
	}
}

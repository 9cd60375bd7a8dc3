package funcs

import (
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// survey is what one walk through an argument finds out.
//
// Ten locals that each name the one before ten times make a value that is small in memory, where its
// parts are shared, and has ten billion elements for whoever walks through it. So the walk stops at a
// limit, and nothing else walks through a value that it has not been through.
type survey struct {
	elements int   // nested ones included
	bytes    int64 // of all strings
	unknown  bool  // it, or something in it, is not known
	marked   bool  // it, or something in it, is sensitive or ephemeral
	digits   bool  // there is a number in it that cannot be written down, nor compared: cty compares what is written
}

// look walks through v; false means that it is larger than the limits allow, or has a number in it that is.
func (s *survey) look(v cty.Value, l *Limits) bool {
	s.elements++
	if s.elements > l.MaxElements || s.bytes > l.MaxBytes {
		return false
	}
	if mark.Is(v, mark.Sensitive) || mark.Is(v, mark.Ephemeral) {
		s.marked = true
		v, _ = mark.Bare(v)
	}
	if !v.IsKnown() {
		s.unknown = true
		return true
	}
	if v.IsNull() {
		return true
	}
	return s.inside(v, l)
}

// look walks through a value; all is false if the limits kept it from seeing all of it.
func (c *call) look(v cty.Value) (s survey, all bool) {
	all = s.look(v, &c.limits)
	return s, all
}

// problem is why look gave up.
func (s *survey) problem(c *call) error {
	switch {
	case s.digits:
		return errManyDigits
	case s.bytes > c.limits.MaxBytes:
		return c.tooLong()
	}
	return c.tooMany()
}

func (s *survey) inside(v cty.Value, l *Limits) bool {
	ty := v.Type()
	switch {
	case ty == cty.String:
		s.bytes += int64(len(v.AsString()))
		return s.bytes <= l.MaxBytes
	case ty == cty.Number:
		s.digits = writable(v) != nil
		return !s.digits
	case ty.IsObjectType():
		for name := range ty.AttributeTypes() {
			s.bytes += int64(len(name))
			if !s.look(attributeOf(v, name), l) {
				return false
			}
		}
	case ty.IsSetType():
		return s.insideSet(v, l)
	case ty.IsListType() || ty.IsTupleType() || ty.IsMapType():
		return s.insideRest(v, l)
	}
	return true
}

// insideRest is for lists, tuples and maps.
func (s *survey) insideRest(v cty.Value, l *Limits) bool {
	k := slotsOf(v.Type())
	if raw, ok := inRow(v); ok {
		for i, p := range raw {
			if text, ok := p.(string); ok && s.elements < l.MaxElements {
				s.elements++
				if s.bytes += int64(len(text)); s.bytes <= l.MaxBytes {
					continue
				}
			}
			if !s.look(k.at(i, p), l) {
				return false
			}
		}
		return true
	}
	if raw, ok := byName(v); ok {
		for _, p := range raw {
			if !s.look(withPayload(k.each, p), l) {
				return false
			}
		}
		return true
	}
	for it := v.ElementIterator(); it.Next(); {
		if _, e := it.Element(); !s.look(e, l) {
			return false
		}
	}
	return true
}

// insideSet does not go into what holds neither marks nor other collections.
func (s *survey) insideSet(v cty.Value, l *Limits) bool {
	if v.Type().ElementType().IsPrimitiveType() {
		s.elements += atLeast(v)
		s.unknown = s.unknown || open(v)
		return s.elements <= l.MaxElements
	}
	vals, ok := unordered(v)
	if !ok {
		vals = v.AsValueSlice()
	}
	for _, e := range vals {
		if !s.look(e, l) {
			return false
		}
	}
	return true
}

// sameType is a.Equals(b), but gives up after fuel comparisons: types share their parts as values do.
func sameType(a, b cty.Type, fuel *int) bool {
	if *fuel--; *fuel < 0 {
		return false
	}
	switch {
	case a.IsObjectType() && b.IsObjectType():
		return sameObject(a, b, fuel)
	case a.IsTupleType() && b.IsTupleType():
		as, bs := a.TupleElementTypes(), b.TupleElementTypes()
		if len(as) != len(bs) {
			return false
		}
		for i := range as {
			if !sameType(as[i], bs[i], fuel) {
				return false
			}
		}
		return true
	case a.IsListType() && b.IsListType(), a.IsSetType() && b.IsSetType(), a.IsMapType() && b.IsMapType():
		return sameType(a.ElementType(), b.ElementType(), fuel)
	}
	return a.Equals(b) // of different kinds, primitive, or a capsule
}

func sameObject(a, b cty.Type, fuel *int) bool {
	if identical(a, b) {
		return true
	}
	as, bs := a.AttributeTypes(), b.AttributeTypes()
	if len(as) != len(bs) {
		return false
	}
	for name, at := range as {
		bt, ok := bs[name]
		if !ok || !sameType(at, bt, fuel) || a.AttributeOptional(name) != b.AttributeOptional(name) {
			return false
		}
	}
	return true
}

// elements are the elements of a known list, set, map, tuple or object without marks of its own; of
// maps and objects in the order of their keys.
func elements(v cty.Value) []cty.Value {
	if v.Type().IsSetType() {
		return SetElements(v)
	}
	if raw, ok := inRow(v); ok {
		return elementsInRow(v.Type(), raw)
	}
	if raw, ok := byName(v); ok {
		return elementsByName(v.Type(), raw)
	}
	return v.AsValueSlice()
}

// sized reports whether the number of elements is known: of a set with an unknown element it is not, since
// that may turn out to be another one of its elements.
func sized(v cty.Value) bool {
	if !v.IsKnown() {
		return v.Type().IsTupleType() || v.Type().IsObjectType()
	}
	return !v.Type().IsSetType() || !open(v) || v.LengthInt() == 1
}

// isSequence reports whether ty is a list, set or tuple type.
func isSequence(ty cty.Type) bool { return ty.IsListType() || ty.IsSetType() || ty.IsTupleType() }

// listOf is a list of elements of one type; ety is that of an empty one.
func listOf(ety cty.Type, vals []cty.Value) cty.Value {
	if len(vals) == 0 {
		return cty.ListValEmpty(ety)
	}
	return cty.ListVal(vals)
}

func setOf(ety cty.Type, vals []cty.Value) cty.Value {
	if len(vals) == 0 {
		return cty.SetValEmpty(ety)
	}
	return SetVal(vals)
}

func mapOf(ety cty.Type, vals map[string]cty.Value) cty.Value {
	if len(vals) == 0 {
		return cty.MapValEmpty(ety)
	}
	return cty.MapVal(vals)
}

// stringList makes a list of strings.
func stringList(ss []string) cty.Value {
	vals := make([]cty.Value, len(ss))
	for i, s := range ss {
		vals[i] = cty.StringVal(s)
	}
	return listOf(cty.String, vals)
}

package funcs

import (
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// argumentScan is what one walk through an argument finds out.
//
// Ten locals that each name the one before ten times make a value that is small in memory, where its
// parts are shared, and a walk through it meets ten billion elements. So the walk stops at a
// limit, and nothing else walks through a value that it has not been through.
type argumentScan struct {
	elements int   // nested ones included
	bytes    int64 // of all strings
	unknown  bool  // it, or something in it, is not known
	marked   bool  // it, or something in it, is sensitive or ephemeral
	digits   bool  // there is a number in it that cannot be written down, nor compared: cty compares what is written
}

// look walks through v; false means that it is larger than the limits allow, or has a number in it that is.
func (s *argumentScan) look(v cty.Value, l *limits.Limits) bool {
	s.elements++
	if s.elements > l.Elements || s.bytes > l.Bytes {
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
func (c *call) look(v cty.Value) (s argumentScan, all bool) {
	all = s.look(v, &c.limits)
	return s, all
}

// problem is why look gave up.
func (s *argumentScan) problem(c *call) error {
	switch {
	case s.digits:
		return convert.ErrManyDigits
	case s.bytes > c.limits.Bytes:
		return c.tooLong()
	}
	return c.tooMany()
}

func (s *argumentScan) inside(v cty.Value, l *limits.Limits) bool {
	ty := v.Type()
	switch {
	case ty == cty.String:
		s.bytes += int64(len(v.AsString()))
		return s.bytes <= l.Bytes
	case ty == cty.Number:
		s.digits = convert.Writable(v) != nil
		return !s.digits
	case ty.IsObjectType():
		for name := range ty.AttributeTypes() {
			s.bytes += int64(len(name))
			e, _ := ctyvalue.Attribute(v, name)
			if !s.look(e, l) {
				return false
			}
		}
		return true
	case ty.IsSetType() && ty.ElementType().IsPrimitiveType(): // nothing in it is marked
		s.elements += v.LengthInt()
		s.unknown = s.unknown || ctyvalue.SetOpen(v)
		return s.elements <= l.Elements
	case ty.IsCapsuleType() || ty == cty.Bool:
		return true
	}
	return s.elementsOf(v, l)
}

// elementsOf is for everything with elements.
func (s *argumentScan) elementsOf(v cty.Value, l *limits.Limits) bool {
	if _, bytes, all := ctyvalue.Texts(v, ""); all {
		s.elements += v.LengthInt()
		s.bytes += int64(bytes)
		return s.elements <= l.Elements && s.bytes <= l.Bytes
	}
	for e := range ctyvalue.Unordered(v) {
		if !s.look(e, l) {
			return false
		}
	}
	return true
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
	return cty.SetVal(vals)
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

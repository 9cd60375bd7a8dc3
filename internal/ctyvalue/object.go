package ctyvalue

import (
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/zclconf/go-cty/cty"
)

// ObjectBuilder makes objects that mostly have the same type. cty makes a new type for every object, from two maps: for
// many small objects, half of the memory is types. If the names and types of the attributes equal the names and types
// in the previous object, the new object shares the type of the previous object. An ObjectBuilder is safe for
// concurrent use.
type ObjectBuilder struct{ last atomic.Pointer[pattern] }

// Object returns an object with the attributes names, whose values are at the same indexes in vals. If a name occurs
// twice, also in another Unicode form, the last value counts.
func (b *ObjectBuilder) Object(names []string, vals []cty.Value) cty.Value {
	if p := b.last.Load(); p.fits(names, vals) {
		return ObjectOf(p.ty, p.names, vals)
	}
	attrs := make(map[string]cty.Value, len(names))
	for i, name := range names {
		attrs[cty.NormalizeString(name)] = vals[i]
	}
	v := cty.ObjectVal(attrs)
	if p := newPattern(names, vals, v); p != nil {
		b.last.Store(p)
	}
	return v
}

// ObjectBuilders makes objects of several types in turns: it shares the types of up to eight patterns, not only of the
// previous object. It is not safe for concurrent use.
type ObjectBuilders struct {
	all  [8]ObjectBuilder
	next int // the index of the builder that was last used for a new type
}

// Object returns an object with the attributes names, whose values are at the same indexes in vals. It shares the type
// of an earlier object, of one of up to eight patterns.
func (b *ObjectBuilders) Object(names []string, vals []cty.Value) cty.Value {
	for i := range b.all {
		if p := b.all[i].last.Load(); p.fits(names, vals) {
			return ObjectOf(p.ty, p.names, vals)
		}
	}
	b.next = (b.next + 1) % len(b.all)
	return b.all[b.next].Object(names, vals)
}

// pattern is an object type. names and types have its attributes in the order in which callers pass them.
type pattern struct {
	names []string
	types []cty.Type
	ty    cty.Type
}

// mostParts is the number of parts up to which types are compared. Parts of a type can be shared, like parts of a value
// (see Contents), so a full comparison may never end.
const mostParts = 100

// newPattern returns the pattern of the object v, which has these attributes. It returns nil if sharing the type is not
// worthwhile or not possible: the object is empty or large, a name is not in Unicode normal form or occurs twice, or
// Direct is false.
func newPattern(names []string, vals []cty.Value, v cty.Value) *pattern {
	has := v.Type().AttributeTypes()
	if !Direct || len(names) != len(has) || len(names) == 0 || len(names) > mostParts {
		return nil
	}
	p := &pattern{names: slices.Clone(names), ty: v.Type()}
	for i, name := range names {
		if _, ok := has[name]; !ok {
			return nil
		}
		p.types = append(p.types, vals[i].Type())
	}
	return p
}

// fits reports whether an object with these attributes has the type of the pattern. It returns false if p is nil.
func (p *pattern) fits(names []string, vals []cty.Value) bool {
	if p == nil || !slices.Equal(names, p.names) {
		return false
	}
	fuel := mostParts
	for i, v := range vals {
		if !SameType(v.Type(), p.types[i], &fuel) {
			return false
		}
	}
	return true
}

// ObjectOf returns an object of type ty with the attributes names, whose values are at the same indexes in vals. The
// names must be in Unicode normal form, and the names and the types of the values must be exactly the names and types
// in ty. If ty is cty.NilType, the type is derived from the values.
func ObjectOf(ty cty.Type, names []string, vals []cty.Value) cty.Value {
	if !Direct || ty == cty.NilType {
		attrs := make(map[string]cty.Value, len(names))
		for i, v := range vals {
			attrs[names[i]] = v
		}
		return cty.ObjectVal(attrs)
	}
	attrs := make(map[string]any, len(names))
	for i, v := range vals {
		attrs[names[i]] = heldBy(v)
	}
	return valueOf(ty, attrs)
}

// SameType returns a.Equals(b), with limited work: fuel is the number of comparisons that are left. SameType lowers it,
// and returns false if it would become negative. Two object types with the same map of attributes in memory are equal
// without further comparisons.
func SameType(a, b cty.Type, fuel *int) bool {
	if *fuel--; *fuel < 0 {
		return false
	}
	switch {
	case a.IsObjectType() && b.IsObjectType():
		return sameObject(a, b, fuel)
	case a.IsTupleType() && b.IsTupleType():
		return slices.EqualFunc(a.TupleElementTypes(), b.TupleElementTypes(), func(a, b cty.Type) bool { return SameType(a, b, fuel) })
	case a.IsListType() && b.IsListType(), a.IsSetType() && b.IsSetType(), a.IsMapType() && b.IsMapType():
		return SameType(a.ElementType(), b.ElementType(), fuel)
	}
	return a.Equals(b) // the types are of different kinds, primitive types, or capsules
}

func sameObject(a, b cty.Type, fuel *int) bool {
	as, bs := a.AttributeTypes(), b.AttributeTypes()
	if SameMap(as, bs) {
		return true
	}
	if len(as) != len(bs) {
		return false
	}
	for name, at := range as {
		bt, ok := bs[name]
		if !ok || !SameType(at, bt, fuel) || a.AttributeOptional(name) != b.AttributeOptional(name) {
			return false
		}
	}
	return true
}

// SameMap reports whether a and b are the same map.
func SameMap[V any](a, b map[string]V) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// Same reports whether a and b are the same object or map in memory. It may return false for equal values, and always
// does for other kinds of values, and if Direct is false.
func Same(a, b cty.Value) bool {
	if !Direct {
		return false
	}
	x, okX := heldBy(a).(map[string]any)
	y, okY := heldBy(b).(map[string]any)
	return okX && okY && SameMap(x, y)
}

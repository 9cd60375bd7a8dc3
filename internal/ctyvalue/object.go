package ctyvalue

import (
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/zclconf/go-cty/cty"
)

// ObjectBuilder makes objects, most likely of the type of the one before. cty makes a type for every object, out of
// two maps: half of the memory that many small objects take. One whose attributes are of the names and types of the
// last is put under the type of that. It may be used by many goroutines at once.
type ObjectBuilder struct{ last atomic.Pointer[pattern] }

// Object is an object with these attributes; of a name that is there twice the last counts.
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

// ObjectBuilders are those that a few kinds of objects in turns need. They are for one goroutine.
type ObjectBuilders struct {
	all  [8]ObjectBuilder
	next int // the one to be given up for a new kind
}

// Object is ObjectBuilder.Object.
func (b *ObjectBuilders) Object(names []string, vals []cty.Value) cty.Value {
	for i := range b.all {
		if p := b.all[i].last.Load(); p.fits(names, vals) {
			return ObjectOf(p.ty, p.names, vals)
		}
	}
	b.next = (b.next + 1) % len(b.all)
	return b.all[b.next].Object(names, vals)
}

// pattern is an object type with its attributes in the order in which they were given.
type pattern struct {
	names []string
	types []cty.Type
	ty    cty.Type
}

// mostParts is how many parts a type may have that is compared: types share their parts as values do, so that
// comparing them may take forever.
const mostParts = 100

// newPattern is nil for objects that are not made again so easily: large ones, and those whose names are not
// as they were given.
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

// fits reports whether an object with these attributes is of the type; none is of no pattern.
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

// ObjectOf is an object of type ty, which has exactly these attributes, by their names in Unicode normal form and of
// exactly these types. With NilType the type follows from the attributes.
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

// SameType is a.Equals(b), but gives up after fuel comparisons, and compares no object type with itself.
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
	return a.Equals(b) // of different kinds, primitive, or a capsule
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

// SameMap reports whether two maps are one.
func SameMap[V any](a, b map[string]V) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// Same reports whether two objects or maps are one and the same; it may say no wrongly.
func Same(a, b cty.Value) bool {
	if !Direct {
		return false
	}
	x, okX := heldBy(a).(map[string]any)
	y, okY := heldBy(b).(map[string]any)
	return okX && okY && SameMap(x, y)
}

package funcs

import (
	"iter"
	"maps"
	"reflect"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// Package cty gives every object a type of its own, a map of its attributes: half of the memory that many small
// objects take. Alike and AlikeIn give the objects of a collection one and the same type, if theirs are equal.
//
// While a collection is being made that is done whenever Due says so, so that no more than half of its objects
// have types of their own, and once more when it is complete.

// fewAlike is how many objects are not worth it, and partsAlike how many parts their type may have: to compare
// types that share their parts may take forever.
const (
	fewAlike   = 64
	partsAlike = 100
)

// Due reports whether a collection that has just got its n-th element should be made alike.
func Due(n int) bool { return n >= fewAlike && n&(n-1) == 0 }

// Alike makes the objects of a list or a tuple alike.
func Alike(vals []cty.Value) {
	shareTypes(len(vals), slices.All(vals), func(i int, v cty.Value) { vals[i] = v })
}

// AlikeIn makes the values of a map or an object alike.
func AlikeIn(vals map[string]cty.Value) {
	shareTypes(len(vals), maps.All(vals), func(name string, v cty.Value) { vals[name] = v })
}

// shareTypes makes n values alike, wherever they are.
func shareTypes[At any](n int, vals iter.Seq2[At, cty.Value], put func(At, cty.Value)) {
	if n < fewAlike {
		return
	}
	a, at := peers{}, make([]At, 0, n)
	for i, v := range vals {
		switch a.add(v) {
		case stranger:
			return
		case other:
			at = append(at, i)
		}
	}
	for i, v := range a.made() {
		put(at[i], v)
	}
}

// peers are objects whose types are equal: the first, and those that do not have its very type.
type peers struct {
	vals  []cty.Value
	shape *shape
}

// kin says what a value is to the first of its peers.
type kin uint8

const (
	twin     kin = iota // its type is that of the first
	other               // its type is equal to that
	stranger            // no object, or one of another type, or of a large one
)

func (a *peers) add(v cty.Value) kin {
	ty := v.Type()
	switch {
	case !ty.IsObjectType():
		return stranger
	case a.shape == nil:
		fuel := partsAlike
		if a.shape = shapeOf(ty, &fuel); a.shape == nil {
			return stranger
		}
		a.vals = append(a.vals, v)
		return twin
	case identical(ty, a.vals[0].Type()):
		return twin
	case !a.shape.fits(ty):
		return stranger
	}
	a.vals = append(a.vals, v)
	return other
}

// identical reports whether two object types are one.
func identical(a, b cty.Type) bool {
	return reflect.ValueOf(a.AttributeTypes()).Pointer() == reflect.ValueOf(b.AttributeTypes()).Pointer()
}

// made are the others with the type of the first, which the elements of a list all have.
func (a *peers) made() []cty.Value {
	if len(a.vals) < 2 {
		return nil
	}
	return cty.ListVal(a.vals).AsValueSlice()[1:]
}

// shape is an object type, laid out for quick comparison.
type shape []attribute

type attribute struct {
	name   string
	typ    cty.Type
	object *shape // nil: it is of another type
}

// shapeOf is nil for a type with more parts than there is fuel.
func shapeOf(ty cty.Type, fuel *int) *shape {
	if *fuel--; *fuel < 0 {
		return nil
	}
	out := make(shape, 0, len(ty.AttributeTypes()))
	for name, t := range ty.AttributeTypes() {
		a := attribute{name: name, typ: t}
		switch {
		case !t.IsObjectType():
			if !sameType(t, t, fuel) {
				return nil
			}
		default:
			if a.object = shapeOf(t, fuel); a.object == nil {
				return nil
			}
		}
		out = append(out, a)
	}
	return &out
}

// fits reports whether an object type is of that shape.
func (s *shape) fits(ty cty.Type) bool {
	types := ty.AttributeTypes()
	if len(types) != len(*s) || len(ty.OptionalAttributes()) > 0 {
		return false
	}
	for i := range *s {
		a := &(*s)[i]
		t, ok := types[a.name]
		switch {
		case !ok:
			return false
		case a.object == nil && !t.Equals(a.typ):
			return false
		case a.object != nil && !(t.IsObjectType() && a.object.fits(t)):
			return false
		}
	}
	return true
}

package convert

import (
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Unification finds the one type that several types can be converted to. Package cty does it by
// comparing each with each, so that making a list of 50,000 equal objects compares objects more
// than a billion times. Which types occur is all that matters, not how often: Unify asks cty about
// the distinct ones, and takes structures apart itself where these are many.

// smallUnion is up to how many types, nested ones included, cty is asked at once.
const smallUnion = 64

// Unify is the type that all given types can be converted to, cty.NilType if there is none or none
// is given. It is what convert.UnifyUnsafe finds, in work linear in the size of the types.
func Unify(types []cty.Type) cty.Type {
	if len(types) == 0 {
		return cty.NilType
	}
	ds := distinct(types).types
	if len(ds) == 1 && !hasOptional(ds[0]) {
		return ds[0]
	}
	if width(ds) <= smallUnion {
		ty, _ := convert.UnifyUnsafe(ds)
		return ty
	}
	return unifyMany(ds)
}

// width counts types and their immediate parts.
func width(types []cty.Type) int {
	n := len(types)
	for _, ty := range types {
		switch {
		case ty.IsTupleType():
			n += ty.Length()
		case ty.IsObjectType():
			n += len(ty.AttributeTypes())
		}
	}
	return n
}

func hasOptional(ty cty.Type) bool {
	return ty.IsObjectType() && len(ty.OptionalAttributes()) > 0 || ty.IsCollectionType() && hasOptional(ty.ElementType())
}

// unifyMany takes the cases in cty's order: they are by the kinds of types that occur together.
func unifyMany(ds []cty.Type) cty.Type {
	var maps, lists, sets, objects, tuples, dynamics, others int
	for _, ty := range ds {
		switch {
		case ty.IsMapType():
			maps++
		case ty.IsListType():
			lists++
		case ty.IsSetType():
			sets++
		case ty.IsObjectType():
			objects++
		case ty.IsTupleType():
			tuples++
		case ty == cty.DynamicPseudoType:
			dynamics++
		default:
			others++
		}
	}
	n := len(ds)
	switch {
	case objects > 0 && tuples > 0:
		return cty.NilType
	case others > 0 && others+dynamics < n && dynamics > 0:
		return cty.DynamicPseudoType
	case others > 0 && others+dynamics < n:
		return cty.NilType // nothing primitive becomes a collection, or the other way round
	case dynamics > 0 && (maps+dynamics == n || lists+dynamics == n || sets+dynamics == n ||
		objects+dynamics == n || tuples+dynamics == n):
		return cty.DynamicPseudoType
	case maps == n:
		return collectionOf(cty.Map, unifyElements(ds))
	case lists == n:
		return collectionOf(cty.List, unifyElements(ds))
	case sets == n:
		return collectionOf(cty.Set, unifyElements(ds))
	case objects == n:
		return unifyObjects(ds)
	case tuples == n:
		return unifyTuples(ds)
	case maps > 0 && maps+objects+dynamics == n:
		return unifyAs(ds, cty.Type.IsObjectType, objectsAsMap)
	case lists > 0 && lists+tuples+dynamics == n:
		return unifyAs(ds, cty.Type.IsTupleType, tuplesAsList)
	}
	return unifyRest(ds)
}

// unifyRest leaves to cty what is left: sets beside lists and tuples, and the like.
func unifyRest(ds []cty.Type) cty.Type {
	const most = 2048 // cty compares each with each
	if len(ds) > most {
		return cty.NilType
	}
	ty, _ := convert.UnifyUnsafe(ds)
	return ty
}

func collectionOf(kind func(cty.Type) cty.Type, ety cty.Type) cty.Type {
	if ety == cty.NilType {
		return cty.NilType
	}
	return kind(ety)
}

func unifyElements(ds []cty.Type) cty.Type {
	etys := make([]cty.Type, len(ds))
	for i, ty := range ds {
		etys[i] = ty.ElementType()
	}
	return Unify(etys)
}

// unifyObjects makes an object type if all have the same attributes, else a map type.
func unifyObjects(ds []cty.Type) cty.Type {
	first := ds[0].AttributeTypes()
	across := make(map[string][]cty.Type, len(first))
	for _, ty := range ds {
		attrs := ty.AttributeTypes()
		if len(attrs) != len(first) {
			return objectsAsMap(ds)
		}
		for name, aty := range attrs {
			if _, ok := first[name]; !ok {
				return objectsAsMap(ds)
			}
			across[name] = append(across[name], aty)
		}
	}
	attrs := make(map[string]cty.Type, len(first))
	for name, tys := range across {
		if attrs[name] = Unify(tys); attrs[name] == cty.NilType {
			return cty.NilType
		}
	}
	if ty := cty.Object(attrs); reachable(ds, ty) {
		return ty
	}
	return objectsAsMap(ds)
}

func objectsAsMap(ds []cty.Type) cty.Type {
	var atys []cty.Type
	for _, ty := range ds {
		for _, aty := range ty.AttributeTypes() {
			atys = append(atys, aty)
		}
	}
	return ifReachable(ds, collectionOf(cty.Map, Unify(atys)))
}

// reachable reports whether all types can be converted to what they were unified to. That is in doubt
// only where a part of it is left open.
func reachable(ds []cty.Type, ty cty.Type) bool {
	if !ty.HasDynamicTypes() {
		return true
	}
	return !slices.ContainsFunc(ds, func(in cty.Type) bool {
		_, ok := conversion(in, ty)
		return !ok
	})
}

func ifReachable(ds []cty.Type, ty cty.Type) cty.Type {
	if ty == cty.NilType || !reachable(ds, ty) {
		return cty.NilType
	}
	return ty
}

// unifyTuples makes a tuple type if all have the same length, else a list type.
func unifyTuples(ds []cty.Type) cty.Type {
	n := ds[0].Length()
	if slices.ContainsFunc(ds, func(ty cty.Type) bool { return ty.Length() != n }) {
		return tuplesAsList(ds)
	}
	etys := make([]cty.Type, n)
	across := make([]cty.Type, len(ds))
	for i := range etys {
		for j, ty := range ds {
			across[j] = ty.TupleElementType(i)
		}
		if etys[i] = Unify(across); etys[i] == cty.NilType {
			return cty.NilType
		}
	}
	if ty := cty.Tuple(etys); reachable(ds, ty) {
		return ty
	}
	return tuplesAsList(ds)
}

func tuplesAsList(ds []cty.Type) cty.Type {
	var etys []cty.Type
	for _, ty := range ds {
		etys = append(etys, ty.TupleElementTypes()...)
	}
	return ifReachable(ds, collectionOf(cty.List, Unify(etys)))
}

// unifyAs unifies the types that are collections in disguise first, then the result with the rest.
func unifyAs(ds []cty.Type, disguised func(cty.Type) bool, as func([]cty.Type) cty.Type) cty.Type {
	var hidden, rest []cty.Type
	for _, ty := range ds {
		if disguised(ty) {
			hidden = append(hidden, ty)
		} else {
			rest = append(rest, ty)
		}
	}
	plain := as(hidden)
	if plain == cty.NilType {
		return unifyRest(ds)
	}
	ty := Unify(append(rest, plain))
	if ty == cty.NilType || ty == cty.DynamicPseudoType {
		return unifyRest(ds)
	}
	return ty
}

// kinds are the distinct types of a sequence, in the order of their first occurrence, and for each
// element of the sequence which of them it is of.
type kinds struct {
	types []cty.Type
	of    []int
}

// distinct compares each type with the one before it first: neighbours are mostly alike.
func distinct(types []cty.Type) kinds {
	const scan = 8 // more distinct types than this are looked up by a key
	ks := kinds{of: make([]int, len(types))}
	var byKey map[string]int
	last := -1
	for i, ty := range types {
		if last >= 0 && ty.Equals(ks.types[last]) {
			ks.of[i] = last
			continue
		}
		if byKey == nil {
			last = slices.IndexFunc(ks.types, ty.Equals)
		} else if at, ok := byKey[typeKey(ty)]; ok {
			last = at
		} else {
			last = -1
		}
		if last < 0 {
			last = len(ks.types)
			ks.types = append(ks.types, ty)
			if byKey != nil {
				byKey[typeKey(ty)] = last
			} else if len(ks.types) > scan {
				byKey = keysOf(ks.types)
			}
		}
		ks.of[i] = last
	}
	return ks
}

func keysOf(types []cty.Type) map[string]int {
	m := make(map[string]int, len(types))
	for i, ty := range types {
		m[typeKey(ty)] = i
	}
	return m
}

// typeKey is a text that equal types share and different types do not.
func typeKey(ty cty.Type) string {
	var b strings.Builder
	writeKey(&b, ty)
	return b.String()
}

func writeKey(b *strings.Builder, ty cty.Type) {
	switch {
	case ty.IsListType():
		b.WriteByte('L')
		writeKey(b, ty.ElementType())
	case ty.IsSetType():
		b.WriteByte('S')
		writeKey(b, ty.ElementType())
	case ty.IsMapType():
		b.WriteByte('M')
		writeKey(b, ty.ElementType())
	case ty.IsTupleType():
		b.WriteByte('[')
		for _, ety := range ty.TupleElementTypes() {
			writeKey(b, ety)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case ty.IsObjectType():
		writeObjectKey(b, ty)
	default:
		b.WriteString(ty.GoString())
	}
}

func writeObjectKey(b *strings.Builder, ty cty.Type) {
	attrs := ty.AttributeTypes()
	names := make([]string, 0, len(attrs))
	for name := range attrs {
		names = append(names, name)
	}
	slices.Sort(names)
	b.WriteByte('{')
	for _, name := range names {
		b.WriteString(strconv.Quote(name))
		if ty.AttributeOptional(name) {
			b.WriteByte('?')
		}
		b.WriteByte(':')
		writeKey(b, attrs[name])
		b.WriteByte(',')
	}
	b.WriteByte('}')
}

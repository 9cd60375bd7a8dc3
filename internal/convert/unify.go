package convert

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Unification finds the type to which several types can be converted. Package cty compares each pair of types: for a
// list of 50,000 objects of one type, it makes more than a billion comparisons. How often a type occurs does not change
// the result. So Unify passes each distinct type to cty once, unless there is only one. If the distinct types and their
// parts are too many even so, Unify unifies collections and structures itself: see unifyMany.

// smallUnion is the maximum result of width (a number of types and their parts) for which Unify passes all types to
// cty, whose work is quadratic.
const smallUnion = 64

// Unify returns the type to which all types can be converted. It returns cty.NilType if no such type exists or types is
// empty. The result equals the result of convert.UnifyUnsafe, but the work is linear in the size of the types.
func Unify(types []cty.Type) cty.Type {
	if len(types) == 0 {
		return cty.NilType
	}
	ds := distinct(types)
	if len(ds) == 1 && !hasOptional(ds[0]) {
		return ds[0]
	}
	if width(ds) <= smallUnion {
		return byCtyUnified(ds)
	}
	return unifyMany(ds)
}

// width counts the types and their immediate parts.
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

// kind is a kind of types, and the function that unifies different types of the kind.
type kind struct {
	is    func(cty.Type) bool
	unify func([]cty.Type) cty.Type
}

// unifyMany unifies the types of each kind, and passes the results to cty, because cty compares each pair of types. If
// there are several kinds, but at most few types, cty gets the types themselves.
func unifyMany(ds []cty.Type) cty.Type {
	kinds := []kind{
		{cty.Type.IsListType, func(types []cty.Type) cty.Type { return collectionOf(cty.List, parts(types, elements)) }},
		{cty.Type.IsSetType, func(types []cty.Type) cty.Type { return collectionOf(cty.Set, parts(types, elements)) }},
		{cty.Type.IsMapType, func(types []cty.Type) cty.Type { return collectionOf(cty.Map, parts(types, elements)) }},
		{cty.Type.IsTupleType, func(types []cty.Type) cty.Type {
			return unifyStructures(types, cty.Type.TupleElementTypes, cty.Tuple, cty.List)
		}},
		{cty.Type.IsObjectType, unifyObjects},
		{func(ty cty.Type) bool { return ty == cty.DynamicPseudoType }, byCtyUnified},
		{func(cty.Type) bool { return true }, byCtyUnified},
	}
	groups := make([][]cty.Type, len(kinds))
	for _, ty := range ds {
		k := slices.IndexFunc(kinds, func(k kind) bool { return k.is(ty) })
		groups[k] = append(groups[k], ty)
	}
	const few = 256
	if most := slices.MaxFunc(groups, func(a, b []cty.Type) int { return len(a) - len(b) }); len(most) < len(ds) && len(ds) <= few {
		return byCtyUnified(ds)
	}
	var all []cty.Type
	for k, types := range groups {
		if len(types) == 0 {
			continue
		}
		ty := kinds[k].unify(types)
		if ty == cty.NilType {
			return ty
		}
		all = append(all, ty)
	}
	if len(all) == 1 {
		return all[0]
	}
	return byCtyUnified(all)
}

func byCtyUnified(types []cty.Type) cty.Type {
	ty, _ := convert.UnifyUnsafe(types)
	return ty
}

func elements(ty cty.Type) []cty.Type { return []cty.Type{ty.ElementType()} }

// parts calls a function for each type, and joins the results in one list.
func parts(types []cty.Type, of func(cty.Type) []cty.Type) []cty.Type {
	var all []cty.Type
	for _, ty := range types {
		all = append(all, of(ty)...)
	}
	return all
}

func collectionOf(kind func(cty.Type) cty.Type, etys []cty.Type) cty.Type {
	if ety := Unify(etys); ety != cty.NilType {
		return kind(ety)
	}
	return cty.NilType
}

// unifyObjects returns an object type if the attributes of all types have the same names, and otherwise a map type. For
// the exceptions see unifyStructures.
func unifyObjects(types []cty.Type) cty.Type {
	names := func(ty cty.Type) []string { return slices.Sorted(maps.Keys(ty.AttributeTypes())) }
	first := names(types[0])
	build := func(atys []cty.Type) cty.Type {
		attrs := make(map[string]cty.Type, len(first))
		for i, name := range first {
			attrs[name] = atys[i]
		}
		return cty.Object(attrs)
	}
	if slices.ContainsFunc(types, func(ty cty.Type) bool { return !slices.Equal(names(ty), first) }) {
		build = nil
	}
	return unifyStructures(types, func(ty cty.Type) []cty.Type {
		var atys []cty.Type
		for _, name := range names(ty) {
			atys = append(atys, ty.AttributeType(name))
		}
		return atys
	}, build, cty.Map)
}

// unifyStructures unifies tuple or object types. of(t) are the types of the parts of the type t, and build makes a
// tuple or object type of unified parts. If the types have different numbers of parts, or build is nil, or a type
// cannot be converted to the result of build, unifyStructures returns a collection type, which the function collection
// makes of the unified element type. It returns cty.NilType if the parts cannot be unified, or a type cannot be
// converted to the collection.
func unifyStructures(types []cty.Type, of func(cty.Type) []cty.Type, build func([]cty.Type) cty.Type, collection func(cty.Type) cty.Type) cty.Type {
	columns := make([][]cty.Type, len(of(types[0])))
	for _, ty := range types {
		ps := of(ty)
		if len(ps) != len(columns) || build == nil {
			build = nil
			break
		}
		for i, p := range ps {
			columns[i] = append(columns[i], p)
		}
	}
	if build != nil {
		unified := make([]cty.Type, len(columns))
		for i, column := range columns {
			if unified[i] = Unify(column); unified[i] == cty.NilType {
				return cty.NilType
			}
		}
		if ty := build(unified); reachable(types, ty) {
			return ty
		}
	}
	if ty := collectionOf(collection, parts(types, of)); ty != cty.NilType && reachable(types, ty) {
		return ty
	}
	return cty.NilType
}

// reachable reports whether all types in ds can be converted to ty, the result of their unification. They always can if
// ty does not contain cty.DynamicPseudoType.
func reachable(ds []cty.Type, ty cty.Type) bool {
	if !ty.HasDynamicTypes() {
		return true
	}
	return !slices.ContainsFunc(ds, func(in cty.Type) bool {
		_, ok := conversion(in, ty)
		return !ok
	})
}

// distinct returns the distinct types in the order of their first occurrence. It compares each type with its
// predecessor first, because neighbours are mostly equal.
func distinct(types []cty.Type) []cty.Type {
	const few = 8 // up to this number of distinct types, types are compared one by one
	var out []cty.Type
	seen := map[string]bool{}
	for i, ty := range types {
		if i > 0 && ty.Equals(types[i-1]) || len(out) <= few && slices.ContainsFunc(out, ty.Equals) {
			continue
		}
		if key := ty.GoString(); !seen[key] {
			seen[key] = true
			out = append(out, ty)
		}
	}
	return out
}

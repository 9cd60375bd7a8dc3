package convert

import (
	"maps"
	"slices"

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
	ds := distinct(types)
	if len(ds) == 1 && !hasOptional(ds[0]) {
		return ds[0]
	}
	if width(ds) <= smallUnion {
		return byCtyUnified(ds)
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

// kind is a kind of types, and how different types of it are unified.
type kind struct {
	is    func(cty.Type) bool
	unify func([]cty.Type) cty.Type
}

// unifyMany unifies the types of each kind first. How the kinds go together is left to cty, which compares each type
// with each: of a few it sees all, of many the one of each kind.
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

// parts are those of all the types.
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

// unifyObjects makes an object type if all have the same attributes, else a map type.
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

// unifyStructures builds a type of the same structure if all have as many parts, else a collection.
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

// distinct are the types that occur. Each is compared with the one before it first: neighbours are mostly alike.
func distinct(types []cty.Type) []cty.Type {
	const few = 8 // more distinct types than this are looked up
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

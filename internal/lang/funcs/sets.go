package funcs

import (
	"errors"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"slices"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

var anySet = cty.Set(cty.DynamicPseudoType)

var sets = []*builtin{
	{
		name: "setintersection", doc: "Returns the elements that are in all sets.",
		params:  []param{{name: "first_set", typ: anySet, doc: "A set."}},
		rest:    &param{name: "other_sets", typ: anySet, doc: "More sets."},
		returns: anySet, kind: setType, run: members(inAll),
	},
	{
		name: "setproduct", doc: "Returns all combinations of one element from each list or set.",
		rest: &param{name: "sets", typ: cty.DynamicPseudoType, mode: unknown | marked,
			doc: "Two or more lists, tuples or sets. If none is a set, the result is a list in the order of the arguments' elements."},
		returns: cty.DynamicPseudoType, run: setProduct,
	},
	{
		name: "setsubtract", doc: "Returns the elements of the first set that are not in the second set.",
		params: []param{
			{name: "a", typ: anySet, doc: "The first set."},
			{name: "b", typ: anySet, doc: "The elements to remove."},
		},
		returns: anySet, kind: setType, run: members(inFirst),
	},
	{
		name: "setunion", doc: "Returns the elements that are in any of the sets.",
		params:  []param{{name: "first_set", typ: anySet, doc: "A set."}},
		rest:    &param{name: "other_sets", typ: anySet, doc: "More sets."},
		returns: anySet, kind: setType, run: members(nil),
	},
}

// setType returns the set type to which all arguments can be converted. It ignores an empty set whose element type is
// unknown. It returns an error if the element types have no common type.
func setType(c *call) (cty.Type, error) {
	var etys []cty.Type
	for _, v := range c.args {
		ety := v.Type().ElementType()
		if ety == cty.DynamicPseudoType && v.IsKnown() && v.LengthInt() == 0 {
			continue
		}
		etys = append(etys, ety)
	}
	if len(etys) == 0 {
		return anySet, nil
	}
	ety := convert.Unify(etys)
	if ety == cty.NilType {
		return cty.NilType, errors.New("given sets must all have compatible element types")
	}
	return cty.Set(ety), nil
}

// members returns a run for an operation on sets. The result has the elements of the first set for which keep returns
// true; others are the other sets. A nil keep means that the result has the elements of all sets. If an element is
// unknown and keep is not nil, the result is unknown.
func members(keep func(others []cty.ValueSet, v cty.Value) bool) func(*call) (cty.Value, error) {
	return func(c *call) (cty.Value, error) {
		ty, err := setType(c)
		if err != nil {
			return cty.NilVal, err
		}
		if c.unknown && keep != nil {
			return cty.UnknownVal(ty), nil
		}
		var kept []cty.Value
		var others []cty.ValueSet
		for i, v := range c.args {
			if v, err = convert.To(v, ty); err != nil {
				return cty.NilVal, c.badBecause(i, err)
			}
			if vals := ctyvalue.Elements(v); keep == nil || i == 0 {
				kept = append(kept, vals...)
			} else {
				others = append(others, valueSet(v.Type().ElementType(), vals))
			}
		}
		if keep != nil {
			kept = slices.DeleteFunc(kept, func(v cty.Value) bool { return !keep(others, v) })
		}
		return setOf(ty.ElementType(), kept), nil
	}
}

// inAll reports whether all other sets contain v. It is the keep of an intersection.
func inAll(others []cty.ValueSet, v cty.Value) bool {
	return !slices.ContainsFunc(others, func(s cty.ValueSet) bool { return !isIn(s, v) })
}

// inFirst reports whether no other set contains v. It is the keep of a difference.
func inFirst(others []cty.ValueSet, v cty.Value) bool {
	return !slices.ContainsFunc(others, func(s cty.ValueSet) bool { return isIn(s, v) })
}

// valueSet returns the set of the elements in vals that have the type ty. All elements must be known and without marks.
func valueSet(ty cty.Type, vals []cty.Value) cty.ValueSet {
	s := cty.NewValueSet(ty)
	for _, v := range vals {
		if v.Type().Equals(ty) {
			s.Add(v)
		}
	}
	return s
}

func isIn(s cty.ValueSet, v cty.Value) bool { return s.ElementType().Equals(v.Type()) && s.Has(v) }

// setProduct returns all combinations, with the setproduct of cty. It returns an error if the result would be too
// large.
func setProduct(c *call) (cty.Value, error) {
	most, total, none := c.limits.Elements/(len(c.args)+1), 1, false
	for _, v := range c.args {
		if v, _ = mark.Unmark(v); v.IsKnown() && v.CanIterateElements() {
			none = none || v.LengthInt() == 0
			total = min(total*v.LengthInt(), most+1)
		}
	}
	if total > most && !none {
		return cty.NilVal, c.tooMany()
	}
	return ofTypes(stdlib.SetProductFunc)(c)
}

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
		name: "setintersection", doc: "Gives the set of the elements that all given sets have.",
		params:  []param{{name: "first_set", typ: anySet, doc: "A set."}},
		rest:    &param{name: "other_sets", typ: anySet, doc: "More sets."},
		returns: anySet, kind: setType, run: members(inAll),
	},
	{
		name: "setproduct", doc: "Gives all combinations of one element from each given list or set.",
		rest: &param{name: "sets", typ: cty.DynamicPseudoType, mode: unknown | marked,
			doc: "Two or more lists, tuples or sets. If none is a set, the result is a list in the order of the arguments' elements."},
		returns: cty.DynamicPseudoType, run: setProduct,
	},
	{
		name: "setsubtract", doc: "Gives the set of those elements of one set that another does not have.",
		params: []param{
			{name: "a", typ: anySet, doc: "The set to take from."},
			{name: "b", typ: anySet, doc: "The elements to leave out."},
		},
		returns: anySet, kind: setType, run: members(inFirst),
	},
	{
		name: "setunion", doc: "Gives the set of the elements that any of the given sets has.",
		params:  []param{{name: "first_set", typ: anySet, doc: "A set."}},
		rest:    &param{name: "other_sets", typ: anySet, doc: "More sets."},
		returns: anySet, kind: setType, run: members(nil),
	},
}

// setType is the type of set that all arguments can become. An empty set without a type becomes any.
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

// members makes the result of a set operation: those elements, of the sets in order, that keep wants. What
// is unknown is not asked about.
func members(keep func(sets []valueSet, i int, v cty.Value) bool) func(*call) (cty.Value, error) {
	return func(c *call) (cty.Value, error) {
		ty, err := setType(c)
		if err != nil {
			return cty.NilVal, err
		}
		if c.unknown && keep != nil {
			return cty.UnknownVal(ty), nil
		}
		all := make([][]cty.Value, len(c.args))
		index := make([]valueSet, len(c.args))
		for i, v := range c.args {
			if v, err = convert.To(v, ty); err != nil {
				return cty.NilVal, c.badBecause(i, err)
			}
			all[i] = ctyvalue.Elements(v)
			if keep != nil && i > 0 {
				index[i] = newValueSet(all[i])
			}
		}
		var kept []cty.Value
		seen := valueSet{} // sets of cty are slow to find out for themselves
		for i, vals := range all {
			for _, v := range vals {
				if (keep == nil || keep(index, i, v)) && (c.unknown || seen.add(v)) {
					kept = append(kept, v)
				}
			}
		}
		return setOf(ty.ElementType(), kept), nil
	}
}

// inAll is for the intersection: elements of the first set that are in all others.
func inAll(sets []valueSet, i int, v cty.Value) bool {
	return i == 0 && !slices.ContainsFunc(sets[1:], func(s valueSet) bool { return !s.has(v) })
}

// inFirst is for the difference: elements of the first set that are in no other.
func inFirst(sets []valueSet, i int, v cty.Value) bool {
	return i == 0 && !slices.ContainsFunc(sets[1:], func(s valueSet) bool { return s.has(v) })
}

// setProduct is that of cty's library, if it is not too large.
func setProduct(c *call) (cty.Value, error) {
	most, total, none := c.limits.Elements/(len(c.args)+1), 1, false
	for _, v := range c.args {
		if v, _ = mark.Bare(v); v.IsKnown() && v.CanIterateElements() {
			none = none || v.LengthInt() == 0
			total = min(total*v.LengthInt(), most+1)
		}
	}
	if total > most && !none {
		return cty.NilVal, c.tooMany()
	}
	return ofTypes(stdlib.SetProductFunc)(c)
}

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

// members makes the result of a set operation: of the elements of the first set those that keep wants, holding them
// against the other sets. Without keep it is the elements of all. What is unknown is not asked about.
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

// inAll is for the intersection.
func inAll(others []cty.ValueSet, v cty.Value) bool {
	return !slices.ContainsFunc(others, func(s cty.ValueSet) bool { return !isIn(s, v) })
}

// inFirst is for the difference.
func inFirst(others []cty.ValueSet, v cty.Value) bool {
	return !slices.ContainsFunc(others, func(s cty.ValueSet) bool { return isIn(s, v) })
}

// valueSet is the set of those values that are of the type. They are known and have no marks.
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

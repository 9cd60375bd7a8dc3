package funcs

import (
	"errors"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"slices"

	"github.com/zclconf/go-cty/cty"
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

// setProduct makes the tuples in the order of a counter whose last digit runs fastest.
func setProduct(c *call) (cty.Value, error) {
	ty, err := c.productType()
	if err != nil {
		return cty.NilVal, err
	}
	factors := make([][]cty.Value, len(c.args))
	all := true // lengths are known
	for i, v := range c.args {
		v = c.taken.bare(v)
		if all = all && v.IsKnown() && ctyvalue.Sized(v); all {
			factors[i] = ctyvalue.Elements(v)
		}
	}
	if !all {
		return c.productRange(ty), nil
	}
	total, ok := rowCount(factors, c.limits.Elements/(len(c.args)+1))
	if !ok {
		return cty.NilVal, c.tooMany()
	}
	if err := c.convertFactors(factors, ty.ElementType()); err != nil {
		return cty.NilVal, err
	}
	return product(factors, total, ty), nil
}

// rowCount multiplies the lengths; false if that is more than most.
func rowCount(factors [][]cty.Value, most int) (total int, ok bool) {
	if slices.ContainsFunc(factors, func(f []cty.Value) bool { return len(f) == 0 }) {
		return 0, true
	}
	total = 1
	for _, f := range factors {
		if total *= len(f); total > most {
			return 0, false
		}
	}
	return total, true
}

// productType is a list of tuples if all arguments have an order, else a set of tuples.
func (c *call) productType() (cty.Type, error) {
	if len(c.args) < 2 {
		return cty.NilType, errors.New("at least two arguments are required")
	}
	etys := make([]cty.Type, len(c.args))
	ordered := true
	for i, v := range c.args {
		switch ty := v.Type(); {
		case ty.IsTupleType() && ty.Length() == 0:
			etys[i] = cty.DynamicPseudoType
		case ty.IsTupleType():
			if etys[i] = convert.Unify(ty.TupleElementTypes()); etys[i] == cty.NilType {
				return cty.NilType, bad(i, "all elements must be of the same type")
			}
		case ty.IsListType(), ty.IsSetType():
			etys[i] = ty.ElementType()
			ordered = ordered && ty.IsListType()
		default:
			return cty.NilType, bad(i, "a set or a list is required")
		}
	}
	if ordered {
		return cty.List(cty.Tuple(etys)), nil
	}
	return cty.Set(cty.Tuple(etys)), nil
}

func (c *call) convertFactors(factors [][]cty.Value, row cty.Type) error {
	for i, vals := range factors {
		ety := row.TupleElementType(i)
		for j, v := range vals {
			var err error
			if vals[j], err = convert.To(v, ety); err != nil {
				return c.badBecause(i, err)
			}
		}
	}
	return nil
}

func product(factors [][]cty.Value, total int, ty cty.Type) cty.Value {
	rows := make([]cty.Value, total)
	at := make([]int, len(factors))
	for i := range rows {
		row := make([]cty.Value, len(factors))
		for j, n := range at {
			row[j] = factors[j][n]
		}
		rows[i] = cty.TupleVal(row)
		for j := len(at) - 1; j >= 0; j-- {
			if at[j]++; at[j] < len(factors[j]) {
				break
			}
			at[j] = 0
		}
	}
	if ty.IsListType() {
		return listOf(ty.ElementType(), rows)
	}
	return setOf(ty.ElementType(), rows)
}

// productRange is an unknown product, of which perhaps the greatest number of elements is known.
func (c *call) productRange(ty cty.Type) cty.Value {
	const useful = 2048 // as cty has it
	most := 1
	for _, v := range c.args {
		n := 0
		if v = c.taken.bare(v); v.Type().IsTupleType() {
			n = v.Type().Length()
		} else {
			n = v.Range().LengthUpperBound()
		}
		if n > useful {
			return cty.UnknownVal(ty)
		}
		if most *= n; most > useful {
			return cty.UnknownVal(ty)
		}
	}
	b := cty.UnknownVal(ty).Refine().NotNull()
	if most == 0 {
		return b.CollectionLength(0).NewValue()
	}
	return b.CollectionLengthUpperBound(most).NewValue()
}

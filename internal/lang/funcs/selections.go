package funcs

import (
	"errors"
	"fmt"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/ctyvalue"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

var boolList = cty.List(cty.Bool)

// selections has the functions that select one element of a collection or report a fact about a collection.
var selections = []*builtin{
	fixed("alltrue", "Reports whether all elements of a list are true. The result for an empty list is true.", cty.Bool, decide(true),
		param{name: "list", typ: boolList, doc: "The list. A null in it counts as false."}),
	fixed("anytrue", "Reports whether at least one element of a list is true.", cty.Bool, decide(false),
		param{name: "list", typ: boolList, doc: "The list. A null in it counts as false."}),
	{
		name: "coalesce", doc: "Returns the first argument that is neither null nor an empty string.",
		rest:    &param{name: "vals", typ: cty.DynamicPseudoType, doc: "The values, all of the same type.", mode: null | unknown | dynamic},
		returns: cty.DynamicPseudoType, run: coalesce,
	},
	{
		name: "coalescelist", doc: "Returns the first argument that is not empty.",
		rest:    &param{name: "vals", typ: cty.DynamicPseudoType, doc: "Lists or tuples.", mode: null | unknown | dynamic},
		returns: cty.DynamicPseudoType, run: ofTypes(stdlib.CoalesceListFunc),
	},
	varying("contains", "Reports whether a list or set contains a value.", boolKind, contains,
		param{name: "list", typ: cty.DynamicPseudoType, doc: "The list, tuple or set."},
		param{name: "value", typ: cty.DynamicPseudoType, doc: "The value, of the same type as the elements.", mode: null | dynamic}),
	{
		name: "element", doc: "Returns an element of a list. The index wraps around at both ends.",
		params: []param{
			{name: "list", typ: cty.DynamicPseudoType, doc: "The list or tuple, not empty.", mode: marked | quick},
			{name: "index", typ: cty.Number, doc: "The index, counted from zero. -1 is the last element."},
		},
		returns: cty.DynamicPseudoType, nullable: true, kind: elementType, run: element,
	},
	varying("index", "Returns the index of a value in a list, counted from zero.", numberKind, indexOf,
		param{name: "list", typ: cty.DynamicPseudoType, doc: "The list or tuple."},
		param{name: "value", typ: cty.DynamicPseudoType, doc: "The value to find."}),
	fixed("length", "Counts the elements of a list, set, map, tuple or object, or the characters of a string.", cty.Number, length,
		param{name: "value", typ: cty.DynamicPseudoType, doc: "What to measure.", mode: unknown | dynamic | marked | quick}),
	{
		name: "matchkeys", doc: "Returns the values whose keys, at the same index, are in a set of keys.",
		params: []param{
			{name: "values", typ: anyList, doc: "The values."},
			{name: "keys", typ: anyList, doc: "The keys, one for each value."},
			{name: "searchset", typ: anyList, doc: "The keys to look for."},
		},
		returns: anyList, kind: typeOfFirst, run: matchKeys,
	},
	{
		name: "one", doc: "Returns the only element of a list, or null if the list is empty. More than one element is an error.",
		params:  []param{{name: "list", typ: cty.DynamicPseudoType, doc: "The list, set or tuple.", mode: marked | quick}},
		returns: cty.DynamicPseudoType, nullable: true, kind: oneType, run: one,
	},
}

func boolKind(*call) (cty.Type, error) { return cty.Bool, nil }

// decide returns the run of alltrue (all is true) or anytrue (all is false). The first element that determines the
// result decides: a false element for alltrue, and a true element for anytrue. If no element does and one is unknown,
// the result is unknown.
func decide(all bool) func(*call) (cty.Value, error) {
	return func(c *call) (cty.Value, error) {
		open := false
		for _, v := range ctyvalue.Elements(c.args[0]) {
			switch {
			case !v.IsKnown():
				open = true
			case (!v.IsNull() && v.True()) != all:
				return cty.BoolVal(!all), nil
			}
		}
		if open {
			return cty.UnknownVal(cty.Bool), nil
		}
		return cty.BoolVal(all), nil
	}
}

func coalesce(c *call) (cty.Value, error) {
	types := make([]cty.Type, len(c.args))
	for i, v := range c.args {
		types[i] = v.Type()
	}
	ty := convert.Unify(types)
	if ty == cty.NilType {
		return cty.NilVal, errors.New("all arguments must have the same type")
	}
	for i, v := range c.args {
		if v.IsNull() {
			continue
		}
		if !v.IsKnown() {
			return c.unknownOf(ty), nil
		}
		v, err := convert.To(v, ty)
		if err != nil {
			return cty.NilVal, c.badBecause(i, err)
		}
		if v.RawEquals(cty.StringVal("")) {
			continue
		}
		return v, nil
	}
	return cty.NilVal, errors.New("no non-null, non-empty-string arguments")
}

// contains reports whether a list, tuple or set contains a value. In a known set it finds the value by its hash. If no
// element is equal, but an element could be equal because a part of it or of the value is unknown, the result is
// unknown.
func contains(c *call) (cty.Value, error) {
	list, value := c.args[0], c.args[1]
	if !isSequence(list.Type()) {
		return cty.NilVal, errors.New("argument must be list, tuple, or set")
	}
	if err := canCompare(value); err != nil {
		return cty.NilVal, err
	}
	if !c.unknown && list.Type().IsSetType() && list.Type().ElementType().Equals(value.Type()) {
		return cty.BoolVal(ctyvalue.SetHas(list, value)), nil
	}
	if at, all := findText(list, value); all {
		return cty.BoolVal(at >= 0), nil
	}
	open := false
	for v := range ctyvalue.Unordered(list) {
		eq := value.Equals(v)
		switch {
		case !eq.IsKnown():
			open = true
		case eq.True():
			return cty.True, nil
		}
	}
	if open {
		return cty.UnknownVal(cty.Bool), nil
	}
	return cty.False, nil
}

// findText searches for the string want in list. The result all is true if list is a list or tuple of known strings
// without marks, and want is a string and not null. Then at is the index of the first equal element, or -1. If all is
// false, at has no meaning.
func findText(list, want cty.Value) (at int, all bool) {
	if want.Type() != cty.String || want.IsNull() {
		return 0, false
	}
	return ctyvalue.FindText(list, want.AsString())
}

// canCompare returns an error for a number with too many digits, because cty would write all digits to compare the
// number.
func canCompare(v cty.Value) error {
	if v.Type() != cty.Number || v.IsNull() || !v.IsKnown() {
		return nil
	}
	if err := convert.Writable(v); err != nil {
		return bad(1, "%s", err)
	}
	return nil
}

func elementType(c *call) (cty.Type, error) {
	switch ty := c.given[0].Type(); {
	case ty.IsListType():
		return ty.ElementType(), nil
	case ty.IsTupleType():
		return cty.DynamicPseudoType, nil
	default:
		return cty.NilType, fmt.Errorf("cannot read elements from %s", ty.FriendlyName())
	}
}

func element(c *call) (cty.Value, error) {
	if _, err := elementType(c); err != nil {
		return cty.NilVal, err
	}
	i, err := wholeNumber(c.args[1])
	if err != nil {
		return cty.NilVal, c.because(fmt.Errorf("invalid index: %w", err))
	}
	list := c.marks.unmark(c.args[0])
	n := list.LengthInt()
	if n == 0 {
		return cty.NilVal, errors.New("cannot use element function with an empty list")
	}
	if i %= n; i < 0 {
		i += n
	}
	return list.Index(cty.NumberIntVal(int64(i))), nil
}

func indexOf(c *call) (cty.Value, error) {
	list, value := c.args[0], c.args[1]
	if ty := list.Type(); !ty.IsListType() && !ty.IsTupleType() {
		return cty.NilVal, errors.New("argument must be a list or tuple")
	}
	if err := canCompare(value); err != nil {
		return cty.NilVal, err
	}
	if at, all := findText(list, value); all && at >= 0 {
		return cty.NumberIntVal(int64(at)), nil
	}
	vals := ctyvalue.Elements(list)
	if len(vals) == 0 {
		return cty.NilVal, errors.New("cannot search an empty list")
	}
	for i, v := range vals {
		eq := v.Equals(value)
		switch {
		case !eq.IsKnown(): // the element may be equal to the value
			return cty.UnknownVal(cty.Number), nil
		case eq.True():
			return cty.NumberIntVal(int64(i)), nil
		}
	}
	return cty.NilVal, errors.New("item not found")
}

func length(c *call) (cty.Value, error) {
	v := c.marks.unmark(c.args[0])
	switch ty := v.Type(); {
	case ty == cty.DynamicPseudoType:
		return cty.UnknownVal(cty.Number).Refine().NotNull().NumberRangeLowerBound(cty.Zero, true).NewValue(), nil
	case ty.IsTupleType(), ty.IsObjectType():
		return cty.NumberIntVal(int64(v.LengthInt())), nil
	case ty.IsCollectionType() && v.IsKnown() && ctyvalue.Sized(v):
		return cty.NumberIntVal(int64(v.LengthInt())), nil
	case ty.IsCollectionType():
		return v.Length(), nil
	case ty == cty.String:
		return stdlib.Strlen(v)
	}
	return cty.NilVal, errors.New("argument must be a string, a collection type, or a structural type")
}

func matchKeys(c *call) (cty.Value, error) {
	ty := c.args[0].Type()
	kty := convert.Unify([]cty.Type{c.args[1].Type(), c.args[2].Type()})
	if kty == cty.NilType {
		return cty.NilVal, errors.New("keys and searchset must be of the same type")
	}
	if c.unknown && !(c.args[1].IsWhollyKnown() && c.args[2].IsWhollyKnown()) {
		return cty.UnknownVal(ty), nil
	}
	vals, keys := ctyvalue.Elements(c.args[0]), ctyvalue.Elements(c.args[1])
	if len(vals) != len(keys) {
		return cty.NilVal, errors.New("length of keys and values should be equal")
	}
	search := ctyvalue.Elements(c.args[2])
	for i, v := range search {
		if v, err := convert.To(v, kty.ElementType()); err == nil {
			search[i] = v
		}
	}
	wanted := valueSet(kty.ElementType(), search)
	var found []cty.Value
	for i, k := range keys {
		if k, err := convert.To(k, kty.ElementType()); err == nil && isIn(wanted, k) {
			found = append(found, vals[i])
		}
	}
	return listOf(ty.ElementType(), found), nil
}

func oneType(c *call) (cty.Type, error) {
	switch ty := c.given[0].Type(); {
	case ty.IsListType(), ty.IsSetType():
		return ty.ElementType(), nil
	case ty.IsTupleType() && ty.Length() == 0:
		return cty.DynamicPseudoType, nil
	case ty.IsTupleType() && ty.Length() == 1:
		return ty.TupleElementType(0), nil
	}
	return cty.NilType, errNotOne
}

var errNotOne = bad(0, "must be a list, set, or tuple value with either zero or one elements")

func one(c *call) (cty.Value, error) {
	ty, err := oneType(c)
	if err != nil {
		return cty.NilVal, err
	}
	list := c.marks.unmark(c.args[0])
	if !ctyvalue.Sized(list) {
		return cty.UnknownVal(ty), nil
	}
	switch vals := ctyvalue.Elements(list); len(vals) {
	case 0:
		return cty.NullVal(ty), nil
	case 1:
		return vals[0], nil
	}
	return cty.NilVal, errNotOne
}

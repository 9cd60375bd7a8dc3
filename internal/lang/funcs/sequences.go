package funcs

import (
	"errors"
	"fmt"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"slices"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

var anyList = cty.List(cty.DynamicPseudoType)

// sequences has the functions that make lists and tuples from lists and tuples. If a function only moves elements, the
// elements keep their marks.
var sequences = []*builtin{
	{
		name: "chunklist", doc: "Splits a list into lists of a given length. The last list may be shorter.",
		params: []param{
			{name: "list", typ: anyList, doc: "The list to split.", mode: marked},
			{name: "size", typ: cty.Number, doc: "The maximum length of each list. Zero means no limit."},
		},
		returns: cty.List(anyList), kind: libraryType(stdlib.ChunklistFunc), run: ofTypes(stdlib.ChunklistFunc),
	},
	fixed("compact", "Removes empty strings and nulls from a list.", cty.List(cty.String), library(stdlib.CompactFunc),
		param{name: "list", typ: cty.List(cty.String), doc: "The strings."}),
	{
		name: "concat", doc: "Joins lists or tuples.",
		rest:    &param{name: "seqs", typ: cty.DynamicPseudoType, doc: "The lists or tuples, in order.", mode: marked | quick},
		returns: cty.DynamicPseudoType, kind: concatType, run: concat,
	},
	{
		name: "distinct", doc: "Removes duplicates from a list. The first of equal elements is kept.",
		params:  []param{{name: "list", typ: anyList, doc: "The list."}},
		returns: anyList, kind: typeOfFirst, run: distinctElements,
	},
	varying("flatten", "Replaces lists inside a list with their elements, at any depth.", unknownKind, flatten,
		param{name: "list", typ: cty.DynamicPseudoType, doc: "The list, set or tuple.", mode: marked}),
	{
		name: "range", doc: "Returns a list of numbers from a start to a limit, without the limit.",
		rest: &param{name: "params", typ: cty.Number,
			doc: "The limit; or the start and the limit; or the start, the limit and the step. The result has at most 1024 numbers."},
		returns: cty.List(cty.Number), run: count,
	},
	varying("reverse", "Reverses the order of the elements of a list.", libraryType(stdlib.ReverseListFunc), reverse,
		param{name: "list", typ: cty.DynamicPseudoType, doc: "The list or tuple.", mode: marked}),
	varying("slice", "Returns consecutive elements of a list.", sliceType, slice,
		param{name: "list", typ: cty.DynamicPseudoType, doc: "The list or tuple.", mode: marked | quick},
		number("start_index", "The index of the first element, counted from zero."),
		number("end_index", "The index after the last element.")),
	fixed("sort", "Sorts strings by the code points of their characters.", cty.List(cty.String), library(stdlib.SortFunc),
		param{name: "list", typ: cty.List(cty.String), doc: "The strings.", mode: unknown}),
}

func typeOfFirst(c *call) (cty.Type, error) { return c.given[0].Type(), nil }
func unknownKind(*call) (cty.Type, error)   { return cty.DynamicPseudoType, nil }

// concatType returns the type of the result of concat: a list type if all arguments are lists and have a common type,
// and otherwise a tuple type, or the unknown type if the length of a list is unknown. It returns an error if there are
// no arguments, or if an argument is no list and no tuple.
func concatType(c *call) (cty.Type, error) {
	if len(c.args) == 0 {
		return cty.NilType, errors.New("at least one argument is required")
	}
	types := make([]cty.Type, len(c.args))
	lists, sized := true, true
	for i, v := range c.args {
		types[i] = v.Type()
		if !types[i].IsListType() && !types[i].IsTupleType() {
			return cty.NilType, bad(i, "all arguments must be lists or tuples; got %s", types[i].FriendlyName())
		}
		lists = lists && types[i].IsListType()
		sized = sized && (types[i].IsTupleType() || v.IsKnown())
	}
	if lists {
		if ty := convert.Unify(types); ty.IsListType() {
			return ty, nil
		}
	}
	if !sized {
		return cty.DynamicPseudoType, nil
	}
	return c.concatTuple(types), nil
}

func (c *call) concatTuple(types []cty.Type) cty.Type {
	var etys []cty.Type
	for i, ty := range types {
		if ty.IsTupleType() {
			etys = append(etys, ty.TupleElementTypes()...)
			continue
		}
		unmarked, _ := mark.Unmark(c.args[i])
		etys = append(etys, slices.Repeat([]cty.Type{ty.ElementType()}, unmarked.LengthInt())...)
	}
	return cty.Tuple(etys)
}

func concat(c *call) (cty.Value, error) {
	if err := c.concatFits(); err != nil {
		return cty.NilVal, err
	}
	ty, err := concatType(c)
	if err != nil {
		return cty.NilVal, err
	}
	var vals []cty.Value
	for i, seq := range c.args {
		if ty.IsListType() {
			if seq, err = convert.To(seq, ty); err != nil {
				return cty.NilVal, c.badBecause(i, err)
			}
		}
		vals = append(vals, ctyvalue.Elements(c.marks.unmark(seq))...)
	}
	if ty.IsListType() {
		return listOf(ty.ElementType(), vals), nil
	}
	return cty.TupleVal(vals), nil
}

func (c *call) concatFits() error {
	total := 0
	for _, v := range c.args {
		if unmarked, _ := mark.Unmark(v); isSequence(unmarked.Type()) {
			total += unmarked.LengthInt()
		}
	}
	if total > c.limits.Elements {
		return c.tooMany()
	}
	return nil
}

func distinctElements(c *call) (cty.Value, error) {
	ty := c.args[0].Type()
	if c.unknown {
		return cty.UnknownVal(ty), nil
	}
	seen := cty.NewValueSet(ty.ElementType())
	kept := slices.DeleteFunc(ctyvalue.Elements(c.args[0]), func(v cty.Value) bool {
		again := seen.Has(v)
		seen.Add(v)
		return again
	})
	return listOf(ty.ElementType(), kept), nil
}

// flatten collects the elements of nested lists, visiting each once. The marks of an inner list move to the result,
// because the inner list is not in the result. The ephemeral marks of other elements move to the result, too: otherwise
// the position of a mark would reveal whether the ephemeral value is a list.
func flatten(c *call) (cty.Value, error) {
	if !isSequence(c.args[0].Type()) {
		return cty.NilVal, errors.New("can only flatten lists, sets and tuples")
	}
	f := flattening{marks: &c.marks}
	f.walk(c.args[0])
	if f.unsure {
		return cty.DynamicVal, nil
	}
	return cty.TupleVal(f.out), nil
}

type flattening struct {
	out    []cty.Value
	marks  *marks
	unsure bool // the number of elements is unknown, because an inner value is unknown
}

func (f *flattening) walk(list cty.Value) {
	list = f.marks.unmark(list)
	if !list.IsKnown() || !ctyvalue.Sized(list) {
		f.unsure = true
		return
	}
	for _, v := range ctyvalue.Elements(list) {
		switch {
		case v.Type() == cty.DynamicPseudoType && !v.IsKnown():
			f.unsure = true
		case isSequence(v.Type()) && !v.IsNull():
			f.walk(v)
		case mark.Is(v, mark.Ephemeral):
			f.out = append(f.out, f.marks.unmark(v))
		default:
			f.out = append(f.out, v)
		}
	}
}

// count is the run of the function range. It returns an error for numbers with too many digits, which take too long to
// add.
func count(c *call) (cty.Value, error) {
	for i, v := range c.args {
		if err := convert.Writable(v); err != nil {
			return cty.NilVal, bad(i, "%w", err)
		}
	}
	return library(stdlib.RangeFunc)(c)
}

// reverse returns the elements of a list in reverse order. For a set with unknown elements it returns an unknown list,
// because the number of elements is unknown.
func reverse(c *call) (cty.Value, error) {
	list := c.marks.unmark(c.args[0])
	if list.Type().IsSetType() && !ctyvalue.Sized(list) {
		return c.unknownOf(cty.List(list.Type().ElementType())), nil
	}
	return ofTypes(stdlib.ReverseListFunc)(c)
}

// bounds returns the start and end index of a slice. known is false if one of them is unknown. It returns an error if
// an index is negative, is not a whole number, or is greater than the length of the list, or if start is greater than
// end.
func (c *call) bounds() (start, end int, known bool, err error) {
	list, _ := mark.Unmark(c.args[0])
	length, sized := 0, list.IsKnown() || list.Type().IsTupleType()
	if sized {
		length = list.LengthInt()
	}
	at := func(i int, name string) (n int, ok bool, err error) {
		if !c.args[i].IsKnown() {
			return 0, false, nil
		}
		switch n, err = wholeNumber(c.args[i]); {
		case err != nil:
			return 0, false, c.badBecause(i, fmt.Errorf("invalid %s index: %w", name, err))
		case n < 0:
			return 0, false, bad(i, "%s index must not be less than zero", name)
		case sized && n > length:
			return 0, false, bad(i, "%s index must not be greater than the length of the list", name)
		}
		return n, true, nil
	}
	start, startKnown, err := at(1, "start")
	if err != nil {
		return 0, 0, false, err
	}
	end, endKnown, err := at(2, "end")
	if err != nil {
		return 0, 0, false, err
	}
	if startKnown && endKnown && start > end {
		return 0, 0, false, bad(1, "start index must not be greater than end index")
	}
	return start, end, startKnown && endKnown, nil
}

func sliceType(c *call) (cty.Type, error) {
	ty := c.given[0].Type()
	switch {
	case ty.IsSetType():
		return cty.NilType, bad(0, "cannot slice a set, because its elements have no order; convert it with tolist() if the order is not important")
	case !ty.IsListType() && !ty.IsTupleType():
		return cty.NilType, bad(0, "must be a list or tuple value")
	}
	start, end, known, err := c.bounds()
	switch {
	case err != nil:
		return cty.NilType, err
	case ty.IsListType():
		return ty, nil
	case !known:
		return cty.DynamicPseudoType, nil
	}
	return cty.Tuple(ty.TupleElementTypes()[start:end]), nil
}

// slice returns some elements of a list. It reads them by their index, so that a small part of a large list costs
// little.
func slice(c *call) (cty.Value, error) {
	ty, err := sliceType(c)
	if err != nil {
		return cty.NilVal, err
	}
	start, end, _, err := c.bounds()
	if err != nil {
		return cty.NilVal, err
	}
	list := c.marks.unmark(c.args[0])
	vals := make([]cty.Value, 0, end-start)
	for i := start; i < end; i++ {
		vals = append(vals, list.Index(cty.NumberIntVal(int64(i))))
	}
	if ty.IsTupleType() {
		return cty.TupleVal(vals), nil
	}
	return listOf(ty.ElementType(), vals), nil
}

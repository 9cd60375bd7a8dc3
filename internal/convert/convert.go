// Package convert converts values to types and finds the type to which several types can be converted.
//
// The results are the same as the results of package cty/convert, but the work is linear in the size of value and
// types. cty/convert builds a conversion for every element of a tuple and compares the types of each pair of elements,
// so that a list of 50,000 equal objects takes more than a billion comparisons.
package convert

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"sync"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// As in package cty, a conversion is built once for two types and then run on values. This package builds the
// conversions for types with many elements, with one conversion for each distinct element type. It uses cty's
// conversions for all other types.

// conv converts a value that is known, not null and not marked itself. A nil conv means that the value stays unchanged.
type conv func(cty.Value) (cty.Value, error)

// To converts v to another type like convert.Convert, in time linear in the size of value and type. Between numbers and
// strings it returns an error for numbers with too many digits (see Writable), which cty would write in full. If v is
// not marked itself, and the error is about an element or attribute of v, it is a cty.PathError. Its path ends at the
// first container on the way that is marked, or is a set or a map that becomes another collection.
func To(v cty.Value, want cty.Type) (cty.Value, error) {
	if same(v.Type(), want) {
		return v, nil
	}
	f, ok := conversion(v.Type(), want)
	if !ok {
		text := mismatch(v.Type(), want)
		if v.ContainsMarked() {
			text = mapKey().ReplaceAllString(text, "an element")
		}
		return cty.NilVal, errors.New(text)
	}
	return run(f, v, want)
}

// mapKey matches the keys of maps in the error texts of mismatch. To removes them from the error for a value with
// marks, because the keys of a secret are secret, too.
var mapKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`element "(\\.|[^"\\])*"`) })

// same reports whether values of type ty have type want already. Attributes of want may be optional.
func same(ty, want cty.Type) bool {
	if ty.IsPrimitiveType() || want.IsPrimitiveType() {
		return ty == want
	}
	return ty.Equals(want.WithoutOptionalAttributesDeep())
}

// run applies a conversion f to v, and keeps the marks of v. The parameter want is the type of the result. If f is nil,
// it returns v. For null and unknown values it calls cty, which computes the refinements of the result.
func run(f conv, v cty.Value, want cty.Type) (cty.Value, error) {
	if f == nil {
		return v, nil
	}
	unmarked, put := mark.Unmark(v)
	if unmarked.IsNull() || !unmarked.IsKnown() {
		r, err := byCty(unmarked, want)
		if err != nil {
			return cty.NilVal, err
		}
		return put(r), nil
	}
	r, err := f(unmarked)
	if err != nil {
		if v.IsMarked() {
			err = errors.New(err.Error()) // drop the path, because the path inside a secret is a part of the secret
		}
		return cty.NilVal, err
	}
	return put(r), nil
}

// inside prepends a step to the path of an error.
func inside(step cty.PathStep, err error) error {
	if pe, ok := err.(cty.PathError); ok {
		return append(cty.Path{step}, pe.Path...).NewError(errors.New(pe.Error()))
	}
	return cty.Path{step}.NewError(err)
}

// byCty calls convert.Convert. That function panics for a null or unknown map if want is an object with optional
// tuples. If it panics, byCty returns an error.
func byCty(v cty.Value, want cty.Type) (r cty.Value, err error) {
	defer func() {
		if recover() != nil {
			r, err = cty.NilVal, errors.New(mismatch(v.Type(), want))
		}
	}()
	return convert.Convert(v, want)
}

// conversion returns the conversion from one type to another, and false if no conversion exists. A nil conversion with
// true means that values remain unchanged.
func conversion(in, want cty.Type) (conv, bool) {
	switch {
	case want == cty.DynamicPseudoType, same(in, want):
		return nil, true
	case in == cty.DynamicPseudoType:
		return func(v cty.Value) (cty.Value, error) { return To(v, want) }, true
	case in.IsTupleType() && (want.IsListType() || want.IsSetType() || want.IsTupleType()):
		return fromTuple(in, want)
	case in.IsObjectType() && (want.IsMapType() || want.IsObjectType()):
		return fromObject(in, want)
	case in.IsCollectionType() && want.IsCollectionType() && in.IsMapType() == want.IsMapType():
		return betweenCollections(in, want)
	}
	return plain(in, want)
}

// plain returns cty's conversion from one type to another, and false if cty has none. A conversion of a number to a
// string, or of a string to a number, returns an error if the number has too many digits (see Writable).
func plain(in, want cty.Type) (conv, bool) {
	f := convert.GetConversionUnsafe(in, want)
	if f == nil {
		return nil, false
	}
	switch {
	case in == cty.Number && want == cty.String:
		return func(v cty.Value) (cty.Value, error) {
			if err := Writable(v); err != nil {
				return cty.NilVal, err
			}
			return cty.StringVal(string(ctyvalue.AppendNumber(nil, ctyvalue.Number(v)))), nil
		}, true
	case in == cty.String && want == cty.Number:
		return func(v cty.Value) (cty.Value, error) {
			if len(v.AsString()) > MaxDigits {
				return cty.NilVal, ErrManyDigits
			}
			n, err := f(v)
			if err == nil {
				err = Writable(n)
			}
			return n, err
		}, true
	}
	return conv(f), true
}

// MaxDigits is the largest number of decimal digits that a number, or a string that becomes a number, may have.
// maxExponent is about the same limit as a binary exponent, and minExponent is about maxZeros as a binary exponent.
// Small numbers have a lower limit, because the time to write them grows with the square of their length.
const (
	MaxDigits   = 300_000
	maxZeros    = 30_000 // maximum number of zeros after the decimal point
	maxExponent = 1_000_000
	minExponent = -100_000
)

// ErrManyDigits is the error for a number with more than MaxDigits decimal digits.
var ErrManyDigits = fmt.Errorf("a number of more than %d digits is not supported", MaxDigits)

var errManyZeros = fmt.Errorf("a number with more than %d zeros after the decimal point is not supported", maxZeros)

// Writable returns an error if it takes too long to write v in decimal digits, such as 1e600000000. It returns nil for
// all other numbers. v must be a number that is known, not null and unmarked.
func Writable(v cty.Value) error { return Digits(ctyvalue.Number(v)) }

// Digits returns the error that Writable returns for the number f, or nil.
func Digits(f *big.Float) error {
	switch e := f.MantExp(nil); {
	case e > maxExponent:
		return ErrManyDigits
	case e < minExponent:
		return errManyZeros
	}
	return nil
}

// fromTuple returns a conversion from a tuple to a list, a set or another tuple. It returns false if no conversion
// exists.
func fromTuple(in, want cty.Type) (conv, bool) {
	etys := in.TupleElementTypes()
	wants := elementTypes(want, etys)
	if len(wants) != len(etys) {
		return nil, false
	}
	fs, ok := conversions(etys, wants, want.IsCollectionType())
	if !ok {
		return nil, false
	}
	return func(v cty.Value) (cty.Value, error) {
		vals := ctyvalue.Elements(v)
		for i := range vals {
			var err error
			if vals[i], err = run(fs[i], vals[i], wants[i]); err != nil {
				return cty.NilVal, inside(cty.IndexStep{Key: cty.NumberIntVal(int64(i))}, err)
			}
		}
		if want.IsTupleType() {
			return cty.TupleVal(vals), nil
		}
		return collect(nil, vals, v, want)
	}, true
}

// fromObject returns a conversion from an object to a map or another object, and false if no conversion exists. It
// drops attributes that the other object does not have, and adds missing optional attributes as nulls.
func fromObject(in, want cty.Type) (conv, bool) {
	atys := in.AttributeTypes()
	wanted := atys
	if want.IsObjectType() {
		wanted = want.AttributeTypes()
	}
	names := slices.Sorted(maps.Keys(wanted))
	types, wants := make([]cty.Type, len(names)), make([]cty.Type, len(names))
	for i, name := range names {
		aty, is := atys[name]
		if !is && !want.AttributeOptional(name) {
			return nil, false
		}
		if types[i], wants[i] = aty, wanted[name]; !is {
			types[i] = wants[i]
		}
	}
	if want.IsMapType() {
		if wants = elementTypes(want, types); len(wants) != len(types) {
			return nil, false
		}
	}
	fs, ok := conversions(types, wants, want.IsCollectionType())
	if !ok {
		return nil, false
	}
	return func(v cty.Value) (cty.Value, error) {
		vals := make([]cty.Value, len(names))
		for i, name := range names {
			if !in.HasAttribute(name) {
				vals[i] = cty.NullVal(wants[i].WithoutOptionalAttributesDeep())
				continue
			}
			var err error
			if vals[i], err = run(fs[i], v.GetAttr(name), wants[i]); err != nil {
				return cty.NilVal, inside(cty.GetAttrStep{Name: name}, err)
			}
		}
		if want.IsObjectType() {
			return cty.ObjectVal(named(names, vals)), nil
		}
		return collect(names, vals, v, want)
	}, true
}

// elementTypes returns the type of each element in a value of type want, for elements of the given types. If want is a
// collection of any type, all elements get the type that unifies them. If want cannot contain the elements,
// elementTypes returns nil, or a list of another length.
func elementTypes(want cty.Type, types []cty.Type) []cty.Type {
	if want.IsTupleType() {
		return want.TupleElementTypes()
	}
	ety := want.ElementType()
	if ety == cty.DynamicPseudoType && len(types) > 0 {
		ety = Unify(types)
		if ety == cty.NilType || ety == cty.DynamicPseudoType && !want.IsMapType() && slices.ContainsFunc(types, func(ty cty.Type) bool { return ty != ety }) {
			return nil
		}
	}
	return slices.Repeat([]cty.Type{ety}, len(types))
}

// conversions returns the conversion from each type to the wanted type at the same index. It returns false if one does
// not exist. A conversion is nil if values remain unchanged. If alike is true, all wanted types are equal, and equal
// types share one conversion (only among the first few distinct types).
func conversions(types, wants []cty.Type, alike bool) ([]conv, bool) {
	const few = 8
	fs := make([]conv, len(types))
	var built []int
	for i, ty := range types {
		if b := slices.IndexFunc(built, func(b int) bool { return types[b].Equals(ty) }); b >= 0 {
			fs[i] = fs[built[b]]
			continue
		}
		var ok bool
		if fs[i], ok = conversion(ty, wants[i]); !ok {
			return nil, false
		}
		if alike && len(built) < few {
			built = append(built, i)
		}
	}
	return fs, true
}

// betweenCollections returns a conversion from a list or set to a list or set, or from a map to a map. It returns nil
// and true if values remain unchanged, and false if no conversion exists.
func betweenCollections(in, want cty.Type) (conv, bool) {
	ety := want.ElementType()
	f, ok := conversion(in.ElementType(), ety)
	if !ok || f == nil && in.IsSetType() == want.IsSetType() { // a nil conversion means that the elements have the type already
		return nil, ok
	}
	return func(v cty.Value) (cty.Value, error) {
		if want.IsListType() && !ctyvalue.Sized(v) {
			return byCty(v, want)
		}
		var names []string
		if in.IsMapType() {
			for name := range ctyvalue.Members(v) {
				names = append(names, name)
			}
		}
		vals := ctyvalue.Elements(v)
		for i := range vals {
			var err error
			if vals[i], err = run(f, vals[i], ety); err != nil {
				if in.IsListType() {
					err = inside(cty.IndexStep{Key: cty.NumberIntVal(int64(i))}, err)
				}
				return cty.NilVal, err
			}
		}
		return collect(names, vals, v, want)
	}, true
}

// collect returns a list, set or map of type want from converted elements. names has the keys of a map. The argument
// from is the value whose elements were converted. If the element type of want is dynamic, the converted elements can
// have different types, and cty converts this value instead.
func collect(names []string, vals []cty.Value, from cty.Value, want cty.Type) (cty.Value, error) {
	for _, v := range vals {
		if !v.Type().Equals(vals[0].Type()) {
			return byCty(from, want)
		}
	}
	ety := want.ElementType().WithoutOptionalAttributesDeep()
	if ety == cty.DynamicPseudoType && from.Type().IsCollectionType() {
		ety = from.Type().ElementType()
	}
	switch {
	case want.IsMapType() && len(vals) == 0:
		return cty.MapValEmpty(ety), nil
	case want.IsMapType():
		return cty.MapVal(named(names, vals)), nil
	case want.IsSetType() && len(vals) == 0:
		return cty.SetValEmpty(ety), nil
	case want.IsSetType():
		return cty.SetVal(vals), nil
	case len(vals) == 0:
		return cty.ListValEmpty(ety), nil
	}
	return cty.ListVal(vals), nil
}

func named(names []string, vals []cty.Value) map[string]cty.Value {
	m := make(map[string]cty.Value, len(vals))
	for i, name := range names {
		m[name] = vals[i]
	}
	return m
}

// mismatch describes why no conversion exists. If want is an object type and the other type is very large, it only
// names the required type, because the search of cty for the exact reason takes too long.
func mismatch(in, want cty.Type) string {
	const large = 4096
	switch {
	case in.IsPrimitiveType() && !want.IsPrimitiveType():
		return fmt.Sprintf("%s required, but have %s", want.FriendlyNameForConstraint(), in.FriendlyName())
	case want.IsObjectType() && width([]cty.Type{in}) > large:
		return want.FriendlyNameForConstraint() + " required"
	}
	return convert.MismatchMessage(in, want)
}

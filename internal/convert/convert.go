// Package convert converts values to types and finds the type that several types have in common.
//
// Both are what cty/convert does, in work linear in the size of value and types: that builds a conversion for every
// element of a tuple and compares the type of each with each, so that a list of 50,000 equal objects takes more than
// a billion comparisons.
package convert

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Conversion is built once from two types and then run on values, as in package cty. Whatever holds
// many elements is built here, one conversion for each distinct element type; what is left goes to cty.

// conv converts a value that is known, not null and has no mark of its own. Nil: leave it as it is.
type conv func(cty.Value) (cty.Value, error)

// To is convert.Convert in work linear in the size of value and type. It refuses numbers of more digits than can be
// wanted, which cty would go on to write down. The error is a cty.PathError where the mistake is inside the value and
// nothing around it is marked.
func To(v cty.Value, want cty.Type) (cty.Value, error) {
	if same(v.Type(), want) {
		return v, nil
	}
	f, ok := conversion(v.Type(), want)
	if !ok {
		return cty.NilVal, errors.New(mismatch(v.Type(), want))
	}
	return run(f, v, want)
}

// same reports that values of type ty are values of type want already.
func same(ty, want cty.Type) bool {
	if ty.IsPrimitiveType() || want.IsPrimitiveType() {
		return ty == want
	}
	return ty.Equals(want.WithoutOptionalAttributesDeep())
}

// run applies f under the marks of v. Null and unknown values are cty's: it knows what refinements
// survive.
func run(f conv, v cty.Value, want cty.Type) (cty.Value, error) {
	if f == nil {
		return v, nil
	}
	bare, put := mark.Bare(v)
	if bare.IsNull() || !bare.IsKnown() {
		r, err := byCty(bare, want)
		if err != nil {
			return cty.NilVal, err
		}
		return put(r), nil
	}
	r, err := f(bare)
	if err != nil {
		if v.IsMarked() {
			err = errors.New(err.Error()) // where in a secret it is is a part of the secret
		}
		return cty.NilVal, err
	}
	return put(r), nil
}

// inside adds a step to the place in a value where something is wrong.
func inside(step cty.PathStep, err error) error {
	if pe, ok := err.(cty.PathError); ok {
		return append(cty.Path{step}, pe.Path...).NewError(errors.New(pe.Error()))
	}
	return cty.Path{step}.NewError(err)
}

func insideIndex(i int, err error) error {
	return inside(cty.IndexStep{Key: cty.NumberIntVal(int64(i))}, err)
}

// byCty is convert.Convert, which panics for a null or unknown map that is to be an object with optional
// tuples.
func byCty(v cty.Value, want cty.Type) (r cty.Value, err error) {
	defer func() {
		if recover() != nil {
			r, err = cty.NilVal, errors.New(mismatch(v.Type(), want))
		}
	}()
	return convert.Convert(v, want)
}

// conversion gives the way from in to want, false if there is none.
func conversion(in, want cty.Type) (conv, bool) {
	switch {
	case want == cty.DynamicPseudoType, same(in, want):
		return nil, true
	case in == cty.DynamicPseudoType:
		return func(v cty.Value) (cty.Value, error) { return To(v, want) }, true
	case in.IsTupleType() && want.IsListType(), in.IsTupleType() && want.IsSetType():
		return fromTuple(in, want)
	case in.IsObjectType() && want.IsMapType():
		return fromObject(in, want)
	case (in.IsListType() || in.IsSetType()) && (want.IsListType() || want.IsSetType()):
		return betweenSequences(in, want)
	case in.IsMapType() && want.IsMapType():
		return betweenMaps(in, want)
	case in.IsTupleType() && want.IsTupleType():
		return betweenTuples(in, want)
	case in.IsObjectType() && want.IsObjectType():
		return betweenObjects(in, want)
	}
	return plain(in, want)
}

// plain is cty's own conversion, with an eye on the size of numbers.
func plain(in, want cty.Type) (conv, bool) {
	f := convert.GetConversionUnsafe(in, want)
	if f == nil {
		return nil, false
	}
	switch {
	case in == cty.Number && want == cty.String:
		return func(v cty.Value) (cty.Value, error) {
			if i, acc := v.AsBigFloat().Int64(); acc == big.Exact && i != 0 {
				return cty.StringVal(strconv.FormatInt(i, 10)), nil
			}
			if err := Writable(v); err != nil {
				return cty.NilVal, err
			}
			return f(v)
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

// MaxDigits is how long a number may be when written down, and maxExponent the same in bits. Small
// numbers take much longer to write down, with the square of their length.
const (
	MaxDigits   = 300_000
	maxZeros    = 30_000 // behind the point
	maxExponent = 1_000_000
	minExponent = -100_000
)

// ErrManyDigits is the error for a number that has more than MaxDigits.
var ErrManyDigits = fmt.Errorf("a number of more than %d digits is not supported", MaxDigits)

var errManyZeros = fmt.Errorf("a number with more than %d zeros behind the point is not supported", maxZeros)

// Writable refuses a known number with more digits than can be written down in a reasonable time, such as 1e600000000.
func Writable(v cty.Value) error {
	switch e := ctyvalue.Number(v).MantExp(nil); {
	case e > maxExponent:
		return ErrManyDigits
	case e < minExponent:
		return errManyZeros
	}
	return nil
}

// fromTuple makes a list or a set.
func fromTuple(in, want cty.Type) (conv, bool) {
	etys := in.TupleElementTypes()
	ety := want.ElementType()
	if len(etys) == 0 {
		return func(cty.Value) (cty.Value, error) { return empty(want), nil }, true
	}
	ks := distinct(etys)
	if ety == cty.DynamicPseudoType {
		ety = Unify(ks.types)
		if ety == cty.NilType || ety == cty.DynamicPseudoType && (len(ks.types) > 1 || ks.types[0] != ety) {
			return nil, false
		}
	}
	fs, ok := conversions(ks.types, ety)
	if !ok {
		return nil, false
	}
	return func(v cty.Value) (cty.Value, error) {
		vals := ctyvalue.Elements(v)
		for i := range vals {
			var err error
			if vals[i], err = run(fs[ks.of[i]], vals[i], ety); err != nil {
				return cty.NilVal, insideIndex(i, err)
			}
		}
		return collect(vals, v, want)
	}, true
}

// conversions are those from each of the types.
func conversions(types []cty.Type, want cty.Type) ([]conv, bool) {
	fs := make([]conv, len(types))
	for i, ty := range types {
		var ok bool
		if fs[i], ok = conversion(ty, want); !ok {
			return nil, false
		}
	}
	return fs, true
}

// empty is the empty collection of that type.
func empty(ty cty.Type) cty.Value {
	ety := ty.ElementType().WithoutOptionalAttributesDeep()
	switch {
	case ty.IsListType():
		return cty.ListValEmpty(ety)
	case ty.IsSetType():
		return cty.SetValEmpty(ety)
	}
	return cty.MapValEmpty(ety)
}

// collect makes a list or set of converted elements. An element type that is not exact can have left
// them with different types; what to do then is left to cty, for the value that all came from.
func collect(vals []cty.Value, from cty.Value, want cty.Type) (cty.Value, error) {
	if !alike(vals) {
		return byCty(from, want)
	}
	if want.IsSetType() {
		return cty.SetVal(vals), nil
	}
	return cty.ListVal(vals), nil
}

func alike(vals []cty.Value) bool {
	for _, v := range vals[1:] {
		if !v.Type().Equals(vals[0].Type()) {
			return false
		}
	}
	return true
}

// fromObject makes a map.
func fromObject(in, want cty.Type) (conv, bool) {
	atys := in.AttributeTypes()
	ety := want.ElementType()
	if len(atys) == 0 {
		return func(cty.Value) (cty.Value, error) { return empty(want), nil }, true
	}
	names := make([]string, 0, len(atys))
	types := make([]cty.Type, 0, len(atys))
	for name, aty := range atys {
		names = append(names, name)
		types = append(types, aty)
	}
	ks := distinct(types)
	if ety == cty.DynamicPseudoType {
		if ety = Unify(ks.types); ety == cty.NilType {
			return nil, false
		}
	}
	fs, ok := conversions(ks.types, ety)
	if !ok {
		return nil, false
	}
	return func(v cty.Value) (cty.Value, error) {
		vals := make([]cty.Value, len(names))
		var wrong firstWrong
		for i, name := range names {
			var err error
			if vals[i], err = run(fs[ks.of[i]], v.GetAttr(name), ety); err != nil {
				wrong.add(name, err)
			}
		}
		if wrong.err != nil {
			return cty.NilVal, wrong.err
		}
		return collectMap(names, vals, v, want)
	}, true
}

// firstWrong is what is wrong with the first of some attributes by name, in whatever order they come.
type firstWrong struct {
	name string
	err  error
}

func (w *firstWrong) add(name string, err error) {
	if w.err == nil || name < w.name {
		w.name, w.err = name, inside(cty.GetAttrStep{Name: name}, err)
	}
}

func collectMap(names []string, vals []cty.Value, from cty.Value, want cty.Type) (cty.Value, error) {
	if !alike(vals) {
		return byCty(from, want)
	}
	m := make(map[string]cty.Value, len(vals))
	for i, name := range names {
		m[name] = vals[i]
	}
	return cty.MapVal(m), nil
}

// betweenSequences makes a list or set of a list or set.
func betweenSequences(in, want cty.Type) (conv, bool) {
	ety := want.ElementType()
	f, ok := conversion(in.ElementType(), ety)
	if !ok {
		return nil, false
	}
	if f == nil && in.IsSetType() == want.IsSetType() {
		return nil, true // any: it has its type already
	}
	return func(v cty.Value) (cty.Value, error) {
		if want.IsListType() && !ctyvalue.Sized(v) {
			return byCty(v, want)
		}
		vals := ctyvalue.Elements(v)
		if len(vals) == 0 {
			return emptyLike(want, v), nil
		}
		for i := range vals {
			var err error
			if vals[i], err = run(f, vals[i], ety); err != nil {
				if v.Type().IsListType() {
					err = insideIndex(i, err)
				}
				return cty.NilVal, err
			}
		}
		return collect(vals, v, want)
	}, true
}

// emptyLike is the empty collection of a type, with the element type of v where want leaves it open.
func emptyLike(want cty.Type, v cty.Value) cty.Value {
	if want.ElementType() != cty.DynamicPseudoType {
		return empty(want)
	}
	switch ety := v.Type().ElementType(); {
	case want.IsListType():
		return cty.ListValEmpty(ety)
	case want.IsSetType():
		return cty.SetValEmpty(ety)
	default:
		return cty.MapValEmpty(ety)
	}
}

func betweenMaps(in, want cty.Type) (conv, bool) {
	ety := want.ElementType()
	f, ok := conversion(in.ElementType(), ety)
	if !ok || f == nil {
		return nil, ok
	}
	return func(v cty.Value) (cty.Value, error) {
		if v.LengthInt() == 0 {
			return emptyLike(want, v), nil
		}
		names := make([]string, 0, v.LengthInt())
		vals := make([]cty.Value, 0, v.LengthInt())
		for k, e := range ctyvalue.Members(v) {
			e, err := run(f, e, ety)
			if err != nil {
				return cty.NilVal, err
			}
			names, vals = append(names, k), append(vals, e)
		}
		return collectMap(names, vals, v, want)
	}, true
}

func betweenTuples(in, want cty.Type) (conv, bool) {
	wants := want.TupleElementTypes()
	if in.Length() != len(wants) {
		return nil, false
	}
	fs := make([]conv, len(wants))
	for i := range fs {
		var ok bool
		if fs[i], ok = conversion(in.TupleElementType(i), wants[i]); !ok {
			return nil, false
		}
	}
	return func(v cty.Value) (cty.Value, error) {
		vals := ctyvalue.Elements(v)
		for i := range vals {
			var err error
			if vals[i], err = run(fs[i], vals[i], wants[i]); err != nil {
				return cty.NilVal, insideIndex(i, err)
			}
		}
		return cty.TupleVal(vals), nil
	}, true
}

// betweenObjects drops attributes that are not wanted and adds optional ones as nulls.
func betweenObjects(in, want cty.Type) (conv, bool) {
	wants := want.AttributeTypes()
	fs := make(map[string]conv, len(wants))
	for name, aty := range wants {
		if !in.HasAttribute(name) {
			if want.AttributeOptional(name) {
				continue
			}
			return nil, false
		}
		f, ok := conversion(in.AttributeType(name), aty)
		if !ok {
			return nil, false
		}
		fs[name] = f
	}
	return func(v cty.Value) (cty.Value, error) {
		attrs := make(map[string]cty.Value, len(wants))
		var wrong firstWrong
		for name, aty := range wants {
			if !in.HasAttribute(name) {
				attrs[name] = cty.NullVal(aty.WithoutOptionalAttributesDeep())
				continue
			}
			a, err := run(fs[name], v.GetAttr(name), aty)
			if err != nil {
				wrong.add(name, err)
				continue
			}
			attrs[name] = a
		}
		if wrong.err != nil {
			return cty.NilVal, wrong.err
		}
		return cty.ObjectVal(attrs), nil
	}, true
}

// mismatch says why there is no conversion. Of large types cty's search for the reason is too slow, and
// a type that leaves something open has a name of its own for people.
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

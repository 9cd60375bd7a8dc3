package ctyvalue

import (
	"math/big"
	"strconv"
	"unsafe"

	"github.com/zclconf/go-cty/cty"
)

// Text returns a string, or a number in decimal digits. It returns false for values of other types, null, unknown
// values and infinity. v must not be marked.
func Text(v cty.Value) (string, bool) {
	switch {
	case v.IsNull() || !v.IsKnown():
	case v.Type() == cty.String:
		return v.AsString(), true
	case v.Type() == cty.Number:
		f := Number(v)
		if i, acc := f.Int64(); acc == 0 {
			return strconv.FormatInt(i, 10), true
		}
		if !f.IsInf() {
			return f.Text('f', -1), true
		}
	}
	return "", false
}

// TextOf returns bytes as a string without a copy. The bytes must not change while the string is in use.
func TextOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// NumberText returns a finite number in decimal digits without an exponent, as Lethe's JSON documents have it.
func NumberText(f *big.Float) string {
	if f.IsInt() {
		if i, acc := f.Int64(); acc == big.Exact {
			return strconv.FormatInt(i, 10)
		}
	}
	return f.Text('f', -1)
}

// IsDict reports whether ty is the type of an object or a map, whose parts have names.
func IsDict(ty cty.Type) bool { return ty.IsObjectType() || ty.IsMapType() }

// IsSequence reports whether ty is the type of a list, a set or a tuple, whose parts have an order and no names.
func IsSequence(ty cty.Type) bool { return ty.IsListType() || ty.IsSetType() || ty.IsTupleType() }

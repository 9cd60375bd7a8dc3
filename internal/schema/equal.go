package schema

import (
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// equal reports whether two unmarked values are the same. Unknown values of the same type are equal even if their
// refinements differ, because SDKs that do not support refinements lose them.
func equal(a, b cty.Value) bool {
	ty := a.Type()
	switch {
	case !sameType(ty, b.Type()):
		return false
	case !known(a) || !known(b):
		return a.IsKnown() == b.IsKnown() && a.IsNull() == b.IsNull()
	case ctyvalue.Same(a, b):
		return true
	case ty.IsObjectType():
		for name := range ty.AttributeTypes() {
			av, _ := ctyvalue.Attribute(a, name)
			bv, _ := ctyvalue.Attribute(b, name)
			if !equal(av, bv) {
				return false
			}
		}
		return true
	case ty.IsPrimitiveType() || ty.IsCapsuleType():
		return a.RawEquals(b)
	}
	return equalElements(a, b)
}

// sameType reports whether two types are equal. If both are the same object type, as for all objects of a block, it is
// faster than Type.Equals.
func sameType(a, b cty.Type) bool {
	if a.IsObjectType() && b.IsObjectType() && ctyvalue.SameMap(a.AttributeTypes(), b.AttributeTypes()) {
		return true
	}
	return a.Equals(b)
}

// equalElements reports whether two collections have equal elements. It compares sets in the order of iteration, which
// is the same for equal sets.
func equalElements(a, b cty.Value) bool {
	if a.LengthInt() != b.LengthInt() {
		return false
	}
	if a.Type().IsMapType() {
		other := lookup(b)
		for k, av := range ctyvalue.Members(a) {
			if bv, ok := other(k); !ok || !equal(av, bv) {
				return false
			}
		}
		return true
	}
	others := elements(b)
	for i, av := range ctyvalue.Items(a) {
		if !equal(av, others[i]) {
			return false
		}
	}
	return true
}

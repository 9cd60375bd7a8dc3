package schema

import (
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// equal reports whether two unmarked values are the same. Unknown values of one type are, with different
// refinements too: an SDK that does not know refinements loses them on the way.
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

// sameType is Type.Equals, but for a look at whether it is one and the same object type: all
// objects of a block have that.
func sameType(a, b cty.Type) bool {
	if a.IsObjectType() && b.IsObjectType() && ctyvalue.SameMap(a.AttributeTypes(), b.AttributeTypes()) {
		return true
	}
	return a.Equals(b)
}

// equalElements compares the elements of collections; those of sets in the order of their content, which equal
// sets have in common.
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

package schema

import (
	"math/big"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// equal reports whether two unmarked values are the same. Unknown values of one type are, whatever
// is known about them: an SDK that does not know refinements loses them on the way.
func equal(a, b cty.Value) bool {
	ta, tb := a.Type(), b.Type()
	if !sameType(ta, tb) {
		return false
	}
	if ctyvalue.Direct {
		return equalRaw(ta, ctyvalue.Held(a), ctyvalue.Held(b))
	}
	return equalSlow(a, b)
}

// sameType is Type.Equals, but for a look at whether it is one and the same object type: all
// objects of a block have that.
func sameType(a, b cty.Type) bool {
	if a.IsObjectType() && b.IsObjectType() && ctyvalue.SameMap(a.AttributeTypes(), b.AttributeTypes()) {
		return true
	}
	return a.Equals(b)
}

// equalRaw compares what two values of one type hold.
func equalRaw(ty cty.Type, x, y any) bool {
	switch x := x.(type) {
	case nil:
		return y == nil
	case string:
		y, ok := y.(string)
		return ok && x == y
	case bool:
		y, ok := y.(bool)
		return ok && x == y
	case *big.Float:
		y, ok := y.(*big.Float)
		return ok && x.Cmp(y) == 0
	case []any:
		y, ok := y.([]any)
		return ok && equalRawList(ty, x, y)
	case map[string]any:
		y, ok := y.(map[string]any)
		return ok && (ctyvalue.SameMap(x, y) || equalRawMap(ty, x, y))
	}
	return equalSlow(ctyvalue.Make(ty, x), ctyvalue.Make(ty, y))
}

func equalRawList(ty cty.Type, x, y []any) bool {
	if len(x) != len(y) {
		return false
	}
	if len(x) == 0 || &x[0] == &y[0] {
		return true
	}
	tuple := ty.IsTupleType()
	var ety cty.Type
	if !tuple {
		ety = ty.ElementType()
	}
	for i := range x {
		if tuple {
			ety = ty.TupleElementType(i)
		}
		if !equalRaw(ety, x[i], y[i]) {
			return false
		}
	}
	return true
}

func equalRawMap(ty cty.Type, x, y map[string]any) bool {
	if len(x) != len(y) {
		return false
	}
	if ty.IsObjectType() {
		for name, aty := range ty.AttributeTypes() {
			if !equalRaw(aty, x[name], y[name]) {
				return false
			}
		}
		return true
	}
	ety := ty.ElementType()
	for k, xv := range x {
		if yv, ok := y[k]; !ok || !equalRaw(ety, xv, yv) {
			return false
		}
	}
	return true
}

// equalSlow compares values of one type through the front door.
func equalSlow(a, b cty.Value) bool {
	ty := a.Type()
	switch {
	case !a.IsKnown() || !b.IsKnown():
		return a.IsKnown() == b.IsKnown()
	case a.IsNull() || b.IsNull():
		return a.IsNull() == b.IsNull()
	case ty.IsObjectType():
		x, y := fieldsOf(a), fieldsOf(b)
		for name := range ty.AttributeTypes() {
			av, _ := x.get(name)
			bv, _ := y.get(name)
			if !equal(av, bv) {
				return false
			}
		}
		return true
	case ty.IsMapType():
		other := lookup(b)
		for k, av := range ctyvalue.Members(a) {
			if bv, ok := other(k); !ok || !equal(av, bv) {
				return false
			}
		}
		return a.LengthInt() == b.LengthInt()
	case ty.IsListType() || ty.IsSetType() || ty.IsTupleType():
		return equalElements(a, b)
	}
	return a.RawEquals(b)
}

// equalElements compares in order; that of sets is the order of their elements' content, so equal
// sets have it in common.
func equalElements(a, b cty.Value) bool {
	if a.LengthInt() != b.LengthInt() {
		return false
	}
	others := elements(b)
	for i, av := range ctyvalue.Items(a) {
		if !equal(av, others[i]) {
			return false
		}
	}
	return true
}

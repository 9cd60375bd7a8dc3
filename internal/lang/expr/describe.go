package expr

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// describe returns a short text for a known value that is neither null nor marked. For a collection or a tuple it has
// only the type and the number of elements, if this number is known. For an object it has the number of attributes, or
// the name of the only attribute. For a capsule it has the type.
func describe(v cty.Value) string {
	ty := v.Type()
	switch {
	case ty == cty.String:
		return strconv.Quote(shorten(v.AsString()))
	case ty == cty.Number:
		return v.AsBigFloat().Text('g', -1)
	case ty == cty.Bool:
		return strconv.FormatBool(v.True())
	case ty.IsObjectType():
		return describeObject(ty)
	case ty.IsTupleType() || ty.IsCollectionType():
		if l := v.Length(); !l.IsKnown() || l.IsMarked() {
			return ty.FriendlyName()
		}
		switch n := v.LengthInt(); n {
		case 0:
			return "empty " + ty.FriendlyName()
		case 1:
			return ty.FriendlyName() + " with 1 element"
		default:
			return fmt.Sprintf("%s with %d elements", ty.FriendlyName(), n)
		}
	}
	return ty.FriendlyName()
}

func describeObject(ty cty.Type) string {
	atys := ty.AttributeTypes()
	switch len(atys) {
	case 0:
		return "object with no attributes"
	case 1:
		for name := range atys {
			return fmt.Sprintf("object with 1 attribute %q", name)
		}
	}
	return fmt.Sprintf("object with %d attributes", len(atys))
}

// longest is the maximum number of bytes of a string that messages show.
const longest = 500

func shorten(s string) string {
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}

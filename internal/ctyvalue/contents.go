package ctyvalue

import (
	"math"
	"math/big"

	"github.com/zclconf/go-cty/cty"
)

// Contents counts the contents of values, up to limits. If each of ten locals contains the previous local ten times,
// the last value has ten billion elements, but is small in memory, because its parts are shared. So the walk through a
// value stops at a limit, and no other code may walk through a value before this walk has succeeded.
type Contents struct {
	Elements int   // number of elements, including nested elements and the values themselves
	Bytes    int64 // number of bytes of texts, keys and names of attributes
	Unknown  bool  // the value, or a part of it, is unknown
	Marked   bool  // the value, or a part of it, is marked (set by mark.Look)
	Refused  bool  // the value, or a part of it, is a number for which Number returned false

	MostElements int                   // the maximum of Elements
	MostBytes    int64                 // the maximum of Bytes
	Number       func(*big.Float) bool // reports whether a number is permitted; nil permits any number
}

// Within reports whether the walk has visited all elements: no limit was exceeded and no number refused.
func (c *Contents) Within() bool {
	return c.Elements <= c.MostElements && c.Bytes <= c.MostBytes && !c.Refused
}

// Add adds the contents of v to the counts. If a limit is exceeded or a number refused, Add stops and returns true, so
// a caller must call Within after it. Add returns false and leaves the counts unchanged if Direct is false, or if v is
// or contains a marked value, an unknown value with refinements or a capsule: it cannot read these. mark.Look counts
// the contents of any value.
func (c *Contents) Add(v cty.Value) bool {
	before := *c
	if Direct && c.add(heldBy(v)) {
		return true
	}
	*c = before
	return false
}

func (c *Contents) add(held any) bool {
	if c.Elements++; !c.Within() {
		return true
	}
	switch x := held.(type) {
	case nil, bool:
	case string:
		c.Bytes += int64(len(x))
	case *big.Float:
		c.Refused = c.Number != nil && !c.Number(x)
	case []any:
		for _, part := range x {
			if !c.add(part) {
				return false
			}
		}
	case map[string]any:
		for name, part := range x {
			if c.Bytes += int64(len(name)); !c.add(part) {
				return false
			}
		}
	default:
		if held == unknown {
			c.Unknown = true
			return true
		}
		in, set := buckets(held)
		for _, bucket := range in {
			for _, part := range bucket {
				if !c.add(part) {
					return false
				}
			}
		}
		return set // return whether the value is a set; any other type means marks, refinements of an unknown value, or a capsule
	}
	return true
}

// unknown is the internal value (see heldBy) of an unknown value without refinements. It is nil if the layout of values
// is not known.
var unknown = func() any {
	if layoutKnown() {
		return heldBy(cty.DynamicVal)
	}
	return nil
}()

// WhollyKnown reports whether v, which may be marked, and all values in it are known. The result is equal to
// v.IsWhollyKnown(), but the call rarely allocates memory for unmarked values.
func WhollyKnown(v cty.Value) bool {
	c := Contents{MostElements: math.MaxInt, MostBytes: math.MaxInt64}
	if c.Add(v) {
		return !c.Unknown
	}
	return v.IsWhollyKnown()
}

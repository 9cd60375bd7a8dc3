package ctyvalue

import (
	"math"
	"math/big"

	"github.com/zclconf/go-cty/cty"
)

// Contents is what a walk through a value finds. Ten locals that each name the one before ten times make a value that
// is small in memory, where its parts are shared, and a walk through it meets ten billion elements. So the walk stops
// at a limit, and nothing else is to walk through a value that it has not been through.
type Contents struct {
	Elements int   // nested ones and the value itself included
	Bytes    int64 // of texts, keys and names of attributes
	Unknown  bool  // it, or something in it, is not known
	Marked   bool  // it, or something in it, is marked (mark.Look)
	Refused  bool  // there is a number in it that Number refuses

	MostElements int // beyond these the walk stops
	MostBytes    int64
	Number       func(*big.Float) bool // nil: any number will do
}

// Within reports whether the walk has been through all.
func (c *Contents) Within() bool {
	return c.Elements <= c.MostElements && c.Bytes <= c.MostBytes && !c.Refused
}

// Add goes through a value. It is false, and finds nothing, where something in it is marked or known in part, and unless
// Direct: mark.Look goes through any value.
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
		return set // else marks, a refined unknown value, or something opaque
	}
	return true
}

// unknown is what an unknown value holds that nothing more is known of.
var unknown = func() any {
	if layoutKnown() {
		return heldBy(cty.DynamicVal)
	}
	return nil
}()

// WhollyKnown is v.IsWhollyKnown(), for values that hold no marks mostly without allocating.
func WhollyKnown(v cty.Value) bool {
	c := Contents{MostElements: math.MaxInt, MostBytes: math.MaxInt64}
	if c.Add(v) {
		return !c.Unknown
	}
	return v.IsWhollyKnown()
}

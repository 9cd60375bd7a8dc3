package expr

import (
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// Some elements count as several: they take more memory.
const (
	MarkedWeight = 4   // sensitive or ephemeral ones
	TextPart     = 128 // bytes of a text that count as an element of their own
)

// LongText is a text that counts, "" for all other values.
func LongText(v cty.Value) string {
	if v == cty.NilVal || v.IsMarked() || v.Type() != cty.String || !v.IsKnown() || v.IsNull() {
		return ""
	}
	if s := v.AsString(); len(s) >= TextPart {
		return s
	}
	return ""
}

// What a function does with each element, or every 16 bytes of text, that it is given.
const (
	costNone    = 0  // it goes straight to what it wants
	costLook    = 1  // it looks at it
	costCopy    = 3  // it hands it on
	costMake    = 8  // it makes something of it, or compares it with others
	costCompare = 16 // it compares it with what may be unknown or marked, beyond making something of it
	costSort    = 12 // it sorts them
	costBuild   = 32 // it puts it into a map, or writes it down
	costMatch   = 64 // it runs a regular expression over it

	WorkPart = 16 // bytes of text that count as an element
)

// toils are those of functions that do not make something of all that they are given.
var costs = map[string]int{
	"lookup": costNone, "element": costNone, "one": costNone, "coalesce": costNone, "slice": costNone,
	"tostring": costNone, "tonumber": costNone, "tobool": costNone, "sensitive": costNone,
	"length": costLook, "contains": costLook, "index": costLook, "sum": costLook, "min": costLook, "max": costLook, "alltrue": costLook, "anytrue": costLook,
	"values": costCopy, "concat": costCopy, "reverse": costCopy, "join": costCopy,
	"keys": costSort, "merge": costBuild, "jsonencode": costBuild, "yamlencode": costBuild,
	"strcontains": costLook, "startswith": costLook, "endswith": costLook,
	"regex": costMatch, "regexall": costMatch, "replace": costMatch,
}

// costPerElement is that of a function.
func costPerElement(name string) int {
	if t, ok := costs[strings.TrimPrefix(name, "core::")]; ok {
		return t
	}
	return costMake
}

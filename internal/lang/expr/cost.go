package expr

import "strings"

// What a function does with each element, or every 16 bytes of text, that it is given.
const (
	costNone  = 0  // it goes straight to what it wants
	costLook  = 1  // it looks at it
	costMake  = 8  // it makes something of it, or compares it with others
	costBuild = 32 // it sorts it into others, writes it down, or runs a regular expression over it
)

// costs are those of functions that do not make something of all that they are given.
var costs = map[string]int{
	"lookup": costNone, "element": costNone, "one": costNone, "coalesce": costNone, "slice": costNone, "length": costNone,
	"tostring": costNone, "tonumber": costNone, "tobool": costNone, "sensitive": costNone,
	"contains": costLook, "index": costLook, "sum": costLook, "min": costLook, "max": costLook, "alltrue": costLook, "anytrue": costLook,
	"keys": costBuild, "merge": costBuild, "jsonencode": costBuild, "yamlencode": costBuild, "regex": costBuild, "regexall": costBuild, "replace": costBuild,
	"strcontains": costLook, "startswith": costLook, "endswith": costLook,
}

// costPerElement is that of a function.
func costPerElement(name string) int {
	if t, ok := costs[strings.TrimPrefix(name, "core::")]; ok {
		return t
	}
	return costMake
}

package state

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
)

// Difference is an object that two states have otherwise, or only one of them.
type Difference struct {
	Object        addr.Object
	Before, After *Entry // nil: there is none
}

// Differences gives the objects that a file would have to record another way in b than in a, as Equal has it, in
// order.
func Differences(a, b *Snapshot) []Difference {
	c := comparison{a: a.orEmpty(), b: b.orEmpty()}
	var out []Difference
	for o, x := range c.a.Objects() {
		if y := c.b.Get(o); !c.entries(o.Abs(), x, y) {
			out = append(out, Difference{o, x, y})
		}
	}
	for o, y := range c.b.Objects() {
		if c.a.Get(o) == nil {
			out = append(out, Difference{o, nil, y})
		}
	}
	slices.SortFunc(out, func(x, y Difference) int { return x.Object.Compare(y.Object) })
	return out
}

// OutputDifferences names the outputs that two states have otherwise, sorted.
func OutputDifferences(a, b *Snapshot) []string {
	x, y := a.orEmpty().Outputs, b.orEmpty().Outputs
	names := map[string]bool{}
	for name, o := range x {
		if other, ok := y[name]; !ok || !sameOutput(o, other) {
			names[name] = true
		}
	}
	for name := range y {
		if _, ok := x[name]; !ok {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

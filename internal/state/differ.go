package state

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
)

// Difference is an object that differs between two states, or that only one of them has.
type Difference struct {
	Object        addr.Object
	Before, After *Entry // nil if that state does not have the object
}

// Differences returns, in order, the objects that differ between two states. It ignores white space in attributes, the
// order of sensitive paths, and whether dependencies are direct or transitive.
func Differences(a, b *Snapshot) []Difference {
	if a == b {
		return nil
	}
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

// OutputDifferences returns the names of the outputs that differ between two states, sorted.
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

// CheckDifferences returns the check results that differ between two states. changed has the results in b. removed has
// the results that only a has, reduced to kind and address.
func CheckDifferences(a, b *Snapshot) (changed, removed []Check) {
	find := func(list []Check, c Check) int {
		return slices.IndexFunc(list, func(d Check) bool { return d.Kind == c.Kind && d.Addr == c.Addr })
	}
	x, y := a.orEmpty().Checks, b.orEmpty().Checks
	if sameChecks(x, y) {
		return nil, nil
	}
	for _, c := range y {
		if i := find(x, c); i < 0 || !sameChecks(x[i:i+1], []Check{c}) {
			changed = append(changed, c)
		}
	}
	for _, c := range x {
		if find(y, c) < 0 {
			removed = append(removed, Check{Kind: c.Kind, Addr: c.Addr})
		}
	}
	return changed, removed
}

// PutCheck stores the check results of a declaration, and replaces earlier results of the same declaration.
func (e *Edit) PutCheck(c Check) {
	e.DropCheck(c)
	e.next.Checks = append(e.next.Checks, c)
	slices.SortStableFunc(e.next.Checks, compareChecks)
}

// DropCheck removes the check results of the declaration with the kind and the address of c.
func (e *Edit) DropCheck(c Check) {
	e.next.Checks = slices.DeleteFunc(slices.Clone(e.next.Checks), func(d Check) bool { return d.Kind == c.Kind && d.Addr == c.Addr })
}

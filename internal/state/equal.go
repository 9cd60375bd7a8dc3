package state

import (
	"bytes"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Equal reports whether two snapshots have the same content. It ignores serial and version, white space in attributes,
// the order of sensitive paths, and whether dependencies are listed directly or transitively.
func Equal(a, b *Snapshot) bool {
	if a == b {
		return true
	}
	x, y := a.orEmpty(), b.orEmpty()
	c := comparison{a: x, b: y}
	return x.Lineage == y.Lineage && x.count == y.count && len(x.resources) == len(y.resources) &&
		maps.EqualFunc(x.Outputs, y.Outputs, sameOutput) && sameChecks(x.Checks, y.Checks) &&
		jsontext.Same(x.Extra, y.Extra) && c.resources()
}

// Next returns the snapshot to write after the snapshot prev, and true. It has the content of the snapshot next, except
// the list of objects that -allow-destroy destroyed, which it omits. Its lineage is the lineage of prev, or else the
// lineage of next, or else a new lineage. Its serial is the serial of prev plus 1, or 1 for a first write. version is
// the version of the program that writes it. prev and next may be nil. If the content has not changed, Next returns
// prev and false.
func Next(prev, next *Snapshot, version string) (*Snapshot, bool) {
	if next == nil {
		next = &Snapshot{}
	}
	before := prev.orEmpty()
	e := next.Edit()
	head := e.Head()
	if before.Lineage != "" {
		head.Lineage = before.Lineage
	}
	if Equal(prev, head) {
		return prev, false
	}
	if head.Lineage == "" {
		head.Lineage = NewLineage()
	}
	head.Serial = before.Serial + 1
	head.Version = version
	return e.Done().WithOverridden(nil), true
}

// Rewritten returns a copy of s with the next serial, and with version as the program that writes it, for writing an
// unchanged state again.
func Rewritten(s *Snapshot, version string) *Snapshot {
	e := s.Edit()
	head := e.Head()
	head.Serial++
	head.Version = version
	return e.Done()
}

// NewLineage makes a lineage: a random UUID.
func NewLineage() string { return uuid.NewString() }

func (s *Snapshot) orEmpty() *Snapshot {
	if s == nil {
		return &Snapshot{}
	}
	return s
}

func sameOutput(a, b Output) bool {
	if a.Sensitive != b.Sensitive || a.Deprecated != b.Deprecated {
		return false
	}
	x, y := a.Value.Raw, b.Value.Raw
	return x == cty.NilVal && y == cty.NilVal || x != cty.NilVal && y != cty.NilVal && x.RawEquals(y)
}

func sameChecks(a, b []Check) bool {
	sorted := func(list []Check) []Check {
		list = slices.Clone(list)
		slices.SortStableFunc(list, compareChecks)
		return list
	}
	return len(a) == len(b) && slices.EqualFunc(sorted(a), sorted(b), func(a, b Check) bool {
		return a.Kind == b.Kind && a.Addr == b.Addr && a.Status == b.Status && (a.Objects == nil) == (b.Objects == nil) &&
			slices.EqualFunc(a.Objects, b.Objects, func(a, b CheckedObject) bool {
				return a.Addr == b.Addr && a.Status == b.Status && slices.Equal(a.Failures, b.Failures)
			})
	})
}

// comparison compares the objects of two snapshots. It belongs to one call of Equal, Differences or SameObject.
type comparison struct {
	a, b   *Snapshot
	ca, cb *Closure // the transitive dependencies in both snapshots; computed when two lists differ for the first time
}

func (c *comparison) resources() bool {
	for at, x := range c.a.resources {
		y := c.b.resources[at]
		if x == y {
			continue
		}
		if y == nil || x.Len() != y.Len() || !jsontext.Same(x.Extra, y.Extra) {
			return false
		}
		for s, e := range x.each {
			if !c.entries(at, e, y.at(s)) {
				return false
			}
		}
	}
	return true
}

func (c *comparison) entries(at addr.AbsResource, x, y *Entry) bool {
	if x == y {
		return true
	}
	return y != nil && x.Schema == y.Schema && x.Provider == y.Provider && x.IdentitySchema == y.IdentitySchema &&
		x.CreateFirst == y.CreateFirst && x.SkipDestroy == y.SkipDestroy && x.Protected == y.Protected && x.Tainted == y.Tainted && x.Complete == y.Complete &&
		bytes.Equal(x.Private, y.Private) && maps.Equal(x.Flatmap, y.Flatmap) && mark.SamePaths(x.Sensitive, y.Sensitive) &&
		c.recorded(at, x.Recorded, y.Recorded) &&
		jsontext.Same(x.Attrs, y.Attrs) && jsontext.Same(x.Identity, y.Identity) && jsontext.Same(x.Extra, y.Extra)
}

// SameObject reports whether two entries describe the same object of a provider. It ignores the fields that come from a
// configuration: the provider configuration, dependencies and lifecycle settings.
func SameObject(x, y *Entry) bool {
	a := *x
	a.Provider, a.Recorded, a.CreateFirst, a.SkipDestroy, a.Protected = y.Provider, y.Recorded, y.CreateFirst, y.SkipDestroy, y.Protected
	return (&comparison{}).entries(addr.AbsResource{}, &a, y)
}

func (c *comparison) recorded(at addr.AbsResource, x, y []addr.Resource) bool {
	if same(x, y) || slices.Equal(x, y) {
		return true
	}
	if c.ca == nil {
		c.ca, c.cb = c.a.Closure(), c.b.Closure()
	}
	self := at.Resource()
	return slices.Equal(c.ca.Of(self, x), c.cb.Of(self, y))
}

package expr

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// mostDifferences is the maximum length of the list of differences between two values.
const mostDifferences = 10

// differences returns the differences between a, a collection or an object, and b. name is the name of a in the result.
// Marked and unknown parts of either value are omitted. The result is nil if a or b has no parts.
func differences(a, b cty.Value, name string) []diag.Value {
	var c comparison
	if kindOf(a) == single || kindOf(b) == single {
		return nil
	}
	c.compare(a, b, name)
	if len(c.out) == 0 && !a.Type().Equals(b.Type()) {
		c.add(name, "is of another type than the other side, and so not equal to it")
	}
	if more := len(c.out) - mostDifferences; more > 0 {
		c.out = append(c.out[:mostDifferences:mostDifferences], diag.Value{Traversal: name, Statement: fmt.Sprintf("differs in %d more places", more)})
	}
	return c.out
}

type comparison struct{ out []diag.Value }

func (c *comparison) add(name, statement string) {
	c.out = append(c.out, diag.Value{Traversal: name, Statement: statement})
}

// kind is the way in which a value is split into parts.
type kind uint8

const (
	single   kind = iota // the value has no parts: it is primitive, null, unknown or marked
	keyed                // the parts have keys: a map or an object
	numbered             // the parts have indexes: a list or a tuple
	unsorted             // the value is a set
)

func kindOf(v cty.Value) kind {
	ty := v.Type()
	switch {
	case concealed(v) || v.IsNull():
		return single
	case ty.IsObjectType() || ty.IsMapType():
		return keyed
	case ty.IsTupleType() || ty.IsListType():
		return numbered
	case ty.IsSetType():
		return unsorted
	}
	return single
}

// concealed reports whether a value is itself sensitive, ephemeral or unknown, so that it cannot be shown.
func concealed(v cty.Value) bool {
	return mark.Is(v, mark.Sensitive) || mark.Is(v, mark.Ephemeral) || !v.IsKnown()
}

func (c *comparison) compare(a, b cty.Value, name string) {
	if concealed(a) || concealed(b) {
		return
	}
	k := kindOf(a)
	if k == single || k != kindOf(b) {
		if !(a.IsNull() && b.IsNull()) && !a.RawEquals(b) {
			c.add(name, "is "+brief(a)+", not "+brief(b))
		}
		return
	}
	if a.Type().IsCollectionType() != b.Type().IsCollectionType() {
		c.add(name, fmt.Sprintf("is %s, not %s: values of different types are never equal", a.Type().FriendlyName(), b.Type().FriendlyName()))
	}
	switch k {
	case keyed:
		c.keys(a, b, name)
	case numbered:
		c.numbers(a.AsValueSlice(), b.AsValueSlice(), name)
	default:
		c.elements(a, b, name)
	}
}

func (c *comparison) keys(a, b cty.Value, name string) {
	left, right := a.AsValueMap(), b.AsValueMap()
	keys := slices.AppendSeq(slices.Collect(maps.Keys(left)), maps.Keys(right))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		at := name + "[" + strconv.Quote(key) + "]"
		if a.Type().IsObjectType() {
			at = name + "." + key
		}
		c.maybe(left[key], right[key], at)
	}
}

func (c *comparison) numbers(left, right []cty.Value, name string) {
	for i := range max(len(left), len(right)) {
		var l, r cty.Value
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		c.maybe(l, r, fmt.Sprintf("%s[%d]", name, i))
	}
}

// maybe compares two parts of values. NilVal means that the part is missing; at most one of the two may be missing. If
// one part is missing and the other is concealed, maybe adds nothing.
func (c *comparison) maybe(a, b cty.Value, name string) {
	switch {
	case a == cty.NilVal && !concealed(b):
		c.add(name, "is missing; the other side has "+brief(b))
	case b == cty.NilVal && !concealed(a):
		c.add(name, "is "+brief(a)+"; the other side has none")
	case a != cty.NilVal && b != cty.NilVal:
		c.compare(a, b, name)
	}
}

func (c *comparison) elements(a, b cty.Value, name string) {
	for _, v := range a.AsValueSlice() {
		if has := b.HasElement(v); has.IsKnown() && has.False() {
			c.add(name, "has "+brief(v)+"; the other side has not")
		}
	}
	for _, v := range b.AsValueSlice() {
		if has := a.HasElement(v); has.IsKnown() && has.False() {
			c.add(name, "has no "+brief(v)+"; the other side has")
		}
	}
}

// brief returns a short text for a known value, which may be null.
func brief(v cty.Value) string {
	if v.IsNull() {
		return "null"
	}
	return describe(v)
}

package schema

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// An applied object must equal the planned object in all parts that were known in the plan. The same rule decides
// whether a second plan, which is made when more values are known, still matches the approved plan. The rules, their
// order and their messages are equal to the rules of Terraform 1.11. There is one exception: Lethe also compares the
// keys of maps of blocks.

// ApplyBreaches returns the differences between a planned object and the applied object (actual) that the protocol does
// not permit. Both have the block's type. An unknown planned value permits any value. A set may have fewer elements
// than planned if some planned elements turned out to be equal.
func (b *Block) ApplyBreaches(planned, actual cty.Value) []Breach {
	var c applyCheck
	switch {
	case planned.IsNull() && !actual.IsNull():
		c.add("Root object was absent, but now present")
	case !planned.IsNull() && actual.IsNull():
		c.add("Root object was present, but now absent")
	default:
		c.object(b.shape(), planned, actual)
	}
	return c.found
}

type applyCheck struct{ breaches }

// object compares the whole object, or the value of one block.
func (c *applyCheck) object(s *shape, planned, actual cty.Value) {
	switch {
	case planned.IsNull() && !actual.IsNull():
		c.add("was absent, but now present")
		return
	case !planned.IsNull() && actual.IsNull():
		c.add("was present, but now absent")
		return
	case !known(planned) || equal(planned, actual):
		return
	}
	for _, n := range s.nodes {
		c.here.attr(n)
		if n.attr != nil {
			c.attr(n, n.in(planned), n.in(actual))
		} else {
			c.blocks(n, n.in(planned), n.in(actual))
		}
		c.here.up()
	}
}

// attr compares an attribute. For a sensitive attribute, the result does not tell which part of the value differs.
func (c *applyCheck) attr(n *node, planned, actual cty.Value) {
	if !n.sensitive {
		c.value(planned, actual)
		return
	}
	var own applyCheck
	if own.value(planned, actual); len(own.found) > 0 {
		c.add("inconsistent values for sensitive attribute")
	}
}

// blocks compares all blocks of a type, and records the differences that are not permitted.
func (c *applyCheck) blocks(n *node, planned, actual cty.Value) {
	switch {
	case n.nesting == Single && actual.IsNull() && n.inner.mayBeUnsure(planned): // a dynamic block, whose value was not certain in the plan, may generate no block
		return
	case n.nesting == Single || n.nesting == Group:
		c.object(n.inner, planned, actual)
		return
	case !known(planned) || !known(actual) || equal(planned, actual):
		return
	}
	was, is := planned.LengthInt(), actual.LengthInt()
	switch {
	case n.nesting == Set:
		c.sets(planned, actual, n.inner.exact, n.sensitive, func(p, a cty.Value) bool {
			var own applyCheck
			own.object(n.inner, p, a)
			return len(own.found) == 0
		})
		if was < is {
			c.add("block set length changed from %d to %d", was, is)
		}
	case was != is:
		c.add("block count changed from %d to %d", was, is)
	case n.nesting == List:
		now := elements(actual)
		for i, pv := range ctyvalue.Items(planned) {
			c.here.index(i)
			c.object(n.inner, pv, now[i])
			c.here.up()
		}
	default:
		now := lookup(actual)
		for k, pv := range ctyvalue.Members(planned) {
			c.here.key(k)
			if av, ok := now(k); ok {
				c.object(n.inner, pv, av)
			} else {
				c.report(false, "a block key has vanished", func() string { return fmt.Sprintf("block key %q has vanished", k) })
			}
			c.here.up()
		}
	}
}

// value compares values of any type, and records a difference that is not permitted.
func (c *applyCheck) value(planned, actual cty.Value) {
	ty := planned.Type()
	switch {
	case equal(planned, actual) || ty == cty.DynamicPseudoType:
	case !ty.Equals(actual.Type()) && actual.Type().TestConformance(ty) != nil:
		c.report(false, "wrong final value type", func() string { return "wrong final value type: " + convert.MismatchMessage(actual.Type(), ty) })
	case !planned.IsKnown() || planned.IsNull() && actual.IsNull():
	case planned.IsNull():
		c.report(false, "was null, but now is not", func() string { return "was null, but now " + GoString(actual) })
	case actual.IsNull():
		c.report(false, "was not null, but now is", func() string { return "was " + GoString(planned) + ", but now null" })
	case ty.IsPrimitiveType():
		c.report(false, "the value has changed", func() string {
			return "was " + GoString(planned) + ", but now " + GoString(actual)
		})
	case ty.IsListType() || ty.IsTupleType():
		c.list(planned, actual)
	case ty.IsMapType():
		c.mapping(planned, actual)
	case ty.IsObjectType():
		for name, pv := range ctyvalue.Members(planned) {
			if av, ok := ctyvalue.Attribute(actual, name); ok {
				c.here.step(cty.GetAttrStep{Name: name})
				c.value(pv, av)
				c.here.up()
			}
		}
	case ty.IsSetType():
		c.set(planned, actual)
	}
}

func (c *applyCheck) list(planned, actual cty.Value) {
	now := elements(actual)
	was := planned.LengthInt()
	for i, pv := range ctyvalue.Items(planned) {
		if i >= len(now) {
			c.add("element %d has vanished", i)
			continue
		}
		c.here.index(i)
		c.value(pv, now[i])
		c.here.up()
	}
	for i := was; i < len(now); i++ {
		c.add("new element %d has appeared", i)
	}
}

func (c *applyCheck) mapping(planned, actual cty.Value) {
	was, now := lookup(planned), lookup(actual)
	for k, pv := range ctyvalue.Members(planned) {
		if av, ok := now(k); ok {
			c.here.key(k)
			c.value(pv, av)
			c.here.up()
		} else {
			c.report(false, "an element has vanished", func() string { return fmt.Sprintf("element %q has vanished", k) })
		}
	}
	for k := range ctyvalue.Members(actual) {
		if _, ok := was(k); !ok {
			c.report(false, "a new element has appeared", func() string { return fmt.Sprintf("new element %q has appeared", k) })
		}
	}
}

func (c *applyCheck) set(planned, actual cty.Value) {
	c.sets(planned, actual, attrNames(planned.Type().ElementType()), false, func(p, a cty.Value) bool {
		var own applyCheck
		own.value(p, a)
		return len(own.found) == 0
	})
	if was, is := planned.LengthInt(), actual.LengthInt(); was < is {
		c.add("length changed from %d to %d", was, is)
	}
}

// attrNames returns the attribute names of an object type, and nil for other types.
func attrNames(ty cty.Type) []string {
	if !ty.IsObjectType() {
		return nil
	}
	return sortedKeys(ty.AttributeTypes())
}

// sets compares two sets. Each element must match at least one element of the other set. The attributes in exact must
// be equal if they are known; fits compares the rest. If a planned element has no match, surplus actual elements are
// not reported, because they are probably the elements that the provider made instead. hide is true if the texts must
// not contain values.
func (c *applyCheck) sets(planned, actual cty.Value, exact []string, hide bool, fits func(p, a cty.Value) bool) {
	now := elements(actual)
	index, matched, missing := newIndex(now, exact), make([]bool, len(now)), false
	for _, pv := range ctyvalue.Items(planned) {
		found := false
		for _, i := range index.candidates(pv) {
			if fits(pv, now[i]) {
				found, matched[i] = true, true
			}
		}
		if !found {
			missing = true
			c.report(hide, "a planned set element does not correlate with any element in actual", func() string {
				return "planned set element " + GoString(pv) + " does not correlate with any element in actual"
			})
		}
	}
	for i, av := range now {
		if !missing && !matched[i] {
			c.report(hide, "an actual set element does not correlate with any element in plan", func() string {
				return "actual set element " + GoString(av) + " does not correlate with any element in plan"
			})
		}
	}
}

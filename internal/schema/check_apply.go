package schema

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// What an apply gave must be what was planned, wherever that was known. It is the same rule that
// says whether a second plan, made with more knowledge, still is the plan that was approved.
// Rules, order and words are Terraform's (1.11, as observed), except that keys of maps of blocks
// are compared.

// ApplyBreaches checks an object against what was planned, both of the block's type. Unknown
// values in the plan may have become anything. Sets may have become smaller where elements turned
// out to be equal.
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

// object compares the whole, or one block.
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

// attr compares an attribute; of sensitive ones no part may show.
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

// blocks compares all blocks of a type.
func (c *applyCheck) blocks(n *node, planned, actual cty.Value) {
	switch {
	case n.nesting == Single && actual.IsNull() && n.inner.mayBeUnsure(planned): // of a dynamic block that makes no block
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
				c.add("block key %q has vanished", k)
			}
			c.here.up()
		}
	}
}

// value compares values of any type.
func (c *applyCheck) value(planned, actual cty.Value) {
	ty := planned.Type()
	switch {
	case equal(planned, actual) || ty == cty.DynamicPseudoType:
	case !ty.Equals(actual.Type()) && actual.Type().TestConformance(ty) != nil:
		c.add("wrong final value type: %s", convert.MismatchMessage(actual.Type(), ty))
	case !planned.IsKnown() || planned.IsNull() && actual.IsNull():
	case planned.IsNull():
		c.tell(false, "was null, but now is not", func() string { return "was null, but now " + GoString(actual) })
	case actual.IsNull():
		c.tell(false, "was not null, but now is", func() string { return "was " + GoString(planned) + ", but now null" })
	case ty.IsPrimitiveType():
		c.tell(false, "the value has changed", func() string {
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
			c.tell(false, "an element has vanished", func() string { return fmt.Sprintf("element %q has vanished", k) })
		}
	}
	for k := range ctyvalue.Members(actual) {
		if _, ok := was(k); !ok {
			c.tell(false, "a new element has appeared", func() string { return fmt.Sprintf("new element %q has appeared", k) })
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

// attrNames are the attributes of an object type; nil for other types.
func attrNames(ty cty.Type) []string {
	if !ty.IsObjectType() {
		return nil
	}
	return sortedKeys(ty.AttributeTypes())
}

// sets compares elements with the help of fits: each on one side must fit one of the other. What
// came instead of a missing element is not reported again as a surplus one. Attributes in exact,
// if known, fit only if they are equal.
func (c *applyCheck) sets(planned, actual cty.Value, exact []string, hide bool, fits func(p, a cty.Value) bool) {
	now := elements(actual)
	index, met, missing := newIndex(now, exact), make([]bool, len(now)), false
	for _, pv := range ctyvalue.Items(planned) {
		found := false
		for _, i := range index.candidates(pv) {
			if fits(pv, now[i]) {
				found, met[i] = true, true
			}
		}
		if !found {
			missing = true
			c.tell(hide, "a planned set element does not correlate with any element in actual", func() string {
				return "planned set element " + GoString(pv) + " does not correlate with any element in actual"
			})
		}
	}
	for i, av := range now {
		if !missing && !met[i] {
			c.tell(hide, "an actual set element does not correlate with any element in plan", func() string {
				return "actual set element " + GoString(av) + " does not correlate with any element in plan"
			})
		}
	}
}

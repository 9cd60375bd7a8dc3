package schema

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// A planned value must be the configured value. There are two exceptions: the provider may choose a value if the
// attribute is computed and not configured, and it may keep the prior value if that has the same meaning. The rules,
// their order and their messages are equal to the rules of Terraform 1.11 (testdata has the observations). There is one
// difference: if a planned map of blocks lacks a key, Lethe reports that and Terraform does not.

const (
	textAbsent       = "planned for absence but config wants existence"
	textPresent      = "planned for existence but config wants absence"
	textUnknown      = "planned unknown for configured value"
	textBlockUnknown = "attribute representing nested block must not be unknown itself; set nested attribute values to unknown instead"
	textElemUnknown  = "element representing nested block must not be unknown itself; set nested attribute values to unknown instead"
)

// PlanBreaches returns the violations of the rules for planned values in a planned object, given the prior object and
// the configuration. All three have the block's type. prior is null if the object will be created.
func (b *Block) PlanBreaches(prior, config, planned cty.Value) []Breach {
	var c planCheck
	c.object(b.shape(), prior, config, planned)
	return c.found
}

type planCheck struct{ breaches }

// object checks the whole object, or the value of one block.
func (c *planCheck) object(s *shape, prior, config, planned cty.Value) {
	switch {
	case planned.IsNull() && !config.IsNull():
		c.add(textAbsent)
	case !planned.IsNull() && config.IsNull():
		c.add(textPresent)
	case !planned.IsNull():
		c.inside(s, prior, config, planned)
	}
}

// inside checks all attributes and blocks of an object.
func (c *planCheck) inside(s *shape, prior, config, planned cty.Value) {
	for _, n := range s.nodes {
		c.here.attr(n)
		if n.attr != nil {
			c.attr(n, n.in(prior), n.in(config), n.in(planned))
		} else {
			c.blocks(n, n.in(prior), n.in(config), n.in(planned))
		}
		c.here.up()
	}
}

func (c *planCheck) attr(n *node, prior, config, planned cty.Value) {
	switch {
	case equal(planned, config):
	case n.attr.Computed && (config.IsNull() || !n.attr.Optional): // only the provider sets the value of this attribute
	case !prior.IsNull() && !config.IsNull() && equal(planned, prior):
	case n.inner != nil && (planned.IsKnown() || !config.IsNull()):
		c.nested(n, prior, config, planned)
	case config.IsNull():
		c.report(n.sensitive, "sensitive planned value for a non-computed attribute", func() string {
			return "planned value " + GoString(planned) + " for a non-computed attribute"
		})
	case prior.IsNull():
		c.report(n.sensitive, "sensitive planned value does not match config value", func() string {
			return "planned value " + GoString(planned) + " does not match config value " + GoString(config)
		})
	default:
		c.report(n.sensitive, "sensitive planned value does not match config value nor prior value", func() string {
			return "planned value " + GoString(planned) + " does not match config value " + GoString(config) +
				" nor prior value " + GoString(prior)
		})
	}
}

// nested checks a nested attribute whose planned value equals neither the configured nor the prior value.
func (c *planCheck) nested(n *node, prior, config, planned cty.Value) {
	switch {
	case planned.IsNull() && !config.IsNull():
		c.add(textAbsent)
		return
	case !planned.IsNull() && config.IsNull():
		c.add(textPresent)
		return
	case planned.IsNull() || !config.IsKnown():
		return
	case !planned.IsKnown():
		c.add(textUnknown)
		return
	case n.nesting == Single:
		c.inside(n.inner, prior, config, planned)
		return
	}
	has, wants := planned.Length(), config.Length()
	if has.IsKnown() && wants.IsKnown() && !equal(has, wants) {
		c.add("count in plan (%#v) disagrees with count in config (%#v)", has, wants)
		return
	}
	switch n.nesting {
	case List:
		c.list(n, prior, config, planned)
	case Map:
		c.mapping(n, prior, config, planned)
	}
}

// list checks the elements of the planned list, each with the prior and the configured element at the same index.
// planned and config must have the same length. An element beyond the end of prior has no prior value.
func (c *planCheck) list(n *node, prior, config, planned cty.Value) {
	was, want := elements(prior), elements(config)
	for i, nv := range ctyvalue.Items(planned) {
		c.here.index(i)
		pv := cty.NullVal(nv.Type())
		if i < len(was) {
			pv = was[i]
		}
		switch {
		case n.attr != nil:
			c.inside(n.inner, pv, want[i], nv)
		case !nv.IsKnown():
			c.add(textElemUnknown)
		default:
			c.object(n.inner, pv, want[i], nv)
		}
		c.here.up()
	}
}

// blocks checks all blocks of a type.
func (c *planCheck) blocks(n *node, prior, config, planned cty.Value) {
	switch {
	case n.nesting == Single || n.nesting == Group:
		if !planned.IsKnown() {
			c.add(textBlockUnknown)
			return
		}
		c.object(n.inner, prior, config, planned)
	case planned.IsNull():
		c.add("attribute representing a %s of nested blocks must be empty to indicate no blocks, not null", n.nesting)
	case !planned.IsKnown():
		if config.IsKnown() {
			c.add(textBlockUnknown)
		}
	case n.nesting == Set:
		// The contents of the elements are not compared, because a provider with an old SDK may set other defaults in them.
		for _, nv := range ctyvalue.Items(planned) {
			if !nv.IsKnown() {
				c.here.elem(nv)
				c.add(textElemUnknown)
				c.here.up()
			}
		}
	case known(config) && !equal(planned, config):
		if has, wants := planned.LengthInt(), config.LengthInt(); has != wants {
			c.add("block count in plan (%d) disagrees with count in config (%d)", has, wants)
			return
		}
		if n.nesting == List {
			c.list(n, prior, config, planned)
		} else {
			c.mapping(n, prior, config, planned)
		}
	}
}

// mapping compares planned, prior and configured maps by key. If a planned map has a key that is not configured, the
// path of the violation is, as in Terraform, the path of the map for a nested attribute, and the path of the block for
// blocks.
func (c *planCheck) mapping(n *node, prior, config, planned cty.Value) {
	what := "block"
	if n.attr != nil {
		what = "map"
	}
	was, plan, want := lookup(prior), lookup(planned), lookup(config)
	for k, nv := range ctyvalue.Members(planned) {
		cv, ok := want(k)
		if !ok && n.attr != nil {
			c.key("map", k, "plan", "config")
			continue
		}
		c.here.key(k)
		switch {
		case n.attr != nil:
			c.inside(n.inner, orNull(was, k), cv, nv)
		case !nv.IsKnown():
			c.add(textElemUnknown)
		case !ok:
			c.key("block", k, "plan", "config")
		default:
			c.object(n.inner, orNull(was, k), cv, nv)
		}
		c.here.up()
	}
	for k := range ctyvalue.Members(config) {
		if _, ok := plan(k); !ok {
			c.key(what, k, "config", "plan")
		}
	}
}

// key reports a key that only the planned map has, or only the configured map.
func (c *planCheck) key(what, key, from, to string) {
	c.report(false, fmt.Sprintf("a %s key from %s is not present in %s", what, from, to), func() string {
		return fmt.Sprintf("%s key %q from %s is not present in %s", what, key, from, to)
	})
}

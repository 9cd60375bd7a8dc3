package schema

import "github.com/zclconf/go-cty/cty"

// NormalizeLegacy mends what the old SDK does not tell apart: null stands for no blocks where a
// list, a set or a group belongs. Terraform (1.11, as observed) does it to every object that a
// provider read, and to nothing else: what is planned, applied or upgraded is kept as it came,
// for providers that claim the leniency (legacy_type_system) without complaint. Blocks in maps,
// which that SDK does not have, are left alone.
func (b *Block) NormalizeLegacy(v cty.Value) cty.Value { return b.shape().normalize(v) }

func (s *shape) normalize(v cty.Value) cty.Value {
	if !known(v) || !s.deep.blocks {
		return v
	}
	return s.rebuild(v, (*node).normalize)
}

// normalize mends all blocks of a type.
func (n *node) normalize(v cty.Value) cty.Value {
	switch {
	case n.block == nil || !v.IsKnown() || n.nesting == Map || n.nesting == Single && v.IsNull():
		return v
	case v.IsNull():
		return n.none()
	}
	return n.replace(v, func(_ string, _ int, ev cty.Value) cty.Value { return n.inner.normalize(ev) })
}

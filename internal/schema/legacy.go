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
	was, out, changed := fieldsOf(v), newBuilder(s.codec, len(s.nodes)), false
	for _, n := range s.nodes {
		av, _ := was.get(n.name)
		if n.block != nil {
			mended, c := n.normalize(av)
			av, changed = mended, changed || c
		}
		out.set(n.name, av)
	}
	if !changed {
		return v
	}
	v, _ = out.value()
	return v
}

// normalize mends all blocks of a type and reports whether there was anything to mend.
func (n *node) normalize(v cty.Value) (cty.Value, bool) {
	switch {
	case !v.IsKnown() || n.nesting == Map:
		return v, false
	case v.IsNull() && n.nesting == Single:
		return v, false
	case v.IsNull():
		return n.none(), true
	case n.nesting == Single || n.nesting == Group:
		mended := n.inner.normalize(v)
		return mended, !same(v, mended)
	}
	changed := false
	vals := elements(v)
	for i, ev := range vals {
		vals[i] = n.inner.normalize(ev)
		changed = changed || !same(ev, vals[i])
	}
	if !changed {
		return v, false
	}
	return listLike(v, vals), true
}

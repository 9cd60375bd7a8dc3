package schema

import "github.com/zclconf/go-cty/cty"

func (d *deep) add(e deep) {
	d.computed = d.computed || e.computed
	d.sensitive = d.sensitive || e.sensitive
	d.writeOnly = d.writeOnly || e.writeOnly
	d.blocks = d.blocks || e.blocks
}

func (b *Block) shape() *shape {
	b.shapeOnce.Do(func() { b.compiled = newShape(compile(b.Type()), b.Attrs, b.Blocks) })
	return b.compiled
}

func (b *Block) codec() *codec { return b.shape().codec }

func newShape(c *codec, attrs []*Attr, blocks []*Nested) *shape {
	s := &shape{codec: c}
	nodes := map[string]*node{}
	for _, a := range attrs {
		nodes[normal(a.Name)] = attrNode(a)
	}
	for _, n := range blocks {
		nodes[normal(n.Name)] = blockNode(n)
	}
	empty := make([]cty.Value, len(c.attrs))
	for i := range c.attrs {
		n := nodes[c.attrs[i].name]
		c.attrs[i].unstored = n.attr != nil && n.attr.Unstored
		n.name, n.codec, n.step = c.attrs[i].name, c.attrs[i].codec, cty.GetAttrStep{Name: c.attrs[i].name}
		if n.attr != nil && n.attr.Object != nil {
			n.inner = newShape(n.element(), n.attr.Object.Attrs, nil)
			n.deep.add(n.inner.deep)
		}
		s.nodes = append(s.nodes, n)
		s.deep.add(n.deep)
		empty[i] = n.none()
		switch {
		case n.attr == nil:
			s.blockTypes++
		case !n.loose:
			s.exact = append(s.exact, n.name)
		}
	}
	s.empty = s.object(empty)
	return s
}

// node returns the node with the name, or nil.
func (s *shape) node(name string) *node {
	i := s.attr(name, 0)
	if i < 0 {
		return nil
	}
	return s.nodes[i]
}

func attrNode(a *Attr) *node {
	n := &node{attr: a, deep: deep{computed: a.Computed, sensitive: a.Sensitive, writeOnly: a.WriteOnly}}
	if a.Object != nil {
		n.nesting = a.Object.Nesting
	}
	return n
}

func blockNode(b *Nested) *node {
	n := &node{block: b, nesting: b.Nesting, inner: b.Block.shape(), deep: deep{blocks: true}}
	n.deep.add(n.inner.deep)
	return n
}

// element returns the codec of one object of a nested attribute.
func (n *node) element() *codec {
	switch {
	case n.nesting == Single || n.nesting == Group:
		return n.codec
	case n.codec.elem == nil: // the type is a collection of dynamic types; Valid rejects such schemas
		return compile(cty.EmptyObject)
	}
	return n.codec.elem
}

// none returns the value of the attribute or the block type in a configuration that does not contain it: null for an
// attribute and for the nesting Single, an object for Group, and an empty collection otherwise.
func (n *node) none() cty.Value {
	switch {
	case n.block == nil || n.nesting == Single:
		return n.null
	case n.nesting == Group:
		return n.inner.empty
	}
	return n.emptyCollection()
}

// emptyCollection returns the value of a list, set or map of blocks if there are no blocks.
func (n *node) emptyCollection() cty.Value {
	switch {
	case n.kind == kindDynamic && n.nesting == Map:
		return cty.EmptyObjectVal
	case n.kind == kindDynamic:
		return cty.EmptyTupleVal
	case n.nesting == Map:
		return cty.MapValEmpty(n.elem.ty)
	case n.nesting == Set:
		return cty.SetValEmpty(n.elem.ty)
	}
	return cty.ListValEmpty(n.elem.ty)
}

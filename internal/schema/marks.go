package schema

import (
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// SensitivePaths are the places of v that the schema calls sensitive, null or not, in the order of
// names. Where they lie in a set, the set is meant: its elements have no place.
func (b *Block) SensitivePaths(v cty.Value) []cty.Path {
	f := finder{
		in: func(d deep) bool { return d.sensitive },
		is: func(a *Attr, _ cty.Value) bool { return a.Sensitive },
	}
	f.object(b.shape(), v)
	return f.found
}

// WriteOnly are the places of write-only attributes of v that hold something; an unknown value is
// something.
func (b *Block) WriteOnly(v cty.Value) []cty.Path {
	f := finder{
		in: func(d deep) bool { return d.writeOnly },
		is: func(a *Attr, v cty.Value) bool { return a.WriteOnly && !v.IsNull() },
	}
	f.object(b.shape(), v)
	return f.found
}

// HasWriteOnly reports whether anything in the block is write-only.
func (b *Block) HasWriteOnly() bool { return b.shape().writeOnly }

// finder collects the paths of attributes of a kind.
type finder struct {
	in    func(deep) bool             // worth looking into
	is    func(*Attr, cty.Value) bool // what is looked for
	here  pathBuilder
	found []cty.Path
}

func (f *finder) object(s *shape, v cty.Value) {
	if !f.in(s.deep) {
		return
	}
	v, _ = mark.Bare(v)
	if !known(v) {
		return
	}
	for _, n := range s.nodes {
		if f.in(n.deep) {
			f.here.attr(n)
			f.node(n, n.in(v))
			f.here.up()
		}
	}
}

func (f *finder) node(n *node, v cty.Value) {
	v, _ = mark.Bare(v)
	if n.attr != nil && f.is(n.attr, v) {
		f.found = append(f.found, f.here.path())
	}
	if n.inner == nil || !known(v) {
		return
	}
	switch n.nesting {
	case Single, Group:
		f.object(n.inner, v)
	case Map:
		for k, ev := range ctyvalue.Members(v) {
			f.here.key(k)
			f.object(n.inner, ev)
			f.here.up()
		}
	case List:
		for i, ev := range ctyvalue.Items(v) {
			f.here.index(i)
			f.object(n.inner, ev)
			f.here.up()
		}
	case Set:
		some := finder{in: f.in, is: f.is}
		for _, ev := range ctyvalue.Items(v) {
			if some.object(n.inner, ev); len(some.found) > 0 {
				f.found = append(f.found, f.here.path())
				return
			}
		}
	}
}

// NullWriteOnly is v with nothing in write-only places.
func (b *Block) NullWriteOnly(v cty.Value) cty.Value { return b.shape().nullWriteOnly(v) }

func (s *shape) nullWriteOnly(v cty.Value) cty.Value {
	if !s.writeOnly {
		return v
	}
	v, remark := mark.Bare(v)
	if !known(v) {
		return remark(v)
	}
	return remark(s.rebuild(v, (*node).nullWriteOnly))
}

func (n *node) nullWriteOnly(v cty.Value) cty.Value {
	switch {
	case !n.writeOnly:
		return v
	case n.attr != nil && n.attr.WriteOnly:
		return n.codec.null
	}
	v, remark := mark.Bare(v)
	if !known(v) {
		return remark(v)
	}
	return remark(n.replace(v, func(_ string, _ int, ev cty.Value) cty.Value { return n.inner.nullWriteOnly(ev) }))
}

// IsWriteOnly reports whether a path leads to or into a write-only attribute.
func (b *Block) IsWriteOnly(path cty.Path) bool {
	found := false
	b.along(path, func(a *Attr) { found = found || a.WriteOnly })
	return found
}

// Attribute is the attribute that a path leads to or into: of `tags["a"]`, tags; of
// `rule[0].port`, port of the block or nested attribute rule. It is nil where there is none.
func (b *Block) Attribute(path cty.Path) *Attr {
	var last *Attr
	b.along(path, func(a *Attr) { last = a })
	return last
}

// along visits the attributes that a path passes, the outermost first.
func (b *Block) along(path cty.Path, visit func(*Attr)) {
	s := b.shape()
	for _, step := range path {
		get, ok := step.(cty.GetAttrStep)
		if !ok {
			continue
		}
		n := s.node(get.Name)
		if n == nil {
			return
		}
		if n.attr != nil {
			visit(n.attr)
		}
		if s = n.inner; s == nil {
			return
		}
	}
}

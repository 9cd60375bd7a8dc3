package schema

import (
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// SensitivePaths returns the paths of the attributes in v that are sensitive in the schema, sorted by name, including
// attributes that are null. For an attribute inside a set, it returns the path of the set, because elements of sets
// have no path.
func (b *Block) SensitivePaths(v cty.Value) []cty.Path {
	f := finder{
		in: func(d deep) bool { return d.sensitive },
		is: func(a *Attr, _ cty.Value) bool { return a.Sensitive },
	}
	f.object(b.shape(), v)
	return f.found
}

// WriteOnly returns the paths of the write-only attributes in v that are not null; an unknown value counts as not null.
// For an attribute inside a set, it returns the path of the set.
func (b *Block) WriteOnly(v cty.Value) []cty.Path {
	f := finder{
		in: func(d deep) bool { return d.writeOnly },
		is: func(a *Attr, v cty.Value) bool { return a.WriteOnly && !v.IsNull() },
	}
	f.object(b.shape(), v)
	return f.found
}

// HasSensitive reports whether the block has an attribute that is sensitive in the schema, at any depth.
func (b *Block) HasSensitive() bool { return b.shape().sensitive }

// HasWriteOnly reports whether the block has a write-only attribute, at any depth.
func (b *Block) HasWriteOnly() bool { return b.shape().writeOnly }

// finder collects the paths of the wanted attributes: the attributes for which is(attribute, value) is true.
type finder struct {
	in    func(deep) bool             // reports whether a node or anything inside it can be wanted
	is    func(*Attr, cty.Value) bool // reports whether an attribute with this value is wanted
	here  pathBuilder
	found []cty.Path
}

func (f *finder) object(s *shape, v cty.Value) {
	if !f.in(s.deep) {
		return
	}
	v, _ = mark.Unmark(v)
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
	v, _ = mark.Unmark(v)
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

// EachSensitive calls visit for each attribute in v that is sensitive in the schema and has a known value that is not
// null, in the order of the names. Unlike SensitivePaths, it also visits attributes inside sets: the path step to an
// element of a set has the element as its key. visit must not keep the path after it returns.
func (b *Block) EachSensitive(v cty.Value, visit func(path cty.Path, value cty.Value)) {
	e := sensitiveEach{visit: visit}
	e.object(b.shape(), v)
}

// sensitiveEach has the state of one call of EachSensitive.
type sensitiveEach struct {
	here  pathBuilder
	visit func(cty.Path, cty.Value)
}

func (e *sensitiveEach) object(s *shape, v cty.Value) {
	if !s.sensitive || !known(v) {
		return
	}
	for _, n := range s.nodes {
		if n.sensitive {
			e.here.attr(n)
			e.node(n, n.in(v))
			e.here.up()
		}
	}
}

func (e *sensitiveEach) node(n *node, v cty.Value) {
	if !known(v) {
		return
	}
	if n.attr != nil && n.attr.Sensitive {
		e.visit(cty.Path(e.here), v)
		return
	}
	if n.inner == nil {
		return
	}
	switch n.nesting {
	case Single, Group:
		e.object(n.inner, v)
	case Map:
		for k, ev := range ctyvalue.Members(v) {
			e.here.key(k)
			e.object(n.inner, ev)
			e.here.up()
		}
	case List:
		for i, ev := range ctyvalue.Items(v) {
			e.here.index(i)
			e.object(n.inner, ev)
			e.here.up()
		}
	case Set:
		for _, ev := range ctyvalue.Items(v) {
			e.here.elem(ev)
			e.object(n.inner, ev)
			e.here.up()
		}
	}
}

// NullWriteOnly returns v with null, without marks, in all write-only attributes. All other marks in v are kept.
func (b *Block) NullWriteOnly(v cty.Value) cty.Value { return b.shape().nullWriteOnly(v) }

func (s *shape) nullWriteOnly(v cty.Value) cty.Value {
	if !s.writeOnly {
		return v
	}
	v, remark := mark.Unmark(v)
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
	v, remark := mark.Unmark(v)
	if !known(v) {
		return remark(v)
	}
	return remark(n.replace(v, func(_ string, _ int, ev cty.Value) cty.Value { return n.inner.nullWriteOnly(ev) }))
}

// IsWriteOnly reports whether a path leads to a write-only attribute or into one.
func (b *Block) IsWriteOnly(path cty.Path) bool {
	found := false
	b.along(path, func(a *Attr) { found = found || a.WriteOnly })
	return found
}

// IsSensitive reports whether a path leads to an attribute that is sensitive in the schema, or into one. It also
// returns true for the path of a set that contains a sensitive attribute, because the whole set is then marked.
func (b *Block) IsSensitive(path cty.Path) bool {
	found := false
	s, last := b.shape(), (*node)(nil)
	for _, step := range path {
		get, ok := step.(cty.GetAttrStep)
		if !ok {
			continue
		}
		if last = s.node(get.Name); last == nil {
			return found
		}
		found = found || last.attr != nil && last.attr.Sensitive
		if s = last.inner; s == nil {
			return found
		}
	}
	return found || last != nil && last.nesting == Set && last.sensitive
}

// WriteOnlyBeside returns the names of the write-only attributes beside the attribute at the end of a path: in the same
// block or nested attribute. If the schema does not have a step of the path, it uses the last block or nested attribute
// before that step.
func (b *Block) WriteOnlyBeside(path cty.Path) []string {
	s := b.shape()
	for n, step := range path {
		get, ok := step.(cty.GetAttrStep)
		if !ok {
			continue
		}
		next := s.node(get.Name)
		if next == nil || next.inner == nil || n == len(path)-1 {
			break
		}
		s = next.inner
	}
	var out []string
	for _, n := range s.nodes {
		if n.attr != nil && n.attr.WriteOnly {
			out = append(out, n.name)
		}
	}
	return out
}

// Attribute returns the innermost attribute on the path: tags for `tags["a"]`, and port of the block or nested
// attribute rule for `rule[0].port`. It returns nil if the path passes no attribute.
func (b *Block) Attribute(path cty.Path) *Attr {
	var last *Attr
	b.along(path, func(a *Attr) { last = a })
	return last
}

// along calls visit for each attribute on the path, the outermost first. It skips indexes, and stops at a name that the
// schema does not have.
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

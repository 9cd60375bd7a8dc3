package schema

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Null is no object.
func (b *Block) Null() cty.Value { return b.shape().null }

// Unknown is an object that nothing is known about.
func (b *Block) Unknown() cty.Value { return b.shape().unknown }

// Empty is the value of an empty configuration: attributes are null, there are no blocks, but
// where a block is always there (Group) it is empty in turn.
func (b *Block) Empty() cty.Value { return b.shape().empty }

// Unsure is a block that may or may not be there: nothing is known of the attributes that v sets.
func (b *Block) Unsure(v cty.Value) cty.Value { return b.shape().unsure(v) }

func (s *shape) unsure(v cty.Value) cty.Value {
	return s.rebuild(v, func(n *node, v cty.Value) cty.Value {
		bare, remark := mark.Bare(v)
		switch {
		case bare.IsNull() || n.attr == nil && !bare.IsKnown():
			return v
		case n.attr != nil:
			return remark(n.unknown)
		}
		return remark(n.replace(bare, func(_ string, _ int, ev cty.Value) cty.Value { return n.inner.unsure(ev) }))
	})
}

// mayBeUnsure reports whether a block that was planned may turn out not to be there.
func (s *shape) mayBeUnsure(v cty.Value) bool {
	if !known(v) {
		return !v.IsNull()
	}
	for _, n := range s.nodes {
		switch ev := n.in(v); {
		case ev.IsNull() || !ev.IsKnown():
		case n.attr != nil, n.nesting != Single && n.nesting != Group && ev.LengthInt() > 0:
			return false
		case (n.nesting == Single || n.nesting == Group) && !n.inner.mayBeUnsure(ev):
			return false
		}
	}
	return true
}

// Placeholder is a configuration with everything unknown that the provider may fill in and that is
// not configured: what a data source or an ephemeral resource may look like once it is read.
func (b *Block) Placeholder(config cty.Value) cty.Value { return b.shape().placeholder(config) }

func (s *shape) placeholder(v cty.Value) cty.Value {
	if !s.computed || !known(v) {
		return v
	}
	return s.rebuild(v, (*node).placeholder)
}

func (n *node) placeholder(v cty.Value) cty.Value {
	switch {
	case n.attr != nil && n.attr.Computed && v.IsNull():
		return n.unknown
	case n.inner == nil || !n.computed || !known(v):
		return v
	}
	return n.replace(v, func(_ string, _ int, ev cty.Value) cty.Value { return n.inner.placeholder(ev) })
}

// ConfigEqual reports whether an object was made with this configuration: nothing that is
// configured differs from it, and what it holds beyond that, the provider may have filled in.
func (b *Block) ConfigEqual(stored, config cty.Value) bool {
	return config.IsWhollyKnown() && equal(b.Propose(stored, config), stored)
}

// Coerce makes an object exactly of the block's type: absent attributes become null, absent blocks
// none, and values are converted. Marks stay where they are. An error is a cty.PathError.
func (b *Block) Coerce(v cty.Value) (cty.Value, error) {
	v, f := b.shape().coerce(v)
	if f != nil {
		return cty.DynamicVal, f.err()
	}
	return v, nil
}

func (s *shape) coerce(v cty.Value) (cty.Value, *failure) {
	v, remark := mark.Bare(v)
	ty := v.Type()
	switch {
	case !v.IsKnown():
		return remark(s.unknown), nil
	case v.IsNull():
		return remark(s.null), nil
	case !ty.IsObjectType() && !ty.IsMapType():
		return cty.NilVal, fail("an object is required")
	}
	has, taken := lookup(v), 0
	vals := make([]cty.Value, len(s.nodes))
	for i, n := range s.nodes {
		av, ok := has(n.name)
		if !ok {
			vals[i] = n.none()
			continue
		}
		taken++
		var f *failure
		if vals[i], f = n.coerce(av); f != nil {
			return cty.NilVal, f.in(cty.GetAttrStep{Name: n.name})
		}
	}
	if taken < v.LengthInt() {
		return cty.NilVal, s.surplus(v)
	}
	return remark(s.object(vals)), nil
}

// surplus names an attribute that the schema does not have.
func (s *shape) surplus(v cty.Value) *failure {
	for name := range ctyvalue.Members(v) {
		if s.node(name) == nil {
			return unsupported(name)
		}
	}
	return fail("it has attributes that the schema does not describe")
}

func (n *node) coerce(v cty.Value) (cty.Value, *failure) {
	if n.inner == nil {
		v, err := convert.Convert(v, n.ty)
		if err != nil {
			return cty.NilVal, converting(err)
		}
		return v, nil
	}
	if n.nesting == Single || n.nesting == Group {
		if bare, _ := mark.Bare(v); n.nesting == Group && bare.IsNull() {
			return mark.Same(n.inner.empty, v), nil
		}
		return n.inner.coerce(v)
	}
	v, remark := mark.Bare(v)
	switch {
	case !v.IsKnown():
		return remark(n.unknown), nil
	case v.IsNull() && n.attr != nil:
		return remark(n.codec.null), nil
	case v.IsNull():
		return remark(n.emptyCollection()), nil
	}
	made, f := n.coerceEach(v)
	return remark(made), f
}

// coerceEach makes a collection of elements that are each coerced.
func (n *node) coerceEach(v cty.Value) (cty.Value, *failure) {
	ty := v.Type()
	if n.nesting == Map {
		if !ty.IsMapType() && !ty.IsObjectType() {
			return cty.NilVal, fail("a map is required")
		}
		vals := make(map[string]cty.Value, v.LengthInt())
		for k, ev := range ctyvalue.Members(v) {
			made, f := n.inner.coerce(ev)
			if f != nil {
				return cty.NilVal, f.in(cty.IndexStep{Key: cty.StringVal(k)})
			}
			vals[k] = made
		}
		return mapLike(n.emptyCollection(), vals), nil
	}
	if !ty.IsListType() && !ty.IsSetType() && !ty.IsTupleType() {
		return cty.NilVal, fail(fmt.Sprintf("a %s is required", n.nesting))
	}
	vals := make([]cty.Value, 0, v.LengthInt())
	for i, ev := range ctyvalue.Items(v) {
		made, f := n.inner.coerce(ev)
		if f != nil {
			return cty.NilVal, f.at(i)
		}
		vals = append(vals, made)
	}
	return listLike(n.emptyCollection(), vals), nil
}

// converting is an error of a conversion, with its path.
func converting(err error) *failure {
	f := fail(err.Error())
	if perr, ok := err.(cty.PathError); ok {
		for i := len(perr.Path) - 1; i >= 0; i-- {
			f.steps = append(f.steps, perr.Path[i])
		}
	}
	return f
}

package schema

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Null returns the null object of the block's type.
func (b *Block) Null() cty.Value { return b.shape().null }

// Unknown returns the unknown object of the block's type.
func (b *Block) Unknown() cty.Value { return b.shape().unknown }

// Empty returns the value of an empty configuration block: all attributes are null, and there are no nested blocks. The
// exception is a nested block with nesting Group, which always exists: its value is its own empty configuration.
func (b *Block) Empty() cty.Value { return b.shape().empty }

// Unsure returns the planned value of a block of which it is not known whether it will exist: each attribute that is
// not null in v is unknown. Marks are kept.
func (b *Block) Unsure(v cty.Value) cty.Value { return b.shape().unsure(v) }

func (s *shape) unsure(v cty.Value) cty.Value {
	return s.rebuild(v, func(n *node, v cty.Value) cty.Value {
		unmarked, remark := mark.Unmark(v)
		switch {
		case unmarked.IsNull() || n.attr == nil && !unmarked.IsKnown():
			return v
		case n.attr != nil:
			return remark(n.unknown)
		}
		return remark(n.replace(unmarked, func(_ string, _ int, ev cty.Value) cty.Value { return n.inner.unsure(ev) }))
	})
}

// mayBeUnsure reports whether v can be an object that Unsure has returned. In such an object it is not known whether
// the block exists after the apply.
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

// Placeholder returns the configuration with an unknown value in place of each computed attribute that is null. That is
// the value of a data source before it is read, or of an ephemeral resource before it is opened.
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

// ConfigEqual reports whether the stored object can be the result of this configuration: all configured values are
// equal, and all other values are computed. It returns false if any part of config is unknown.
func (b *Block) ConfigEqual(stored, config cty.Value) bool {
	return config.IsWhollyKnown() && equal(b.Propose(stored, config), stored)
}

// Coerce converts v to the block's type. Missing attributes become null, and missing lists, sets and maps of blocks
// become empty. Marks keep their places. Coerce returns a cty.PathError if v is not an object or a map, has an
// attribute that the schema does not have, or has a value that cannot be converted.
func (b *Block) Coerce(v cty.Value) (cty.Value, error) {
	v, f := b.shape().coerce(v)
	if f != nil {
		return cty.DynamicVal, f.err()
	}
	return v, nil
}

func (s *shape) coerce(v cty.Value) (cty.Value, *failure) {
	v, remark := mark.Unmark(v)
	ty := v.Type()
	switch {
	case !v.IsKnown():
		return remark(s.unknown), nil
	case v.IsNull():
		return remark(s.null), nil
	case !ty.IsObjectType() && !ty.IsMapType():
		return cty.NilVal, fail("an object is required")
	}
	has, used := lookup(v), 0
	vals := make([]cty.Value, len(s.nodes))
	for i, n := range s.nodes {
		av, ok := has(n.name)
		if !ok {
			vals[i] = n.none()
			continue
		}
		used++
		var f *failure
		if vals[i], f = n.coerce(av); f != nil {
			return cty.NilVal, f.in(cty.GetAttrStep{Name: n.name})
		}
	}
	if used < v.LengthInt() {
		return cty.NilVal, s.surplus(v)
	}
	return remark(s.object(vals)), nil
}

// surplus returns the failure for an attribute of the object v that the schema does not have.
func (s *shape) surplus(v cty.Value) *failure {
	for name := range ctyvalue.Members(v) {
		if s.node(name) == nil {
			return unsupported(name)
		}
	}
	return fail("it has attributes that are not in the schema")
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
		if unmarked, _ := mark.Unmark(v); n.nesting == Group && unmarked.IsNull() {
			return mark.Same(n.inner.empty, v), nil
		}
		return n.inner.coerce(v)
	}
	v, remark := mark.Unmark(v)
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

// coerceEach converts each element of a list, set or map. If v is not a collection, or an element cannot be converted,
// it returns a failure.
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

// converting converts an error of a conversion to a failure with the same path.
func converting(err error) *failure {
	f := fail(err.Error())
	if perr, ok := err.(cty.PathError); ok {
		for i := len(perr.Path) - 1; i >= 0; i-- {
			f.steps = append(f.steps, perr.Path[i])
		}
	}
	return f
}

package schema

import "github.com/zclconf/go-cty/cty"

// NullComputed returns an object with null in all attributes that are computed and not optional, because a
// configuration has null there.
func (b *Block) NullComputed(v cty.Value) cty.Value { return b.shape().nullComputed(v) }

func (s *shape) nullComputed(v cty.Value) cty.Value {
	if !s.computed || !known(v) {
		return v
	}
	return s.rebuild(v, (*node).nullComputed)
}

func (n *node) nullComputed(v cty.Value) cty.Value {
	switch {
	case n.attr != nil && n.attr.Computed && !n.attr.Optional:
		return n.codec.null
	case n.inner == nil || !n.computed || !known(v):
		return v
	}
	return n.replace(v, func(_ string, _ int, ev cty.Value) cty.Value { return n.inner.nullComputed(ev) })
}

// HasPath reports whether the block's type has a value at path. After a step to a value of dynamic type, HasPath
// accepts any steps.
func (b *Block) HasPath(path cty.Path) bool {
	ty := b.Type()
	for _, step := range path {
		switch step := step.(type) {
		case cty.GetAttrStep:
			switch {
			case ty == cty.DynamicPseudoType:
			case ty.IsObjectType() && ty.HasAttribute(step.Name):
				ty = ty.AttributeType(step.Name)
			case ty.IsMapType():
				ty = ty.ElementType()
			default:
				return false
			}
		case cty.IndexStep:
			switch {
			case ty == cty.DynamicPseudoType:
			case ty.IsCollectionType():
				ty = ty.ElementType()
			default:
				return false
			}
		}
	}
	return true
}

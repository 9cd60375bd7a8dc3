package schema

import (
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// Type returns the type of the values that the block describes. If an attribute has a dynamic type, the type contains
// cty.DynamicPseudoType, and is suitable for decoding values but not for comparing types.
func (b *Block) Type() cty.Type {
	b.typeOnce.Do(func() { b.typ = b.makeType() })
	return b.typ
}

func (b *Block) makeType() cty.Type {
	atys := make(map[string]cty.Type, len(b.Attrs)+len(b.Blocks))
	for _, a := range b.Attrs {
		atys[a.Name] = a.Type
	}
	for _, n := range b.Blocks {
		atys[n.Name] = n.Type()
	}
	return cty.Object(atys)
}

// Type returns the type of the value that has all blocks of this block type.
func (n *Nested) Type() cty.Type {
	ty := n.Block.Type()
	if (n.Nesting == List || n.Nesting == Map) && ty.HasDynamicTypes() {
		return cty.DynamicPseudoType
	}
	return n.Nesting.Of(ty)
}

// Attr returns the attribute with the name, or nil.
func (b *Block) Attr(name string) *Attr { return findAttr(b.Attrs, name) }

// Attr returns the attribute with the name, or nil.
func (o *Object) Attr(name string) *Attr { return findAttr(o.Attrs, name) }

func findAttr(attrs []*Attr, name string) *Attr {
	i, ok := slices.BinarySearchFunc(attrs, name, func(a *Attr, name string) int { return strings.Compare(a.Name, name) })
	if !ok {
		return nil
	}
	return attrs[i]
}

// Nested returns the block type with the name, or nil.
func (b *Block) Nested(name string) *Nested {
	for _, n := range b.Blocks {
		if n.Name == name {
			return n
		}
	}
	return nil
}

package schema

import (
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// Type is the type of the values that the block describes. Attributes of nested dynamic type make
// the type partly unknown: use it to decode, never to compare.
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

// Type is the type of the value that all blocks of this type together make.
func (n *Nested) Type() cty.Type {
	ty := n.Block.Type()
	if (n.Nesting == List || n.Nesting == Map) && ty.HasDynamicTypes() {
		return cty.DynamicPseudoType
	}
	return n.Nesting.Of(ty)
}

// Attr finds an attribute by name, nil if there is none.
func (b *Block) Attr(name string) *Attr { return findAttr(b.Attrs, name) }

// Attr finds an attribute by name, nil if there is none.
func (o *Object) Attr(name string) *Attr { return findAttr(o.Attrs, name) }

func findAttr(attrs []*Attr, name string) *Attr {
	i, ok := slices.BinarySearchFunc(attrs, name, func(a *Attr, name string) int { return strings.Compare(a.Name, name) })
	if !ok {
		return nil
	}
	return attrs[i]
}

// Nested finds a block type by name, nil if there is none.
func (b *Block) Nested(name string) *Nested {
	for _, n := range b.Blocks {
		if n.Name == name {
			return n
		}
	}
	return nil
}

package schema

import "github.com/zclconf/go-cty/cty"

// BlocksAsAttrs returns a block type for each attribute that a configuration may also write as blocks. Such an
// attribute can be configured, has no nested attributes, and its type is a list or a set of objects. SDKs for old
// providers declare such attributes to distinguish an empty list (`rule = []`) from an unset one. Configurations write
// `rule { … }`, which means `rule = [{ … }]`. The attributes of the returned block types may be written as blocks, too.
func (b *Block) BlocksAsAttrs() []*Nested {
	b.ambiguousOnce.Do(func() {
		for _, a := range b.Attrs {
			if n := a.asBlocks(); n != nil {
				b.ambiguous = append(b.ambiguous, n)
			}
		}
	})
	return b.ambiguous
}

// asBlocks returns the block type for an attribute, or nil if the attribute cannot be written as blocks.
func (a *Attr) asBlocks() *Nested {
	ty := a.Type
	if a.Object != nil || !a.Required && !a.Optional {
		return nil
	}
	if !ty.IsListType() && !ty.IsSetType() || !ty.ElementType().IsObjectType() {
		return nil
	}
	n := &Nested{Name: a.Name, Nesting: List, Block: blockOf(ty.ElementType())}
	if ty.IsSetType() {
		n.Nesting = Set
	}
	return n
}

// blockOf returns a block with the attributes of the object type ty, all optional.
func blockOf(ty cty.Type) *Block {
	b := &Block{}
	atys := ty.AttributeTypes()
	for _, name := range sortedKeys(atys) {
		b.Attrs = append(b.Attrs, &Attr{Name: name, Type: atys[name], Optional: true})
	}
	return b
}

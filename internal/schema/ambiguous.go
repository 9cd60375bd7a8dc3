package schema

import "github.com/zclconf/go-cty/cty"

// BlocksAsAttrs lists the attributes that may be written as blocks, each with the block type that
// describes them so. Old SDKs make attributes of what their authors think of as blocks, to tell an
// empty list (`rule = []`) from none; configurations write `rule { … }` all the same, and must
// be taken to mean `rule = [{ … }]`. It concerns plain attributes whose type is a list or a set of
// objects and that can be configured. Within such blocks it holds again.
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

// asBlocks is the attribute as a block type, nil if it is none.
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

// blockOf describes an object of which everything may be left out.
func blockOf(ty cty.Type) *Block {
	b := &Block{}
	atys := ty.AttributeTypes()
	for _, name := range sortedKeys(atys) {
		b.Attrs = append(b.Attrs, &Attr{Name: name, Type: atys[name], Optional: true})
	}
	return b
}

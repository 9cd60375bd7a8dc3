package schema

import (
	"github.com/tinylib/msgp/msgp"
	"github.com/zclconf/go-cty/cty"
)

// The value of a list, set or map of blocks is never null: it is empty if no block exists. The rest of Lethe relies on
// this rule. But providers may return null when they read, import or upgrade an object, because SDKs do so.

// HasNullBlocks reports whether an object in MessagePack has null in place of a list, set, map or group of blocks, at
// any depth. It returns false for a null object, and if the bytes are malformed.
func (b *Block) HasNullBlocks(wire []byte) bool {
	s := b.shape()
	if !s.blocks || msgp.IsNil(wire) {
		return false
	}
	null, _, err := s.nullBlocks(wire)
	return null && err == nil
}

// nullBlocks reports whether HasNullBlocks is true for the object at the beginning of b. rest is the bytes after the
// object.
func (s *shape) nullBlocks(b []byte) (null bool, rest []byte, err error) {
	size, b, err := msgp.ReadMapHeaderBytes(b)
	for i := 0; err == nil && i < int(size); i++ {
		var name []byte
		if name, b, err = ReadText(b); err != nil {
			return false, b, err
		}
		at := s.attr(string(name), i)
		if at < 0 || s.nodes[at].block == nil {
			b, err = msgp.Skip(b)
			continue
		}
		var found bool
		found, b, err = s.nodes[at].nullBlocks(b)
		null = null || found
	}
	return null, b, err
}

// nullBlocks reports whether the value at the beginning of b, which has all blocks of one type, is null although the
// nesting is not Single, or has an element with null blocks. It skips elements that are null or unknown. rest is the
// bytes after the value.
func (n *node) nullBlocks(b []byte) (null bool, rest []byte, err error) {
	if msgp.IsNil(b) {
		return n.nesting != Single, b[1:], nil
	}
	if msgp.NextType(b) == msgp.ExtensionType || !n.inner.blocks || n.kind == kindDynamic {
		b, err = msgp.Skip(b)
		return false, b, err
	}
	var size uint32
	switch n.nesting {
	case List, Set:
		size, b, err = msgp.ReadArrayHeaderBytes(b)
	case Map:
		size, b, err = msgp.ReadMapHeaderBytes(b)
	default:
		size = 1
	}
	for ; err == nil && size > 0; size-- {
		if n.nesting == Map {
			if b, err = msgp.Skip(b); err != nil {
				break
			}
		}
		if t := msgp.NextType(b); t == msgp.NilType || t == msgp.ExtensionType {
			b, err = msgp.Skip(b)
			continue
		}
		var found bool
		found, b, err = n.inner.nullBlocks(b)
		null = null || found
	}
	return null, b, err
}

// FillBlocks returns the object with each null list, set or map of blocks replaced by an empty one, and each null group
// by a block without content, at any depth.
func (b *Block) FillBlocks(v cty.Value) cty.Value { return b.shape().fillBlocks(v) }

func (s *shape) fillBlocks(v cty.Value) cty.Value {
	if !s.blocks || !known(v) {
		return v
	}
	return s.rebuild(v, (*node).fillBlocks)
}

func (n *node) fillBlocks(v cty.Value) cty.Value {
	switch {
	case n.block == nil:
		return v
	case v.IsNull() && n.nesting != Single:
		return n.none()
	case !known(v) || !n.inner.blocks:
		return v
	}
	return n.replace(v, func(_ string, _ int, ev cty.Value) cty.Value { return n.inner.fillBlocks(ev) })
}

package diff

import (
	"encoding/binary"
	"slices"
)

// AppendKey appends bytes that describe the differences in a comparison to key, and returns the result. Two comparisons
// have the same bytes if the same parts differ in the same way. Parts that are equal in both values add no bytes,
// except inside added and removed values. The content of sensitive values adds no bytes either. n may be nil.
func (n *Node) AppendKey(key []byte) []byte {
	if n == nil {
		return append(key, 0xff)
	}
	text := func(s string) { key = append(binary.AppendUvarint(key, uint64(len(s))), s...) }
	flags := byte(0)
	for i, set := range []bool{n.Forces, n.SameValue, n.OnlySpaces} {
		if set {
			flags |= 1 << i
		}
	}
	key = append(key, byte(n.Kind), byte(n.Op), flags, byte(n.Sensitivity))
	text(n.Label)
	switch n.Kind {
	case ScalarNode, TextNode:
		key = n.After.appendKey(n.Before.appendKey(key))
	case RetypedNode, UnknownNode, JSONNode:
		key = n.New.AppendKey(n.Old.AppendKey(key))
	}
	for i, k := range n.Children {
		if k.Op == Same && n.Op != Same && n.Op != Add && n.Op != Remove {
			continue
		}
		if i < len(n.Names) {
			text(n.Names[i])
		}
		key = k.AppendKey(key)
	}
	for _, g := range n.Groups {
		if op := g.op(); op != Same {
			key = append(key, byte(op), byte(g.Unknown))
			text(g.Name)
			for _, b := range g.Blocks {
				if b.Op != Same {
					key = b.AppendKey(key)
				}
			}
		}
	}
	return append(key, 0xfe)
}

// HasOpaque reports whether a comparison has a sensitive part, at any depth, whose value is not shown. AppendKey does
// not distinguish the values of such parts. If Differ.Opaque was set, the comparison did not read these values.
// HasOpaque returns false for nil.
func (n *Node) HasOpaque() bool {
	return n != nil && (n.Kind == SensitiveNode || n.Old.HasOpaque() || n.New.HasOpaque() || slices.ContainsFunc(n.Children, (*Node).HasOpaque) ||
		slices.ContainsFunc(n.Groups, func(g Group) bool { return slices.ContainsFunc(g.Blocks, (*Node).HasOpaque) }))
}

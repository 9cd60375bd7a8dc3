package explain

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/schema"
)

// along returns the attributes on a path below a block, the outermost first: the attribute at the end, after the nested
// attributes that contain it. The names of blocks, indexes and keys are left out. If the block has no attribute or
// block with a name on the path, missing is that name, and near are the names in its place. Otherwise missing is "".
func along(b *schema.Block, path []string) (on []*schema.Attr, missing string, near []string) {
	attrs, blocks := b.Attrs, b.Blocks
	for len(path) > 0 {
		name, nesting := path[0], schema.Nesting(0)
		path = path[1:]
		block := slices.IndexFunc(blocks, func(n *schema.Nested) bool { return n.Name == name })
		attr := slices.IndexFunc(attrs, func(a *schema.Attr) bool { return a.Name == name })
		switch {
		case block >= 0:
			nesting = blocks[block].Nesting
			attrs, blocks = blocks[block].Block.Attrs, blocks[block].Block.Blocks
		case attr < 0:
			return on, name, namesOf(attrs, blocks)
		default:
			of := attrs[attr]
			if on = append(on, of); of.Object == nil {
				return on, "", nil // no schema describes the parts of an attribute's type
			}
			nesting = of.Object.Nesting
			attrs, blocks = of.Object.Attrs, nil
		}
		switch {
		case len(path) == 0:
		case nesting == schema.Map, (nesting == schema.List || nesting == schema.Set) && program.IsIndex(path[0]):
			path = path[1:]
		}
	}
	return on, "", nil
}

// namesOf returns the names of attributes and blocks.
func namesOf(attrs []*schema.Attr, blocks []*schema.Nested) []string {
	var out []string
	for _, a := range attrs {
		out = append(out, a.Name)
	}
	for _, b := range blocks {
		out = append(out, b.Name)
	}
	return out
}

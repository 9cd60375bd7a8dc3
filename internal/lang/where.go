package lang

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

// Where is the place in the configuration where an attribute of a body is set: of the path's
// steps the last that is written out, the block itself if none is.
func (f *Frame) Where(d Decl, k addr.Key, path cty.Path) diag.Range {
	if f.w.p.at[d] == nil {
		return diag.Range{}
	}
	return f.where(f.local(d), path)
}

func (f *Frame) where(d *decl, path cty.Path) diag.Range {
	if d.body == nil {
		return d.at
	}
	return whereIn(d.body, d.at, path)
}

// whereIn is the place in a body, which is that of a block at some place.
func whereIn(raw *rawBody, at diag.Range, path cty.Path) diag.Range {
	for i := 0; i < len(path); i++ {
		name, ok := path[i].(cty.GetAttrStep)
		if !ok {
			continue
		}
		if a := raw.attr(name.Name); a != nil {
			return insideExpr(a.source, a.source.Range(), path[i+1:])
		}
		block := blockAt(raw, name.Name, path[i+1:])
		if block == nil {
			return at
		}
		at, raw = block.typeAt, block.body
	}
	return at
}

// blockAt finds the block that a path goes into: the n-th of its type where all are written out.
func blockAt(raw *rawBody, name string, rest cty.Path) *rawBlock {
	var all []*rawBlock
	static := true
	for i := range raw.blocks {
		if raw.blocks[i].typ == name {
			all = append(all, &raw.blocks[i])
			static = static && raw.blocks[i].dynamic == nil
		}
	}
	if len(all) == 0 {
		return nil
	}
	if len(rest) > 0 {
		if ix, ok := rest[0].(cty.IndexStep); ok {
			k, _ := addr.KeyOf(ix.Key)
			if n, isInt := k.Int(); isInt && static && n < len(all) {
				return all[n]
			}
			if label, isStr := k.Str(); isStr {
				for _, b := range all {
					if len(b.labels) > 0 && b.labels[0] == label {
						return b
					}
				}
			}
		}
	}
	return all[0]
}
